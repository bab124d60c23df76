// Waiting for a state, with a deadline.

import { setTimeout as pause } from 'node:timers/promises';
import { StackError } from './stack-error.ts';

export interface PollOptions {
  everyMs: number;
  timeoutMs: number;
  /** What to say when the deadline passes. */
  otherwise: () => string;
}

/** Asks again and again until the answer is something other than null, false or undefined. */
export async function pollUntil<T>(
  ask: () => T | Promise<T>,
  options: PollOptions,
): Promise<Exclude<T, null | false | undefined>> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== false && answer !== undefined) {
      return answer as Exclude<T, null | false | undefined>;
    }
    if (performance.now() >= deadline) throw new StackError(options.otherwise());
    await pause(options.everyMs);
  }
}
