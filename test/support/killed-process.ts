/** Real processes that end themselves with SIGKILL at a named point (kill-point.ts). */
import { expect } from 'chai';
import { type TestSystem, until } from './rooftally.ts';
import { type ServeOptions, spawnServe } from './worker-process.ts';

/** Node options of a process that can be killed, or frozen, at a point. */
export const KILLABLE = ['--import', new URL('./kill-point.ts', import.meta.url).href];

const DEATH_DEADLINE_MS = 60_000;

/** Starts a process that ends itself with SIGKILL at that point, and waits until it has. */
export async function untilKilledAt(
  system: TestSystem,
  point: string,
  options: Pick<ServeOptions, 'role' | 'environment'> = {},
): Promise<void> {
  const { child, exited } = spawnServe(system, `killed at ${point}`, {
    ...options,
    environment: { TEST_KILL_POINT: point, ...options.environment },
    nodeOptions: KILLABLE,
  });
  let gone = false;
  void exited.then(() => {
    gone = true;
  });
  try {
    await until(`a process to die at "${point}"`, DEATH_DEADLINE_MS, async () => (gone ? true : null));
    expect(child.signalCode, point).to.equal('SIGKILL');
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
