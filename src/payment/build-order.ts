/**
 * Build (PAY-3): reserves a submit's bills in batches of whole stations, each batch a transaction, and builds the order
 * bills; when all are reserved or kept, the version is BUILT and its publication the next task.
 * Reads: chosen bills, partner bills, differences, payment facts, what is under way. Writes: order bills, bill locks, drops.
 * Guarded by: the version's row (BUILDING under its attempt), then the platform guards, ascending.
 */

import { isPassing, judgeReservation, lockedBy, type Reservation } from '../domain/reservation.ts';
import { assert, BusyError, Failure } from '../errors.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { moveVersionIf } from '../store/payment-orders.ts';
import { sumPaidByBill } from '../store/projections.ts';
import {
  countHeldBills,
  insertKeptBills,
  insertReservedBills,
  insertReservedLocks,
  listReservableBills,
  listStationsToReserve,
  type ReservableBill,
} from '../store/reservations.ts';
import { recordProgressIfRunning } from '../store/running-tasks.ts';
import { countSelection, dropBills } from '../store/session-bills.ts';
import { moveSessionIf } from '../store/sessions.ts';
import { advanceBatch, beginBatchIfOpen } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';
import { findWorkUnderWay } from './find-work-under-way.ts';
import type { PhaseNeeds } from './phase.ts';
import type { Submit } from './submit-context.ts';
import { submitDataOf } from './submit-context.ts';
import { acceptPhase } from './submit-task.ts';
import { requireNoRelease } from './unfinished-releases.ts';

/** Bills in one transaction, a last station's more or less. */
const BILLS_PER_BATCH = 200;

export async function buildOrder(
  tx: Transaction,
  task: ClaimedTask,
  submit: Submit,
  needs: PhaseNeeds,
): Promise<Ending> {
  const { session, batch } = submit;
  const billsMax = batch.batchSize ?? BILLS_PER_BATCH;
  const stations = await listStationsToReserve(tx, session.id, batch.lastItemId, billsMax);
  await lockGuards(
    tx,
    stations.map((station) => ({ key: platformStationGuard(station) })),
  );
  await beginPhase(tx, task, submit);
  if (stations.length === 0) return finishBuild(tx, submit, needs);
  const reserved = await reserve(tx, submit, stations);
  await advanceBatch(tx, batch.id, { lastItemId: stations.at(-1)!, processed: reserved, done: false });
  const { phase } = submitDataOf(task);
  await recordProgressIfRunning(tx, task, { phase, processed: batch.processedCount + reserved });
  return { kind: 'continues' };
}

/** @throws Failure `BATCH_CANCELLED` (LCK-28) */
export async function beginPhase(tx: Transaction, task: ClaimedTask, { batch }: Submit): Promise<void> {
  if (await beginBatchIfOpen(tx, batch.id, task)) return;
  throw new Failure('BATCH_CANCELLED', `The batch ${batch.batchPhase} is ${batch.batchStatus}`);
}

interface Judged {
  readonly bill: ReservableBill;
  readonly verdict: Reservation;
}

/** Under the guards: the bills as they are now. @returns how many were reserved or kept */
async function reserve(tx: Transaction, submit: Submit, stations: readonly string[]): Promise<number> {
  const { order, session, version, partnerOrgId } = submit;
  if (order.currentPublishVersion !== null) await requireNoRelease(tx, version);
  const bills = await listReservableBills(tx, session.id, stations);
  const judged = await judge(tx, submit, bills);
  refuseNamed(judged);
  const reserved = judged.flatMap(({ bill, verdict }) =>
    verdict.kind === 'reserve' ? [{ ...bill, amount: verdict.amount }] : [],
  );
  const kept = judged.flatMap(({ bill, verdict }) => (verdict.kind === 'keep' ? [bill.lockId!] : []));
  const drops = judged.flatMap(({ bill, verdict }) =>
    verdict.kind === 'refuse' ? [{ ...bill, reason: verdict.reason }] : [],
  );
  await insertReservedBills(tx, partnerOrgId, version, reserved);
  await insertKeptBills(tx, version, kept);
  await insertReservedLocks(tx, version, reserved);
  await dropBills(tx, session.id, drops);
  return reserved.length + kept.length;
}

