/** Stop, resume, cancel (ENG-14): none of them is a failure, each is written down with who asked for it. */
import { TaskStatus } from '../domain/task-status.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { requestStop } from '../store/stage-control.ts';
import {
  cancelIfWaiting,
  findTaskByCode,
  lockTaskByCode,
  resumeIfStopped,
  stopIfWaiting,
  type TaskRow,
} from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
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

export async function stopTask(engine: Engine, command: SteerCommand): Promise<SteerOutcome> {
  // A running task's row is locked by its worker: the request is written beside it, without waiting for the row.
  const task = await findTaskByCode(engine.store, command.taskCode);
  if (task === null) return { kind: 'not-found' };
  if (task.status === TaskStatus.SUCCESS || task.status === TaskStatus.CANCELLED) {
    return { kind: 'refused', reason: 'The task has ended' };
  }
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await audit(tx, command, 'TASK_STOP');
    if (task.status !== TaskStatus.RUNNING && (await stopIfWaiting(tx, task.id))) return { kind: 'done' };
    await requestStop(tx, task.id, command.actor);
    return { kind: 'requested' };
  });
}

export async function resumeTask(engine: Engine, command: SteerCommand): Promise<SteerOutcome> {
  return steer(engine, command, 'TASK_RESUME', async (tx, task) => {
    if (!(await resumeIfStopped(tx, task.id))) return { kind: 'refused', reason: 'The task is not stopped' };
    tx.afterCommit(() => engine.wake.kick(task.stage, task.partnerOrgId));
    return { kind: 'done' };
  });
}

export async function cancelTask(
  engine: Engine,
  command: SteerCommand & { reason: string },
): Promise<SteerOutcome> {
  return steer(engine, command, 'TASK_CANCEL', async (tx, task) => {
    if (task.status === TaskStatus.RUNNING)
      return { kind: 'refused', reason: 'The task is running; stop it first' };
    if (!(await cancelIfWaiting(tx, task.id, command.reason)))
      return { kind: 'refused', reason: 'The task has ended' };
    await engine.handlers.get(task.stage)?.onHalt?.(tx, task, 'CANCELLED', 'CANCELLED');
    return { kind: 'done' };
  });
}

async function steer(
  engine: Engine,
  command: SteerCommand & { reason?: string },
  action: string,
  change: (tx: Transaction, task: TaskRow) => Promise<SteerOutcome>,
): Promise<SteerOutcome> {
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const task = await lockTaskByCode(tx, command.taskCode);
    if (task === null) return { kind: 'not-found' };
    const outcome = await change(tx, task);
    if (outcome.kind === 'done') await audit(tx, command, action, task);
    return outcome;
  });
}

async function audit(
  tx: Transaction,
  command: SteerCommand & { reason?: string },
  action: string,
  before?: TaskRow,
): Promise<void> {
  await recordOperation(tx, {
    actor: command.actor,
    action,
    target: command.taskCode,
    before: before === undefined ? null : { status: before.status, activation: before.activation },
    after: null,
    reason: command.reason ?? null,
  });
}
