/** Stop, resume, cancel (ENG-14): none of them is a failure, each is written down with who asked for it. */
import { Activation, TaskStatus, taskStatusName } from '../domain/task-status.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { removeStopRequests, requestStop } from '../store/stage-control.ts';
import { findTaskByCode, lockTaskByCode, type TaskRow } from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import { cancelIfWaiting, resumeIfStopped, stopIfWaiting } from '../store/waiting-tasks.ts';
import type { Engine } from './engine.ts';

export type SteerOutcome =
  | { readonly kind: 'done' }
  /** The worker holds the task; it stops at its next boundary. */
  | { readonly kind: 'requested' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused'; readonly reason: string };

export interface SteerCommand {
  readonly taskCode: string;
  readonly actor: string;
}

/** Of the audit's column; the task itself keeps more. */
const AUDIT_REASON_MAX = 500;
const ENDED: SteerOutcome = { kind: 'refused', reason: 'The task has ended' };

export async function stopTask(engine: Engine, command: SteerCommand): Promise<SteerOutcome> {
  // A running task's row is locked by its worker: the request is written beside it, without waiting for the row.
  const task = await findTaskByCode(engine.store, command.taskCode);
  if (task === null) return { kind: 'not-found' };
  if (hasEnded(task)) return ENDED;
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const stopped = task.status !== TaskStatus.RUNNING && (await stopIfWaiting(tx, task.id));
    if (!stopped) {
      await requestStop(tx, task.id, command.actor);
      if (await endedMeanwhile(tx, task)) return ENDED;
    }
    await audit(
      tx,
      command,
      'TASK_STOP',
      task,
      stopped ? { activation: 'STOPPED' } : { stopRequested: true },
    );
    return stopped ? { kind: 'done' } : { kind: 'requested' };
  });
}

/** A request must not wait for the next life of a task that has ended (a snapshot task that is asked for again). */
async function endedMeanwhile(tx: Transaction, task: TaskRow): Promise<boolean> {
  const now = await findTaskByCode(tx, task.taskCode);
  if (now === null || !hasEnded(now)) return false;
  await removeStopRequests(tx, [task.id]);
  return true;
}

/** Also withdraws a request that no worker has honoured yet. */
export async function resumeTask(engine: Engine, command: SteerCommand): Promise<SteerOutcome> {
  return steer(engine, command, 'TASK_RESUME', { activation: 'ACTIVE' }, async (tx, task) => {
    const withdrawn = await removeStopRequests(tx, [task.id]);
    const resumed = task.status !== TaskStatus.RUNNING && (await resumeIfStopped(tx, task.id));
    if (!resumed && withdrawn === 0) return { kind: 'refused', reason: 'The task is not stopped' };
    tx.afterCommit(() => engine.wake.kick(task.stage, task.partnerOrgId));
    return { kind: 'done' };
  });
}

export async function cancelTask(
  engine: Engine,
  command: SteerCommand & { reason: string },
): Promise<SteerOutcome> {
  return steer(engine, command, 'TASK_CANCEL', { status: 'CANCELLED' }, async (tx, task) => {
    if (task.status === TaskStatus.RUNNING)
      return { kind: 'refused', reason: 'The task is running; stop it first' };
    if (!(await cancelIfWaiting(tx, task.id, command.reason))) return ENDED;
    await removeStopRequests(tx, [task.id]);
    await engine.handlers.get(task.stage)?.onHalt?.(tx, task, 'CANCELLED', 'CANCELLED');
    return { kind: 'done' };
  });
}

function hasEnded(task: TaskRow): boolean {
  return task.status === TaskStatus.SUCCESS || task.status === TaskStatus.CANCELLED;
}

async function steer(
  engine: Engine,
  command: SteerCommand & { reason?: string },
  action: string,
  after: object,
  change: (tx: Transaction, task: TaskRow) => Promise<SteerOutcome>,
): Promise<SteerOutcome> {
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const task = await lockUnlessRunning(tx, command.taskCode);
    if (task === null) return { kind: 'not-found' };
    const outcome = await change(tx, task);
    if (outcome.kind === 'done') await audit(tx, command, action, task, after);
    return outcome;
  });
}

/** The row of a running task is locked by its worker for as long as it works; nobody waits for that here. */
async function lockUnlessRunning(tx: Transaction, taskCode: string): Promise<TaskRow | null> {
  const seen = await findTaskByCode(tx, taskCode);
  return seen === null || seen.status === TaskStatus.RUNNING ? seen : lockTaskByCode(tx, taskCode);
}

async function audit(
  tx: Transaction,
  command: SteerCommand & { reason?: string },
  action: string,
  before: TaskRow,
  after: object,
): Promise<void> {
  await recordOperation(tx, {
    actor: command.actor,
    action,
    target: command.taskCode,
    before: {
      status: taskStatusName(before.status),
      activation: before.activation === Activation.ACTIVE ? 'ACTIVE' : 'STOPPED',
    },
    after,
    reason: command.reason?.slice(0, AUDIT_REASON_MAX) ?? null,
  });
}
