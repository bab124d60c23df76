/**
 * Work that broke with one task alone: how that ends, by the same attempt, in another transaction than the work (ENG-13).
 * Whether it may be tried again is a property of the failure, when is one of the task's type, and the business may have a
 * word of its own (ACC-10).
 */
import { routeOf } from '../../queues/route.ts';
import { parentTraceOf } from '../domain/parent-trace.ts';
import { BusyError, Failure, FencedOutError, toFailure } from '../errors.ts';
import { lockRunningTasks } from '../store/running-tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask, Ending, Endings, StageHandler } from './stage-handler.ts';

/** When work that found a lease or guard busy is due again. */
export const BUSY_DUE_IN_MS = 500;

export interface BrokenWork {
  readonly thrown: unknown;
  /** Why what the business wants done about it could not be done either; null at the first try. */
  readonly notRecorded: unknown;
}

/** @throws FencedOutError where a task is not ours any more */
export async function endingsOfBrokenWork(
  handler: StageHandler,
  tx: Transaction,
  tasks: readonly ClaimedTask[],
  broken: BrokenWork,
): Promise<Endings> {
  const endings = new Map<string, Ending>();
  const locked = await lockRunningTasks(tx, tasks);
  if (locked.length < tasks.length)
    throw new FencedOutError(`a task at ${handler.stage}, on recording that its work broke`);
  for (const task of tasks) endings.set(task.id, await endingOf(handler, tx, task, broken));
  return endings;
}

async function endingOf(
  handler: StageHandler,
  tx: Transaction,
  task: ClaimedTask,
  { thrown, notRecorded }: BrokenWork,
): Promise<Ending> {
  if (notRecorded !== null) return putOff(task, notRecorded);
  if (thrown instanceof BusyError) return { kind: 'postponed', dueInMs: BUSY_DUE_IN_MS, busy: true };
  const failure = toFailure(thrown);
  return handler.onFailure === undefined ? { kind: 'failed', failure } : handler.onFailure(tx, task, failure);
}

/**
 * The failure itself cannot be recorded as the business wants it (a fault of ours). The task waits as long as its type
 * ever waits, uncounted, with the reason shown: it neither runs hot, nor holds up its neighbours, nor ends half recorded.
 */
function putOff(task: ClaimedTask, notRecorded: unknown): Ending {
  const { message } = toFailure(notRecorded);
  return {
    kind: 'postponed',
    dueInMs: routeOf(task.stage).backOff(task.maxRetryCount, Math.random()),
    error: { code: 'NOT_RECORDED', message: `Its failure could not be recorded: ${message}` },
  };
}

/** What the business knows (a locked month, a busy guard) is in the task row; only the unexpected is reported. */
export function tellTrouble(engine: Engine, tasks: readonly ClaimedTask[], thrown: unknown): void {
  if (thrown instanceof BusyError || (thrown instanceof Failure && thrown.reach !== 'platform')) return;
  for (const { stage, taskCode, taskData } of tasks)
    engine.observer.trouble(`${stage} ${taskCode}`, thrown, parentTraceOf(taskData));
}
