/** `rooftally push <file>`: sends a file as a partner does, and shows the receipts. */
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { receiptText } from './receipt-text.ts';
import { sendPush } from './send-push.ts';
import { watchToTheEnd } from './watch.ts';
import { type PartnerOptions, partnerClient } from './where-to.ts';

interface PushOptions extends PartnerOptions {
  readonly identity?: string;
  readonly watch?: boolean;
}

export function pushCommand(): Command {
  return new Command('push')
    .description('Push a file of bills (.json, .ndjson, .csv, also .gz); finds a running demo by itself')
    .argument('<file>')
    .option('--url <url>', 'of the API')
    .option('--key <key>', "the partner's key")
    .option('--sign <file>', 'sign every request: the answer that the key was made with, as JSON')
    .option('--partner <orgCode>', "one of the demo's partners, instead of a key")
    .option(
      '--identity <key>',
      'the Idempotency-Key; the same again is answered, not done again (default: a new one)',
    )
    .option('--watch', 'show what becomes of it until nothing is under way')
    .action(push);
}

async function push(file: string, options: PushOptions): Promise<void> {
  const client = partnerClient(options, file);
  const reply = await sendPush(client, file, options.identity ?? `cli-${randomUUID()}`);
  for (const line of receiptText(reply)) console.log(line);
  if (reply.code === 'REJECTED') process.exitCode = 1;
  else if (options.watch === true) await watchToTheEnd(client, reply.pushId);
}
