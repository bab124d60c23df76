/**
 * Activation (PAY-5), after publishing: what was reserved becomes ACTIVE, what was kept becomes this version's, in
 * batches; what the revision removed is released against the version published before. Busy while a release of another
 * version of the order is unfinished.
 * Guarded by: the rows of both versions; the earlier one, first, keeps its releases out of a batch.
 */

import { ORDER_BILL_IDS_MAX } from '../domain/lock-release.ts';
import type { SubmitTaskData } from '../domain/payment-submit.ts';
import { assert, Failure } from '../errors.ts';
import {
  activateReserved,
  type KeptBill,
  listHeldOrderBills,
  listKeptBills,
  relabelLocks,
} from '../store/lock-activation.ts';
import { findPublishedBefore, findVersion, lockVersion, type VersionRow } from '../store/payment-orders.ts';
import { recordProgressIfRunning } from '../store/running-tasks.ts';
import { moveSessionIf } from '../store/sessions.ts';
import { advanceBatch } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { beginPhase } from './build-order.ts';
import type { PhaseNeeds } from './phase.ts';
import type { Submit } from './submit-context.ts';
import { acceptPhase } from './submit-task.ts';
import { requireNoRelease } from './unfinished-releases.ts';

/** Locks in one transaction, a last station's more or less. */
const LOCKS_PER_BATCH = 500;

/** Before the submit's own version: version rows are locked ascending. Null: nothing was published before. */
export async function lockEarlierVersion(tx: Transaction, data: SubmitTaskData): Promise<VersionRow | null> {
  const version = await findVersion(tx, data.paymentOrderVersionId);
  const earlier = version === null ? null : await findPublishedBefore(tx, version);
  return earlier === null ? null : lockVersion(tx, earlier.id);
}

export async function activateLocks(
  tx: Transaction,
  task: ClaimedTask,
  submit: Submit,
  needs: PhaseNeeds,
): Promise<Ending> {
  const { version, batch } = submit;
  const earlier = await findPublishedBefore(tx, version);
  await requireNoRelease(tx, version);
  await beginPhase(tx, task, submit);
  const locksMax = batch.batchSize ?? LOCKS_PER_BATCH;
  const activated = await activateReserved(tx, version, locksMax);
  if (activated > 0) return goOn(tx, task, submit, { lastItemId: batch.lastItemId, processed: activated });
  const kept = await listKeptBills(tx, version.id, batch.lastItemId, locksMax);
  if (kept.length > 0) {
    await takeOver(tx, version, earlier, kept);
    return goOn(tx, task, submit, { lastItemId: kept.at(-1)!.platformStationId, processed: kept.length });
  }
  return finish(tx, task, submit, earlier, needs);
}

async function goOn(
  tx: Transaction,
  task: ClaimedTask,
  { batch }: Submit,
  progress: { lastItemId: string; processed: number },
): Promise<Ending> {
  await advanceBatch(tx, batch.id, { ...progress, done: false });
  const processed = batch.processedCount + progress.processed;
  await recordProgressIfRunning(tx, task, { phase: batch.batchPhase, processed });
  return { kind: 'continues' };
}

async function takeOver(
  tx: Transaction,
  version: VersionRow,
  earlier: VersionRow | null,
  kept: readonly KeptBill[],
): Promise<void> {
  assert(earlier !== null, `version ${version.id} keeps bills, but nothing was published before it`);
  const lost = kept.find(
    (bill) =>
      bill.lockOrderId !== version.paymentOrderId || bill.lockDataVersion !== earlier.targetDataVersion,
  );
  if (lost !== undefined) {
    const text = `Order bill ${lost.orderBillId} (platform station ${lost.platformStationId}, ${lost.billYearMonth}) was kept, but version ${earlier.id} does not hold its lock any more`;
    throw new Failure('KEPT_LOCK_MISSING', text);
  }
  await relabelLocks(
    tx,
    version,
    earlier,
    kept.map(({ lockId, orderBillId }) => ({ lockId: lockId!, orderBillId })),
  );
}

async function finish(
  tx: Transaction,
  task: ClaimedTask,
  submit: Submit,
  earlier: VersionRow | null,
  needs: PhaseNeeds,
): Promise<Ending> {
  const { version, session, batch } = submit;
  const removed = earlier === null ? [] : await listHeldOrderBills(tx, earlier);
  const moved = await moveSessionIf(
    tx,
    { sessionId: session.id, versionId: version.id },
    { from: ['PUBLISHED_LOCK_SYNCING'], to: 'PUBLISHED' },
  );
  assert(moved, `session ${session.id} is not at the submit of version ${version.id}`);
  // Before it asks for releases: until this phase is done nobody may ask for what the version before still labels (LCK-3).
  await advanceBatch(tx, batch.id, { lastItemId: batch.lastItemId, processed: 0, done: true });
  for (let from = 0; from < removed.length; from += ORDER_BILL_IDS_MAX) {
    const orderBillIds = removed.slice(from, from + ORDER_BILL_IDS_MAX);
    await acceptLockRelease(
      tx,
      {
        paymentOrderVersionId: earlier!.id,
        lockReleaseReason: 'REVISE_REMOVED',
        selection: { orderBillIds },
        actor: task.taskCode,
      },
      needs.kick,
    );
  }
  await acceptPhase(tx, 'AUDIT_PLAN', submit, needs.kick);
  return {
    kind: 'succeeded',
    finalResult: 'FULL_SUCCESS',
    result: { activated: batch.processedCount, removed: removed.length },
  };
}
