/** The repair: the payment gives the month back, the failed station's task is run again by hand, and its rows go on. */
import { releaseExampleLock } from '../../store/example-locks.ts';
import { NEW_READ_COMMITTED } from '../../store/transaction.ts';
import { countOf, grouped, shanghaiTime } from '../figures.ts';
import type { PushReport } from '../push-report.ts';
import { readTraces } from '../read-notes.ts';
import { runTasks } from '../tasks.ts';
import { nothingUnderWay, readReport, watchPushes } from '../watch-pushes.ts';
import type { Expectation } from './expectation.ts';
import type { SentPush } from './send-example.ts';
import type { Telling } from './telling.ts';

const REPAIR_DEADLINE_MS = 60_000;

export interface Repair {
  /** In the order in which they were sent. */
  readonly after: readonly PushReport[];
}

export async function repairStation(
  telling: Telling,
  expectation: Expectation,
  sent: readonly SentPush[],
  before: readonly PushReport[],
): Promise<Repair> {
  const { world, say, lines } = telling;
  const { lockedMeanwhile } = expectation;
  const index = sent.findIndex(({ expected }) => expected.file === lockedMeanwhile.file);
  const push = sent[index]!;
  const [failed] = await readTraces(push, 'STATION_FAILED');
  if (failed?.taskCode === undefined || failed.taskCode === null) return { after: before };

  say(`\nThe payment gives ${lockedMeanwhile.billYearMonth} of ${lockedMeanwhile.partnerStationNo} back.`);
  await world.store.transaction(NEW_READ_COMMITTED, (tx) => releaseExampleLock(tx, lockedMeanwhile));
  say(`Its task is run again by hand: POST /admin/api/v1/tasks/run {"taskCode": "${failed.taskCode}"}`);
  const run = await runTasks(world.admin, { stage: 'bill-station', taskCodes: [failed.taskCode] });
  say(`  ${run.selected} selected, ${run.succeeded} succeeded, ${run.failed} failed`);
  const [repaired] = await watchPushes({
    pushes: [push],
    until: nothingUnderWay,
    what: 'the repaired station to come to its end',
    deadlineMs: REPAIR_DEADLINE_MS,
    lines,
  });
  say(`  before: ${placesText(before[index]!)}`);
  say(`  after:  ${placesText(repaired!)}, as of ${shanghaiTime(repaired!.asOf)} (Shanghai)`);
  return { after: await Promise.all(sent.map(readReport)) };
}

function placesText(report: PushReport): string {
  const shown = report.places.filter(
    ({ place, rows }) => rows > 0 && ['CURRENT', 'STATION_FAILED'].includes(place),
  );
  return shown
    .map(({ place, rows, amount }) => `${countOf(rows)}, ${grouped(amount)} CNY at ${place}`)
    .join('; ');
}
