/**
 * Claiming (ENG-8): due tasks of the slot's partner and stage, in a batch, by primary key, with the attempt counted up.
 * A task whose process has died before is claimed alone: claimed together, one killer takes the innocent with it (ENG-11).
 */
import { routeOf } from '../../queues/route.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { RowCountError, toFailure } from '../errors.ts';
import { isDatabaseAway } from '../store/database-away.ts';
import { type DueTask, lockDueTasks, markRunning, putOffUnclaimed } from '../store/running-tasks.ts';
import { extendSlotIfHeld, type SlotRight } from '../store/slots.ts';
import { isConflict, type Transaction } from '../store/transaction.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask } from './stage-handler.ts';

export interface Claim {
  readonly tasks: readonly ClaimedTask[];
  /** More was due than was taken: another slot may help, and this one must not be given up without a successor. */
  readonly full: boolean;
}

/** No claim was made: whether more is due is not known, so a successor must be queued. */
export const NOT_ASKED: Claim = { tasks: [], full: true };

/** When more tasks than this cannot be claimed, it is not about them: a right that is missing, a disk that is full. */
const REFUSED_MAX = 10;

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
  const { stage, partnerOrgId } = right;
  const refused: string[] = [];
  let due: readonly DueTask[];
  let chosen: readonly DueTask[];
  let claimed: readonly DueTask[];
  do {
    due = await lockDueTasks(tx, { stage, partnerOrgId, limit, except: refused });
    chosen = untilFirstSuspect(due);
    claimed = await markAllRunning(engine, tx, right, chosen, refused);
  } while (claimed.length === 0 && chosen.length > 0);
  if (claimed.length > 0) {
    const waitedMs = claimed.map((task) => Number(task.waitedUs) / 1000);
    tx.afterCommit(() => engine.observer.claimed(stage, waitedMs.length, waitedMs));
  }
  const ids = claimed.map((task) => task.id);
  await extendSlotIfHeld(tx, right, engine.limits.slotLeaseMs, ids);
  return {
    tasks: claimed.map((task) => asClaimed(task, right)),
    full: due.length === limit || chosen.length < due.length,
  };
}

/** One statement for all; where the database refuses that, one by one, so that an error concerns its own task (LCK-25). */
async function markAllRunning(
  engine: Engine,
  tx: Transaction,
  right: SlotRight,
  tasks: readonly DueTask[],
  refused: string[],
): Promise<readonly DueTask[]> {
  if (tasks.length === 0) return [];
  const holder = { slotNo: right.slotNo, fence: right.fence, worker: right.holder };
  try {
    await markRunning(
      tx,
      tasks.map((task) => task.id),
      holder,
    );
    return tasks;
  } catch (error) {
    if (!isAboutRows(error)) throw error;
    if (tasks.length === 1) return setAside(engine, tx, tasks[0]!, refused, error);
  }
  const marked: DueTask[] = [];
  for (const task of tasks) marked.push(...(await markAllRunning(engine, tx, right, [task], refused)));
  return marked;
}

/** A statement that was refused is undone by itself, and its transaction may go on; after these it may not, or never ran. */
function isAboutRows(error: unknown): boolean {
  return !isConflict(error) && !isDatabaseAway(error) && !(error instanceof RowCountError);
}

/**
 * Nothing was begun, so nothing is counted: the task waits as long as its type ever waits, with the reason shown. If even
 * that is refused, it is passed over by this claim and found again by the next. @returns none
 */
async function setAside(
  engine: Engine,
  tx: Transaction,
  task: DueTask,
  refused: string[],
  error: unknown,
): Promise<readonly DueTask[]> {
  refused.push(task.id);
  if (refused.length > REFUSED_MAX) throw error;
  const wait = {
    dueInMs: routeOf(task.stage).backOff(task.maxRetryCount, Math.random()),
    message: `It could not be claimed: ${toFailure(error).message}`,
  };
  await putOffUnclaimed(tx, task.id, wait).catch((again) => {
    if (!isAboutRows(again)) throw again;
  });
  tx.afterCommit(() => engine.observer.trouble(`claiming ${task.taskCode}`, error));
  return [];
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
