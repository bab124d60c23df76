/**
 * Closing segments (STA-17): whoever holds a difference slot of the partner first puts committed stations together into
 * messages: whole stations of one push, up to 500 bills. A short segment is closed if no station of the push is still in
 * its first attempt, or if its oldest station has waited ten seconds: a stopped or waiting station holds nobody back.
 */
import {
  type DifferenceMessage,
  type MessageStation,
  newTaskMainId,
} from '../../src/domain/difference-message.ts';
import { FencedOutError, toFailure } from '../../src/errors.ts';
import {
  assignToMessage,
  isAnyStationInFirstAttempt,
  listHandedBills,
  listPushesToSegment,
  lockOpenHandovers,
  type OpenHandover,
} from '../../src/store/diff-handovers.ts';
import { type PushOrder, readPushOrder } from '../../src/store/push-order.ts';
import { lockSlotIfHeld, type SlotRight } from '../../src/store/slots.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../../src/store/transaction.ts';
import { acceptMessage } from '../../src/tasks/accept-message.ts';

export const SEGMENT_BILLS_MAX = 500;
const SEGMENT_WAIT_MAX_MS = 10_000;
/** Segments closed in one turn; more are closed in the next, so that a turn ends. */
const SEGMENTS_PER_TURN_MAX = 20;

/** @throws what kept a push from being closed, after the others were; at once where it would keep them as well */
export async function closeSegments(store: Store, right: SlotRight): Promise<void> {
  const faults: unknown[] = [];
  let closed = 0;
  for (const pushId of await listPushesToSegment(store, right.partnerOrgId)) {
    try {
      while (closed < SEGMENTS_PER_TURN_MAX && (await closeOneSegment(store, right, pushId))) closed += 1;
    } catch (error) {
      if (error instanceof FencedOutError || toFailure(error).reach === 'platform') throw error;
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}

/** One transaction: message and segment number together. @returns false if the push has nothing to close now. */
async function closeOneSegment(store: Store, right: SlotRight, pushId: string): Promise<boolean> {
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    if (!(await lockSlotIfHeld(tx, right)))
      throw new FencedOutError(`slot at ${right.stage}, on closing a segment`);
    // Read before the hand-overs are taken: a station that ends in between is then in them or still open.
    const moreWillCome = await isAnyStationInFirstAttempt(tx, pushId);
    const open = await lockOpenHandovers(tx, {
      partnerOrgId: right.partnerOrgId,
      pushId,
      limit: SEGMENT_BILLS_MAX,
    });
    const segment = takeSegment(open);
    if (segment.length === 0) return false;
    const isFull = segment.length < open.length || billsOf(segment) >= SEGMENT_BILLS_MAX;
    const waitedMs = Math.max(...segment.map((station) => station.waitedMs));
    if (!isFull && moreWillCome && waitedMs < SEGMENT_WAIT_MAX_MS) return false;
    await writeMessage(tx, await readPushOrder(tx, pushId), segment);
    return true;
  });
}

/** Whole stations, in order, up to the limit; a single station above it goes alone. */
export function takeSegment<T extends { readonly billCount: number }>(open: readonly T[]): T[] {
  const segment: T[] = [];
  let bills = 0;
  for (const station of open) {
    if (segment.length > 0 && bills + station.billCount > SEGMENT_BILLS_MAX) break;
    segment.push(station);
    bills += station.billCount;
  }
  return segment;
}

function billsOf(stations: readonly { readonly billCount: number }[]): number {
  return stations.reduce((sum, station) => sum + station.billCount, 0);
}

async function writeMessage(
  tx: Transaction,
  push: PushOrder,
  segment: readonly OpenHandover[],
): Promise<void> {
  const stationTaskIds = segment.map((station) => station.stationTaskId);
  const byStation = Map.groupBy(await listHandedBills(tx, segment), (bill) => bill.stationTaskId);
  const stations: MessageStation[] = segment.map((station) => ({
    stationTaskId: station.stationTaskId,
    partnerStationNo: station.partnerStationNo,
    batchDeduction: station.batchDeduction,
    bills: (byStation.get(station.stationTaskId) ?? []).map(({ billId, rowNo, dataVersion }) => ({
      billId,
      rowNo,
      dataVersion,
    })),
  }));
  const message: DifferenceMessage = {
    taskMainId: newTaskMainId(Number(push.nowMs)),
    parentTraceId: push.traceId,
    startTime: push.nowMs,
    recordTimestamp: push.nowMs,
    requestparams: { entry: 'PARTNER_BILLS', pushId: push.pushId, acceptNo: push.acceptNo, stations },
  };
  const task = await acceptMessage(tx, push.partnerOrgId, message);
  await assignToMessage(tx, { stationTaskIds, fromTaskId: '0', toTaskId: task.id });
}
