/** `rooftally watch <pushId>`: the funnel of a push as it fills, then its coverage in words. */
import { Command } from 'commander';
import type { ApiClient } from './api-client.ts';
import { coverageText } from './coverage-text.ts';
import { LiveLines } from './live-lines.ts';
import { readNotes } from './read-notes.ts';
import { nothingUnderWay, watchPushes } from './watch-pushes.ts';
import { clientForPush, type PartnerOptions } from './where-to.ts';

const DEADLINE_DEFAULT_S = '600';

interface WatchOptions extends PartnerOptions {
  readonly deadline: string;
}

export function watchCommand(): Command {
  return new Command('watch')
    .description('Watch a push until nothing of it is under way; finds a running demo by itself')
    .argument('<pushId>')
    .option('--url <url>', 'of the API')
    .option('--key <key>', "the partner's key")
    .option('--sign <file>', 'sign every request: the answer that the key was made with, as JSON')
    .option('--partner <orgCode>', "one of the demo's partners, instead of a key")
    .option('--deadline <seconds>', 'give up after', DEADLINE_DEFAULT_S)
    .action(async (pushId: string, options: WatchOptions) => {
      await watchToTheEnd(await clientForPush(options, pushId), pushId, Number(options.deadline) * 1000);
    });
}

export async function watchToTheEnd(
  client: ApiClient,
  pushId: string,
  deadlineMs = Number(DEADLINE_DEFAULT_S) * 1000,
): Promise<void> {
  const push = { label: `push ${pushId}`, client, pushId };
  const [report] = await watchPushes({
    pushes: [push],
    until: nothingUnderWay,
    what: 'the push to come to its end',
    deadlineMs,
    lines: new LiveLines(process.stdout),
  });
  for (const line of coverageText(report!, await readNotes(push, report!))) console.log(line);
}
