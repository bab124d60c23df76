/**
 * What happens in the demo, in order. Everything goes over HTTP but one thing: the lock that a payment takes meanwhile
 * is written into the database, since the example runs no payment.
 *
 *   hold two stages ─ push the month's files ─ a payment takes a month ─ let stations work ─ push a correction and a
 *   late export ─ let differences work ─ all ends ─ release the lock, run the failed task again
 */
import { setTimeout as pause } from 'node:timers/promises';
import { releaseExampleLock, reserveExampleLock } from '../../store/example-locks.ts';
import { NEW_READ_COMMITTED } from '../../store/transaction.ts';
import { type PushReport, rowsAt } from '../push-report.ts';
import { receiptText } from '../receipt-text.ts';
import { nothingUnderWay, watchPushes } from '../watch-pushes.ts';
import { type Expectation, type ExpectedPush, readExpectation } from './expectation.ts';
import { HELD_FOR_REVISION } from './payment-plane.ts';
import { type Repair, repairStation } from './repair.ts';
import { type SentPush, sendExample } from './send-example.ts';
import { tellCoverage } from './tell-coverage.ts';
import type { Telling } from './telling.ts';
import type { Observed } from './verdict.ts';
import type { World } from './world.ts';

/** A pause of a stage is effective in two seconds (ENG-14). */
const PAUSE_EFFECTIVE_MS = 2_000;
const STATIONS_DEADLINE_MS = 60_000;
const END_DEADLINE_MS = 180_000;
const HELD_STAGES = ['bill-station', 'income-diff'] as const;

export interface Told {
  readonly sent: readonly SentPush[];
  /** When nothing was under way, in the order of `sent`. */
  readonly before: readonly PushReport[];
  readonly repair: Repair;
}

export async function tellStory(telling: Telling): Promise<Told> {
  const expectation = readExpectation();
  await armScenes(telling, expectation);
  try {
    const month = await pushAll(telling, expectation, ['main']);
    await takeMonthMeanwhile(telling, expectation);
    await letStageWork(telling, 'bill-station', 'Stations are let work: accounts and bills are written.');
    await stationsEnd(telling, month);
    const sent = [...month, ...(await pushAll(telling, expectation, ['correction', 'late']))];
    await stationsEnd(telling, sent);
    await letStageWork(telling, 'income-diff', 'Differences are let work, then accounts, then snapshots.');
    telling.say(
      'One account cannot be refreshed; it is tried three times, some 12 s in all, then passed by.',
    );
    const before = await allEnds(telling, sent);
    for (const [index, push] of sent.entries()) await tellCoverage(telling, push, before[index]!);
    return { sent, before, repair: await repairStation(telling, expectation, sent, before) };
  } finally {
    await letGo(telling.world);
  }
}

/** As at the first time: no lock of an earlier run is left, and work waits until the scene is set. */
async function armScenes({ world, say }: Telling, expectation: Expectation): Promise<void> {
  await world.store.transaction(NEW_READ_COMMITTED, (tx) =>
    releaseExampleLock(tx, expectation.lockedMeanwhile),
  );
  say(
    'Holding the stages bill-station and income-diff, so that things can happen between acceptance and work.',
  );
  for (const stage of HELD_STAGES) await world.admin.post(`/admin/api/v1/stages/${stage}/pause`);
  await pause(PAUSE_EFFECTIVE_MS);
}

async function pushAll(
  { world, say }: Telling,
  expectation: Expectation,
  kinds: readonly ExpectedPush['kind'][],
): Promise<SentPush[]> {
  const sent: SentPush[] = [];
  for (const expected of expectation.pushes.filter(({ kind }) => kinds.includes(kind))) {
    const push = await sendExample(world, expected);
    say(`\n${expected.orgCode} pushes examples/pushes/${expected.file}: ${expected.title}`);
    for (const line of receiptText(push.reply)) say(`  ${line}`);
    sent.push(push);
  }
  return sent;
}

async function takeMonthMeanwhile({ world, say }: Telling, expectation: Expectation): Promise<void> {
  const { platformStationId, billYearMonth, partnerStationNo } = expectation.lockedMeanwhile;
  await world.store.transaction(NEW_READ_COMMITTED, (tx) =>
    reserveExampleLock(tx, expectation.lockedMeanwhile),
  );
  say(
    `\nMeanwhile a payment takes ${billYearMonth} of ${partnerStationNo} (platform station ${platformStationId}).`,
  );
}

async function letStageWork({ world, say }: Telling, stage: string, what: string): Promise<void> {
  await world.admin.post(`/admin/api/v1/stages/${stage}/resume`);
  say(`\n${what}`);
}

async function stationsEnd({ lines }: Telling, sent: readonly SentPush[]): Promise<void> {
  await watchPushes({
    pushes: sent,
    until: (reports) => reports.every((report) => rowsAt(report, 'STATION_PENDING') === 0),
    what: 'the stations to be written',
    deadlineMs: STATIONS_DEADLINE_MS,
    lines,
  });
}

function allEnds({ lines }: Telling, sent: readonly SentPush[]): Promise<PushReport[]> {
  const what = 'all rows to come to their ends';
  return watchPushes({ pushes: sent, until: nothingUnderWay, what, deadlineMs: END_DEADLINE_MS, lines });
}

/** Whatever happened: a held stage would stay held, in this database, for ever. */
export async function letGo(world: World): Promise<void> {
  for (const stage of [...HELD_STAGES, HELD_FOR_REVISION])
    await world.admin.post(`/admin/api/v1/stages/${stage}/resume`);
}

/** What the verdict is about. */
export function observedOf({ sent, before, repair }: Told): Observed[] {
  return sent.map(({ expected, fileTotals, reply }, index) => ({
    expected,
    fileTotals,
    reply,
    before: before[index]!,
    afterRepair: repair.after[index]!,
  }));
}
