/**
 * Accepting a push: one transaction, or no 202 (ING-6).
 *
 * Writes: push, open → identity → rows and places → station tasks → the push's accept number, which is the last write.
 * After the commit the partner's station stage is woken. Rows are numbered by station and month, so that a station's
 * lie together; receipts keep the request's order.
 */
import { routeOf } from '../../queues/route.ts';
import { tracedBy } from '../domain/parent-trace.ts';
import type { PushAmounts, PushCode, PushCounts } from '../domain/push-outcome.ts';
import type { StationValues } from '../domain/pushed-fields.ts';
import { readRowLine } from '../domain/row-line.ts';
import { BusyError } from '../errors.ts';
import { openPushes } from '../store/open-pushes.ts';
import {
  insertIdentity,
  lockIdentity,
  type PushIdentityRow,
  replaceIdentity,
} from '../store/push-identities.ts';
import { insertPushedRows, type NewPushedRow } from '../store/pushed-rows.ts';
import { insertPush, takeAcceptNo } from '../store/pushes.ts';
import type { TaskSeed } from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';
import { type ReadPush, readStationLine } from './check-rows.ts';
import { refusalOf } from './receipts.ts';
import { type RowOrder, type StationRange, stationRanges } from './row-order.ts';
import type { Verdicts } from './verdicts.ts';

const ROWS_READ_AT_ONCE_MAX = 5_000;
const ROWS_WRITTEN_AT_ONCE_MAX = 500;

export interface Acceptance {
  readonly partnerOrgId: string;
  readonly idempotencyKey: string;
  readonly identityDays: number;
  readonly traceId: string;
  readonly code: PushCode;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
  readonly push: ReadPush;
  readonly order: RowOrder;
  readonly verdicts: Verdicts;
}

export type AcceptOutcome =
  | { readonly kind: 'accepted'; readonly pushId: string }
  /** The same identity was accepted meanwhile; what it stands for decides what is answered. */
  | { readonly kind: 'earlier'; readonly identity: PushIdentityRow };

/** Rolls everything back: the identity was taken between our looking and our writing. */
class OvertakenError extends Error {}

const OVERTAKEN_MAX = 3;

/** @throws BusyError where the same identity is being accepted right now */
export async function acceptPush(store: Store, kick: Kick, acceptance: Acceptance): Promise<AcceptOutcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.transaction(NEW_READ_COMMITTED, (tx) => accept(tx, kick, acceptance));
    } catch (error) {
      if (!(error instanceof OvertakenError)) throw error;
      if (attempt === OVERTAKEN_MAX) throw new BusyError('the identity is used by several at once');
    }
  }
}

async function accept(tx: Transaction, kick: Kick, acceptance: Acceptance): Promise<AcceptOutcome> {
  const { partnerOrgId, idempotencyKey } = acceptance;
  const earlier = await lockIdentity(tx, partnerOrgId, idempotencyKey);
  if (earlier !== null && !earlier.expired) return { kind: 'earlier', identity: earlier };
  const pushId = await writePush(tx, acceptance, earlier !== null);
  if (acceptance.counts.accepted > 0) tx.afterCommit(() => kick.kick('bill-station', partnerOrgId));
  return { kind: 'accepted', pushId };
}

async function writePush(tx: Transaction, acceptance: Acceptance, replaces: boolean): Promise<string> {
  const { push, order, verdicts, partnerOrgId } = acceptance;
  const { ranges, namedCount } = stationRanges(push, order, (index) => verdicts.isAccepted(index));
  const pushId = await insertPush(tx, {
    ...acceptance,
    stationCount: namedCount,
    ignoredFieldCount: push.ignoredFieldCount,
  });
  await openPushes(tx, [pushId]);
  await keepIdentity(tx, acceptance, pushId, replaces);
  await writeRows(tx, acceptance, pushId);
  await acceptTasks(
    tx,
    ranges.map((station) => stationTask(station, pushId, acceptance)),
  );
  await takeAcceptNo(tx, partnerOrgId, pushId);
  return pushId;
}

async function keepIdentity(
  tx: Transaction,
  acceptance: Acceptance,
  pushId: string,
  replaces: boolean,
): Promise<void> {
  const identity = {
    key: acceptance.idempotencyKey,
    pushId,
    contentDigest: acceptance.push.contentDigest,
  };
  if (replaces) await replaceIdentity(tx, identity);
  else if (!(await insertIdentity(tx, identity))) throw new OvertakenError();
}

/**
 * Read in larger pieces than are written, since a station's rows may lie anywhere in the request; and while the
 * database writes one chunk, the next is made ready.
 */
async function writeRows(tx: Transaction, acceptance: Acceptance, pushId: string): Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  for await (const rows of rowsToWrite(acceptance)) {
    await writing;
    writing = insertPushedRows(tx, pushId, rows);
    // Awaited a turn later; until then a failure is not unhandled.
    writing.catch(() => {});
  }
  await writing;
}

async function* rowsToWrite({ push, order, verdicts }: Acceptance): AsyncGenerator<NewPushedRow[]> {
  for (let from = 0; from < order.length; from += ROWS_READ_AT_ONCE_MAX) {
    const indexes = [...order.subarray(from, from + ROWS_READ_AT_ONCE_MAX)];
    const lines = await push.lines.lines(indexes.map((index) => push.rows.line(index)));
    const stations = await stationValues(push, indexes);
    for (let start = 0; start < indexes.length; start += ROWS_WRITTEN_AT_ONCE_MAX) {
      const end = Math.min(start + ROWS_WRITTEN_AT_ONCE_MAX, indexes.length);
      const rows: NewPushedRow[] = [];
      for (let at = start; at < end; at++) {
        rows.push(
          newRow(push, verdicts, { index: indexes[at]!, rowNo: from + at + 1, line: lines[at]!, stations }),
        );
      }
      yield rows;
    }
  }
}

type StationsByContent = ReadonlyMap<number, StationValues>;

async function stationValues(push: ReadPush, indexes: readonly number[]): Promise<StationsByContent> {
  const contents = indexes.map((index) => push.stations.contentIndex(push.rows.stationIndex(index)));
  const wanted = [...new Set(contents)];
  const lines = await push.lines.lines(wanted.map((content) => push.stations.line(content)));
  return new Map(wanted.map((content, at) => [content, readStationLine(lines[at]!)]));
}

function newRow(
  push: ReadPush,
  verdicts: Verdicts,
  from: { index: number; rowNo: number; line: string; stations: StationsByContent },
): NewPushedRow {
  const { index, rowNo, stations } = from;
  const line = readRowLine(from.line);
  const stationIndex = push.rows.stationIndex(index);
  return {
    rowNo,
    receiptIndex: index,
    refusal: refusalOf(push, verdicts, index, line),
    shownStationNo: push.stations.shownStationNo(stationIndex),
    shownMonth: line.shownMonth,
    shownRowId: line.shownRowId,
    contentHash: push.rows.contentHash(index),
    station: stations.get(push.stations.contentIndex(stationIndex))!,
    bill: line.values,
  };
}

function stationTask(station: StationRange, pushId: string, { partnerOrgId, traceId }: Acceptance): TaskSeed {
  const route = routeOf('bill-station');
  const code = `PSB:${pushId}:${station.partnerStationNo}`;
  return {
    stage: 'bill-station',
    taskType: route.taskType,
    taskCode: code,
    businessKey: code,
    data: { pushId, ...station, ...tracedBy(traceId) },
    partnerOrgId,
    pushId,
    maxRetryCount: route.attemptsMax,
  };
}
