/** One batch of locks, in one transaction with its cursor (LCK-16, LCK-17, LCK-28). */
import { stopsAtPublishBoundary } from '../../src/domain/lock-release.ts';
import { Failure } from '../../src/errors.ts';
import {
  advanceBatchIfOwned,
  type BatchOwner,
  isPublished,
  isRunUnderWay,
  listNextLockIds,
  type ReleaseBatch,
  releaseRange,
  startBatch,
} from '../../src/store/lock-releases.ts';
import { recordProgressIfRunning } from '../../src/store/running-tasks.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { ReleaseContext } from './context.ts';
import { afterBatch, type ReleaseProgress } from './progress.ts';

/** Locks in a batch whose row does not say how many. */
export const BATCH_SIZE_DEFAULT = 1_000;

export type BatchOutcome =
  /** Behind the cursor there is nothing. */
  | { readonly kind: 'nothing-left' }
  | { readonly kind: 'released'; readonly progress: ReleaseProgress }
  /** LCK-13, the second place. */
  | { readonly kind: 'published' };

/** The caller holds slot, task, version and batch. */
export async function releaseNextBatch(
  tx: Transaction,
  task: TaskRow,
  context: ReleaseContext,
  progress: ReleaseProgress,
): Promise<BatchOutcome> {
  const { identity, version, scope, batch } = context;
  const boundary = stopsAtPublishBoundary(identity.lockReleaseReason);
  if (boundary && (await isPublished(tx, version.versionId))) return { kind: 'published' };
  const ids = await listNextLockIds(tx, scope, progress.cursor, batchSizeOf(batch));
  const upTo = ids.at(-1);
  if (upTo === undefined) return { kind: 'nothing-left' };
  await ownBatch(tx, task, context, progress);
  const released = await releaseRange(
    tx,
    scope,
    { after: progress.cursor, upTo },
    { reason: identity.lockReleaseReason, boundary },
  );
  const moved = afterBatch(progress, upTo, released);
  await recordProgressIfRunning(tx, task, moved);
  await advanceBatchIfOwned(tx, batch.id, ownerOf(task, moved), released);
  return { kind: 'released', progress: moved };
}

/** LCK-16: a batch that another task's run has under way is that one's until it ends. */
export async function isBatchTaken(tx: Transaction, task: TaskRow, batch: ReleaseBatch): Promise<boolean> {
  const { status, ownerTaskId, ownerAttempt } = batch;
  if (status !== 'RUNNING' || ownerTaskId === null || ownerTaskId === task.id) return false;
  return isRunUnderWay(tx, ownerTaskId, ownerAttempt ?? 0);
}

/** Names this run in the batch, unless it does already. @throws Failure `RELEASE_BATCH_CANCELLED` */
export async function ownBatch(
  tx: Transaction,
  task: TaskRow,
  { batch }: ReleaseContext,
  progress: ReleaseProgress,
): Promise<void> {
  if (batch.status === 'CANCELLED')
    throw new Failure('RELEASE_BATCH_CANCELLED', `Batch ${batch.id} is cancelled and never runs again`);
  const isOwn =
    batch.status === 'RUNNING' && batch.ownerTaskId === task.id && batch.ownerAttempt === task.runningAttempt;
  if (!isOwn) await startBatch(tx, batch.id, ownerOf(task, progress));
}

export function ownerOf(task: TaskRow, progress: ReleaseProgress): BatchOwner {
  return { taskId: task.id, attempt: task.runningAttempt, worker: task.worker, cursor: progress.cursor };
}

function batchSizeOf({ batchSize }: ReleaseBatch): number {
  return batchSize === null || batchSize <= 0 ? BATCH_SIZE_DEFAULT : batchSize;
}
