/** Pushes one file of the example as its partner does, under an identity of its own at each run. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { moneyText, sumOf } from '../../domain/money.ts';
import { ApiClient } from '../api-client.ts';
import { EXAMPLES_FOLDER } from '../load-example.ts';
import type { PushReply, RowsAndAmount } from '../push-report.ts';
import { sendPush } from '../send-push.ts';
import type { WatchedPush } from '../watch-pushes.ts';
import type { ExpectedPush } from './expectation.ts';
import type { World } from './world.ts';

export interface SentPush extends WatchedPush {
  readonly expected: ExpectedPush;
  readonly reply: PushReply;
  /** What the file itself adds up to. */
  readonly fileTotals: RowsAndAmount;
}

const LABELS = { main: '', correction: ' corr.', late: ' late' };

export async function sendExample(world: World, expected: ExpectedPush): Promise<SentPush> {
  const file = join(EXAMPLES_FOLDER, 'pushes', expected.file);
  const partner = world.example.partners.find(({ orgCode }) => orgCode === expected.orgCode)!;
  const client = new ApiClient(world.url, partner.demoKey);
  const reply = await sendPush(client, file, `demo-${randomUUID()}`);
  return {
    label: expected.orgCode + LABELS[expected.kind],
    client,
    pushId: reply.pushId,
    expected,
    reply,
    fileTotals: totalsOf(file),
  };
}

const AMOUNT = /^[0-9]{1,16}(\.[0-9]{1,2})?$/;

/** A rent that is no valid amount counts 0 (DEC-17). */
function totalsOf(file: string): RowsAndAmount {
  const { stations } = JSON.parse(readFileSync(file, 'utf8')) as {
    stations: { bills: { rent: string }[] }[];
  };
  const rents = stations.flatMap(({ bills }) => bills.map(({ rent }) => rent));
  return { rows: rents.length, amount: moneyText(sumOf(rents.filter((rent) => AMOUNT.test(rent)))) };
}
