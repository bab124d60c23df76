/** `rooftally demo`: all of Rooftally on this machine, with an example in which everything goes wrong that can. */
import { Command } from 'commander';
import { Failure } from '../errors.ts';
import { findPages, invitation } from './demo/invitation.ts';
import { clearLeftovers } from './demo/payment-leftovers.ts';
import { tellPayments } from './demo/payment-story.ts';
import { paymentFaults } from './demo/payment-verdict.ts';
import { letGo, observedOf, tellStory } from './demo/story.ts';
import { tellInspection } from './demo/tell-inspection.ts';
import type { Telling } from './demo/telling.ts';
import { verdict } from './demo/verdict.ts';
import { bringUpWorld } from './demo/world.ts';
import { untilInterrupted } from './interruption.ts';
import { LiveLines } from './live-lines.ts';

interface DemoOptions {
  readonly once?: boolean;
  readonly fresh?: boolean;
}

const INTERRUPTED_EXIT_CODE = 130;

export function demoCommand(): Command {
  return new Command('demo')
    .description('Bring everything up on this machine, push an example, and show what becomes of it')
    .option('--once', 'end by itself: with 0 only if all came out as the example says it must')
    .option('--fresh', 'begin without the data of earlier runs')
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

async function demo(options: DemoOptions): Promise<number> {
  const interrupted = untilInterrupted();
  const say = (line: string) => console.log(line);
  const world = await Promise.race([bringUpWorld({ fresh: options.fresh === true, say }), interrupted]);
  // What was begun ends with this process; there is nothing to hand back yet.
  if (typeof world === 'string') process.exit(INTERRUPTED_EXIT_CODE);
  try {
    const telling: Telling = { world, lines: new LiveLines(process.stdout), say };
    const told = await Promise.race([tellAndCheck(telling), interrupted]);
    if (typeof told === 'string') {
      await letGo(world);
      return INTERRUPTED_EXIT_CODE;
    }
    if (options.once === true) return told.length === 0 ? 0 : 1;
    for (const line of ['', ...invitation(world, await findPages(world.url))]) say(line);
    await interrupted;
    return 0;
  } finally {
    await world.stop();
  }
}

/** @returns what came out otherwise than the example says it must */
async function tellAndCheck(telling: Telling): Promise<string[]> {
  await clearLeftovers(telling);
  const coverage = verdict(observedOf(await tellStory(telling)));
  judge(telling, 'Coverage', coverage, ', to the row and the fen');
  const payments = [...(await payAndCheck(telling)), ...(await tellInspection(telling))];
  judge(telling, 'The payments, and the inspection after them,', payments);
  return [...coverage, ...payments];
}

/** A scene that does not come to its end is a difference too; the demo goes on serving, so that one can look. */
async function payAndCheck(telling: Telling): Promise<string[]> {
  try {
    const scenes = await tellPayments(telling);
    return scenes === null ? [] : paymentFaults(scenes);
  } catch (error) {
    if (error instanceof Failure) return [`payments: ${error.message}`];
    throw error;
  }
}

function judge({ say }: Telling, what: string, faults: readonly string[], exactly = ''): void {
  say('');
  if (faults.length === 0) say(`${what} came out as the example says it must${exactly}.`);
  else say(`${what} did NOT come out as the example says it must:`);
  for (const fault of faults) say(`  - ${fault}`);
}
