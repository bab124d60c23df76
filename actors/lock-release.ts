/**
 * Lock-release stage: a submit is over, and the bills that it had reserved are let go, exactly these (LCK rules). Batch
 * by batch, each a transaction of its own that looks at the publish boundary again.
 * Reads: version, order, session. Writes: bill locks, batch, progress; at the end of an invalid REVISE version and session.
 * Hands on: invalidated sessions, to be cleaned up. Guarded by: slot, task row, version row.
 */
import { type LockReleaseIdentity, readIdentity, releasedStatuses } from '../src/domain/lock-release.ts';
import type { StageName } from '../src/domain/stage.ts';
import { Failure, FencedOutError } from '../src/errors.ts';
import { acceptSessionCleanup } from '../src/payment/accept-session-cleanup.ts';
import {
  countLocks,
  failBatch,
  findReleaseVersion,
  finishBatchIfOwned,
  lockReleaseBatch,
  type ReleaseBatch,
} from '../src/store/lock-releases.ts';
import { lockTaskInHand, recordProgressIfRunning } from '../src/store/running-tasks.ts';
import type { TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { Kick } from '../src/tasks/kick.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
import { closeOut, refuseActiveLocks } from './lock-release/closeout.ts';
import { lockContext, type ReleaseContext } from './lock-release/context.ts';
import { countsText, fromTheStart, progressOf, type ReleaseProgress } from './lock-release/progress.ts';
import { isBeyondBoundary, refuseAtBoundary } from './lock-release/publish-boundary.ts';
import { isBatchTaken, ownBatch, ownerOf, releaseNextBatch } from './lock-release/release-batch.ts';

/** How long a release waits for another one of the same version. */
const TAKEN_DUE_IN_MS = 500;
const LOCKS_LEFT = 'LOCKS_LEFT';

export interface LockReleaseActorNeeds {
  readonly kick: Kick;
}

export function lockReleaseActor(needs: LockReleaseActorNeeds): StageHandler {
  return {
    stage: 'lock-release' satisfies StageName,
    work: (tx, tasks) => work(needs, tx, tasks),
    onFailure,
    onHalt,
  };
}

async function work(
  needs: LockReleaseActorNeeds,
  tx: Transaction,
  tasks: readonly ClaimedTask[],
): Promise<Endings> {
  const endings = new Map<string, Ending>();
  for (const task of tasks) endings.set(task.id, await workStep(needs, tx, task));
  return endings;
}

/** One transaction: a batch, or, when nothing is left, the end. */
async function workStep(
  needs: LockReleaseActorNeeds,
  tx: Transaction,
  claimed: ClaimedTask,
): Promise<Ending> {
  const task = await lockTask(tx, claimed);
  const identity = requireIdentity(task);
  if (identity.lockReleaseReason === 'REVIEW_REJECTED') return cancelHistoricalRejection(identity);
  const context = await lockContext(tx, identity);
  const progress = progressOf(task);
  if (isBeyondBoundary(context)) return refuseAtBoundary(tx, context, progress);
  if (await isBatchTaken(tx, task, context.batch))
    return { kind: 'postponed', dueInMs: TAKEN_DUE_IN_MS, busy: true };
  const closesOut = identity.lockReleaseReason === 'INVALID_REVISE_SESSION';
  if (closesOut && progress.batchCount === 0) await refuseActiveLocks(tx, context);
  const outcome = await releaseNextBatch(tx, task, context, progress);
  if (outcome.kind === 'released') return { kind: 'continues' };
  if (outcome.kind === 'published') return refuseAtBoundary(tx, context, progress);
  await finishBatch(tx, task, context, progress);
  if (closesOut) {
    await closeOut(tx, context);
    await acceptSessionCleanup(tx, { ...context.session, partnerOrgId: task.partnerOrgId }, needs.kick);
  }
  return succeeded(context, progress);
}

/** LCK-10: the row is locked to the end, by everything that the run was claimed with; who is not that run writes nothing. */
async function lockTask(tx: Transaction, task: ClaimedTask): Promise<TaskRow> {
  const locked = await lockTaskInHand(tx, task);
  if (locked === null) throw new FencedOutError(`task ${task.taskCode}, attempt ${task.runningAttempt}`);
  return locked;
}

/** LCK-9: a breach is an ordinary failure. */
function requireIdentity(task: TaskRow): LockReleaseIdentity {
  const read = readIdentity(task);
  if ('identity' in read) return read.identity;
  throw new Failure('BAD_TASK_IDENTITY', `Task ${task.taskCode} is not what it says it is: ${read.fault}`);
}

/** LCK-11: from before such tasks were refused; version, batch and locks are not even read. */
function cancelHistoricalRejection({ paymentOrderVersionId }: LockReleaseIdentity): Ending {
  return {
    kind: 'cancelled',
    code: 'REVIEW_REJECTED',
    message: `A rejected review releases nothing; version ${paymentOrderVersionId} was not looked at`,
  };
}

/** LCK-18: counted for this reason, whatever the batch says of another. @throws Failure `LOCKS_LEFT` */
async function finishBatch(
  tx: Transaction,
  task: TaskRow,
  context: ReleaseContext,
  progress: ReleaseProgress,
): Promise<void> {
  const left = await countLocks(tx, context.scope);
  if (left > 0)
    throw new Failure(LOCKS_LEFT, `${left} locks of version ${context.version.versionId} are still held`);
  if (context.batch.status === 'DONE') return;
  await ownBatch(tx, task, context, progress);
  await finishBatchIfOwned(tx, context.batch.id, ownerOf(task, progress));
}

/** LCK-24. */
function succeeded({ identity, version }: ReleaseContext, progress: ReleaseProgress): Ending {
  return {
    kind: 'succeeded',
    finalResult: 'FULL_SUCCESS',
    result: progress,
    summary: `${identity.lockReleaseReason} of version ${version.versionId}: ${countsText(progress)}, none left`,
  };
}

/** LCK-22: batches that are committed stay; the batch's failure is written with the task's, or it would be lost with B. */
async function onFailure(tx: Transaction, claimed: ClaimedTask, failure: Failure): Promise<Ending> {
  const task = await lockTask(tx, claimed);
  const batch = await findBatch(tx, task);
  if (batch !== null && (await concernsBatch(tx, task, batch)))
    await failBatch(tx, batch.id, { taskId: task.id, attempt: task.runningAttempt }, failure);
  if (failure.code === LOCKS_LEFT) await recordProgressIfRunning(tx, task, fromTheStart(progressOf(task)));
  return { kind: 'failed', failure };
}

/**
 * Not a batch that another run is working on. One that an earlier reason brought to DONE is over for that reason only
 * (LCK-18): where this one has locks left, the batch was its to work on, whether or not it got as far as starting it
 * (that has rolled back). Where none are left, the failure was about something else, the closing out for example, and
 * DONE is what the batch is.
 */
async function concernsBatch(tx: Transaction, task: TaskRow, batch: ReleaseBatch): Promise<boolean> {
  if (await isBatchTaken(tx, task, batch)) return false;
  return batch.status !== 'DONE' || (await hasLocksLeft(tx, task));
}

/** The batch's row is locked: no release of the version can free any meanwhile. */
async function hasLocksLeft(tx: Transaction, task: TaskRow): Promise<boolean> {
  const read = readIdentity(task);
  if ('fault' in read) return false;
  const { paymentOrderVersionId, lockReleaseReason, orderBillIds } = read.identity;
  const version = await findReleaseVersion(tx, paymentOrderVersionId);
  if (version === null) return false;
  const statuses = releasedStatuses(lockReleaseReason);
  return (await countLocks(tx, { version, statuses, orderBillIds })) > 0;
}

/** Cancelled, or crashed too often: what it leaves RUNNING is not under way any more, and another reason may take it up. */
async function onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
  if (halt === 'REOPENED') return;
  const batch = await findBatch(tx, task);
  if (batch?.status !== 'RUNNING' || batch.ownerTaskId !== task.id) return;
  const failure = { code: reason, message: `Its task ended: ${halt} ${reason}` };
  await failBatch(tx, batch.id, { taskId: task.id, attempt: task.runningAttempt }, failure);
}

async function findBatch(tx: Transaction, task: TaskRow): Promise<ReleaseBatch | null> {
  const read = readIdentity(task);
  return 'identity' in read ? lockReleaseBatch(tx, read.identity.paymentOrderVersionId) : null;
}