async function judge(tx: Transaction, submit: Submit, bills: readonly ReservableBill[]): Promise<Judged[]> {
  const underWay = await findWorkUnderWay(tx, submit.partnerOrgId, bills);
  const paid = await sumPaidByBill(
    tx,
    bills.map((bill) => bill.partnerBillId),
  );
  const { id: paymentOrderId, currentPublishVersion: publishedVersion } = submit.order;
  return bills.map((bill) => {
    const verdict = judgeReservation(
      {
        basis: basisOf(bill, paid.get(bill.partnerBillId) ?? '0.00'),
        paymentEnabled: bill.paymentFlow === 'ENABLED',
        preRentCheckResult: bill.preRentCheckResult,
        underWay: underWay.has(bill.partnerBillId),
        lock: ownerOf(bill),
      },
      { paymentOrderId, publishedVersion },
    );
    if (verdict.kind === 'wait')
      throw new BusyError(`an earlier attempt of order ${paymentOrderId} still holds some of its bills`);
    return { bill, verdict };
  });
}

function basisOf(bill: ReservableBill, paid: string) {
  const { diffId, rent, deduction, freeze, partnerQueryStatus } = bill;
  return diffId === null || rent === null ? null : { rent, deduction, freeze, partnerQueryStatus, paid };
}

function ownerOf({ lockId, lockOrderId, lockDataVersion }: ReservableBill) {
  if (lockId === null || lockOrderId === null || lockDataVersion === null) return null;
  return { lockId, paymentOrderId: lockOrderId, dataVersion: lockDataVersion };
}

/** DEC-11: a bill that was named fails the build; one that a filter picked is dropped with its reason. */
function refuseNamed(judged: readonly Judged[]): void {
  for (const { bill, verdict } of judged) {
    if (bill.named === 0 || verdict.kind !== 'refuse') continue;
    const conflict = bill.lockOrderId !== null && verdict.reason === lockedBy(bill.lockOrderId);
    const text = `Bill ${bill.partnerBillId} (platform station ${bill.platformStationId}, ${bill.billYearMonth}) was named and cannot be reserved: ${verdict.reason}`;
    throw new Failure(conflict ? 'BILL_LOCK_CONFLICT' : 'NAMED_BILL_NOT_PAYABLE', text, {
      retryable: isPassing(verdict.reason),
      fields: { partnerBillId: bill.partnerBillId, reason: verdict.reason },
    });
  }
}

async function finishBuild(tx: Transaction, submit: Submit, needs: PhaseNeeds): Promise<Ending> {
  const { version, order, session, batch } = submit;
  const { chosen } = await countSelection(tx, session.id);
  if (chosen === 0)
    throw new Failure('NOTHING_TO_PAY', 'None of the chosen bills is payable any more', { retryable: false });
  await requireHeld(tx, submit, chosen);
  const built = await moveVersionIf(tx, version, { from: 'BUILDING', to: 'BUILT' });
  assert(built, `version ${version.id}, locked as BUILDING, did not become BUILT`);
  const submitted = { sessionId: session.id, versionId: version.id };
  const moved = await moveSessionIf(tx, submitted, { from: ['SUBMITTING'], to: 'PUBLISHING' });
  assert(moved, `session ${session.id} is not at the submit of version ${version.id}`);
  await advanceBatch(tx, batch.id, { lastItemId: batch.lastItemId, processed: 0, done: true });
  await acceptPhase(tx, 'PUBLISH', submit, needs.kick);
  return {
    kind: 'succeeded',
    finalResult: 'FULL_SUCCESS',
    result: { paymentOrderId: order.id, bills: chosen },
  };
}

/** PAY-3, PAY-4: reserved + kept = all. @throws Failure `RESERVED_LOCK_INCOMPLETE`, which ends the submit at once */
export async function requireHeld(tx: Transaction, submit: Submit, expected: number | null): Promise<number> {
  const { bills, reserved, kept } = await countHeldBills(
    tx,
    submit.version,
    submit.order.currentPublishVersion,
  );
  if (bills > 0 && reserved + kept === bills && (expected === null || expected === bills)) return bills;
  const text = `Of ${expected ?? bills} bills ${bills} are built, ${reserved} reserved and ${kept} kept`;
  throw new Failure('RESERVED_LOCK_INCOMPLETE', text, { retryable: false });
}
