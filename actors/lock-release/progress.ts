/** How far a release has come: the task's own, durable, kept in its `result` (LCK-16). */
import type { TaskRow } from '../../src/store/tasks.ts';

export interface ReleaseProgress {
  /** The last lock id that was looked at; '0' before the first. */
  readonly cursor: string;
  /** Locks really released, and the transactions that it took. */
  readonly releasedCount: number;
  readonly batchCount: number;
}

export const NOT_STARTED: ReleaseProgress = { cursor: '0', releasedCount: 0, batchCount: 0 };

export function progressOf(task: TaskRow): ReleaseProgress {
  return (task.result as ReleaseProgress | null) ?? NOT_STARTED;
}

export function afterBatch(before: ReleaseProgress, cursor: string, released: number): ReleaseProgress {
  return { cursor, releasedCount: before.releasedCount + released, batchCount: before.batchCount + 1 };
}

/** Something was left behind the cursor: the next attempt looks from the start, and goes on counting. */
export function fromTheStart(progress: ReleaseProgress): ReleaseProgress {
  return { ...progress, cursor: NOT_STARTED.cursor };
}

export function countsText({ releasedCount, batchCount }: ReleaseProgress): string {
  return `${releasedCount} locks released in ${batchCount} batches`;
}
