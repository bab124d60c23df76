/**
 * Claiming (ENG-8): due tasks of the slot's partner and stage, in a batch, by primary key, with the attempt counted up.
 * A task whose process has died before is claimed alone: claimed together, one killer takes the innocent with it (ENG-11).
 */
import { TaskStatus } from '../domain/task-status.ts';
import { extendSlotIfHeld, type SlotRight } from '../store/slots.ts';
import { type DueTask, lockDueTasks, markRunning } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask } from './stage-handler.ts';

export interface Claim {
  readonly tasks: readonly ClaimedTask[];
  /** More was due than was taken: another slot may help, and this one must not be given up without a successor. */
  readonly full: boolean;
}

/** No claim was made: whether more is due is not known, so a successor must be queued. */
export const NOT_ASKED: Claim = { tasks: [], full: true };

/**
 * The caller's transaction holds the slot row. Claims, names the batch in the slot, and moves its lease on, as the
 * transaction's last writes.
 */
export async function claimTasks(
  engine: Engine,
  tx: Transaction,
  right: SlotRight,
  limit: number,
): Promise<Claim> {
  const due = await lockDueTasks(tx, { stage: right.stage, partnerOrgId: right.partnerOrgId, limit });
  const chosen = untilFirstSuspect(due);
  if (chosen.length > 0) {
    await markRunning(
      tx,
      chosen.map((task) => task.id),
      { slotNo: right.slotNo, fence: right.fence, worker: right.holder },
    );
    const waitedMs = chosen.map((task) => Number(task.waitedUs) / 1000);
    tx.afterCommit(() => engine.observer.claimed(right.stage, chosen.length, waitedMs));
  }
  await extendSlotIfHeld(
    tx,
    right,
    engine.limits.slotLeaseMs,
    chosen.map((task) => task.id),
  );
  return {
    tasks: chosen.map((task) => asClaimed(task, right)),
    full: due.length === limit || chosen.length < due.length,
  };
}

/** ENG-11: a suspect at the head stands alone; else all before the first suspect. */
function untilFirstSuspect(due: readonly DueTask[]): readonly DueTask[] {
  const suspectAt = due.findIndex((task) => task.crashCount > 0);
  if (suspectAt === 0) return due.slice(0, 1);
  return suspectAt > 0 ? due.slice(0, suspectAt) : due;
}

function asClaimed(task: DueTask, right: SlotRight): ClaimedTask {
  return {
    ...task,
    status: TaskStatus.RUNNING,
    runningAttempt: task.runningAttempt + 1,
    slotNo: right.slotNo,
    slotFence: right.fence,
    worker: right.holder,
    errorCode: null,
    errorMessage: null,
  };
}
