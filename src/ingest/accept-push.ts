/**
 * Accepting a push: one transaction, or no 202 (ING-6).
 *
 * Writes: identity → push → rows and places → station tasks → the push's accept number, which is the last write.
 * After the commit the partner's station stage is woken. Rows are numbered by station and month, so that a station's
 * lie together; receipts keep the request's order.
 */
import { UniqueConstraintViolationException } from '@mikro-orm/mysql';
import { routeOf } from '../../queues/route.ts';
import type { PushAmounts, PushCode, PushCounts } from '../domain/push-outcome.ts';
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
import { parseLine, type ReadPush } from './check-rows.ts';
import type { Verdicts } from './judge-rows.ts';
import { refusalOf } from './receipts.ts';
import { orderRows, type RowOrder, type StationRange } from './row-order.ts';

const ROWS_AT_ONCE_MAX = 500;

export interface Acceptance {
  readonly partnerOrgId: string;
  readonly idempotencyKey: string;
  readonly identityDays: number;
  readonly traceId: string;
  readonly code: PushCode;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
  readonly push: ReadPush;
  readonly verdicts: Verdicts;
}

export type AcceptOutcome =
  | { readonly kind: 'accepted'; readonly pushId: string }
  /** The same identity was accepted meanwhile; what it stands for decides what is answered. */
  | { readonly kind: 'earlier'; readonly identity: PushIdentityRow }
  | { readonly kind: 'overtaken' };

/** @throws BusyError where the same identity is being accepted right now */
export async function acceptPush(store: Store, kick: Kick, acceptance: Acceptance): Promise<AcceptOutcome> {
  const order = orderRows(acceptance.push, acceptance.verdicts);
  try {
    return await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const earlier = await lockIdentity(tx, acceptance.partnerOrgId, acceptance.idempotencyKey);
      if (earlier !== null && !earlier.expired) return { kind: 'earlier', identity: earlier };
      const pushId = await writePush(tx, acceptance, order, earlier !== null);
      if (order.stations.length > 0) {
        tx.afterCommit(() => kick.kick('bill-station', acceptance.partnerOrgId));
      }
      return { kind: 'accepted', pushId };
    });
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) return { kind: 'overtaken' };
    throw error;
  }
}

async function writePush(
  tx: Transaction,
  acceptance: Acceptance,
  order: RowOrder,
  replaces: boolean,
): Promise<string> {
  const pushId = await insertPush(tx, {
    ...acceptance,
    stationCount: order.stationCount,
    ignoredFieldCount: acceptance.push.ignoredFieldCount,
  });
  await keepIdentity(tx, acceptance, pushId, replaces);
  await writeRows(tx, acceptance, order, pushId);
  await acceptTasks(
    tx,
    order.stations.map((station) => stationTask(station, pushId, acceptance.partnerOrgId)),
  );
  await takeAcceptNo(tx, acceptance.partnerOrgId, pushId);
  return pushId;
}

async function keepIdentity(
  tx: Transaction,
  acceptance: Acceptance,
  pushId: string,
  replaces: boolean,
): Promise<void> {
  const identity = {
    partnerOrgId: acceptance.partnerOrgId,
    key: acceptance.idempotencyKey,
    pushId,
    contentDigest: acceptance.push.contentDigest,
    days: acceptance.identityDays,
  };
  await (replaces ? replaceIdentity(tx, identity) : insertIdentity(tx, identity));
}

async function writeRows(
  tx: Transaction,
  { push, verdicts }: Acceptance,
  order: RowOrder,
  pushId: string,
): Promise<void> {
  for (let from = 0; from < order.rowIndexes.length; from += ROWS_AT_ONCE_MAX) {
    const indexes = order.rowIndexes.slice(from, from + ROWS_AT_ONCE_MAX);
    const lines = await push.lines.lines(indexes.map((index) => push.rows[index]!.line));
    await insertPushedRows(
      tx,
      pushId,
      indexes.map((index, at) => newRow(push, verdicts, index, from + at + 1, lines[at]!)),
    );
  }
}

function newRow(
  push: ReadPush,
  verdicts: Verdicts,
  index: number,
  rowNo: number,
  lineText: string,
): NewPushedRow {
  const row = push.rows[index]!;
  const station = push.stations[row.stationIndex]!;
  const line = parseLine(lineText);
  return {
    rowNo,
    receiptIndex: index,
    refusal: refusalOf(push, verdicts, index, line),
    shownStationNo: station.shownStationNo,
    shownMonth: line.shownMonth,
    shownRowId: line.shownRowId,
    contentHash: row.contentHash,
    station: station.values,
    bill: line.values,
  };
}

function stationTask(station: StationRange, pushId: string, partnerOrgId: string): TaskSeed {
  const route = routeOf('bill-station');
  const code = `PSB:${pushId}:${station.partnerStationNo}`;
  return {
    stage: 'bill-station',
    taskType: route.taskType,
    taskCode: code,
    businessKey: code,
    data: { pushId, ...station },
    partnerOrgId,
    pushId,
    maxRetryCount: route.attemptsMax,
  };
}
