/** Terminal writes (ENG-10): each names task, attempt and status, and hits exactly the rows expected, or nothing is written. */
import { routeOf } from '../../queues/route.ts';
import { assert, type Failure } from '../errors.ts';
import type { TaskEndLabel } from '../metrics/observer.ts';
import {
  cancelIfRunning,
  failIfRunning,
  finishIfRunning,
  finishOrRenew,
  handBackIfRunning,
} from '../store/running-tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask, Ending, Endings } from './stage-handler.ts';

/** How many tasks ended how, for the observer, once the transaction has committed. */
export type EndCounts = Map<TaskEndLabel, number>;

export function countEnds(counts: EndCounts, label: TaskEndLabel, tasks: number): void {
  counts.set(label, (counts.get(label) ?? 0) + tasks);
}

export async function writeEndings(
  engine: Engine,
  tx: Transaction,
  tasks: readonly ClaimedTask[],
  endings: Endings,
  counts: EndCounts,
): Promise<void> {
  for (const [ending, group] of groupByEnding(tasks, endings)) {
    if (ending.kind === 'failed') await writeFailures(engine, tx, group, ending.failure, counts);
    else countEnds(counts, await writeEnding(engine, tx, group, ending), group.length);
  }
}

async function writeEnding(
  engine: Engine,
  tx: Transaction,
  tasks: readonly ClaimedTask[],
  ending: Exclude<Ending, { kind: 'failed' }>,
): Promise<TaskEndLabel> {
  switch (ending.kind) {
    case 'succeeded':
      await finishIfRunning(tx, tasks, {
        finalResult: ending.finalResult,
        result: ending.result ?? null,
        summary: ending.summary ?? null,
      });
      return 'succeeded';
    case 'succeeded-unless-renewed':
      await finishOrRenew(tx, tasks, { finalResult: 'FULL_SUCCESS', result: ending.result ?? null });
      return 'succeeded';
    case 'postponed':
      await handBackIfRunning(tx, tasks, ending);
      return 'postponed';
    case 'continues':
      return 'continued';
    case 'cancelled':
      for (const task of tasks) {
        await cancelIfRunning(tx, task, ending);
        await engine.handlers.get(task.stage)?.onHalt?.(tx, task, 'CANCELLED', ending.code);
      }
      return 'cancelled';
  }
}

async function writeFailures(
  engine: Engine,
  tx: Transaction,
  tasks: readonly ClaimedTask[],
  failure: Failure,
  counts: EndCounts,
): Promise<void> {
  for (const task of tasks) {
    const retryCount = task.retryCount + 1;
    const dueInMs = routeOf(task.stage).backOff(retryCount, Math.random());
    await failIfRunning(tx, task, {
      code: failure.code,
      message: failure.message,
      retryable: failure.retryable,
      dueInMs,
    });
    const forGood = !failure.retryable || retryCount >= task.maxRetryCount;
    countEnds(counts, forGood ? 'failed-for-good' : 'failed', 1);
    if (forGood) await engine.handlers.get(task.stage)?.onHalt?.(tx, task, 'FAILED', failure.code);
  }
}

/** Equal endings of many tasks are one write: one group per ending object; a success without result joins its like. */
function groupByEnding(tasks: readonly ClaimedTask[], endings: Endings): Map<Ending, ClaimedTask[]> {
  const representative = new Map<string, Ending>();
  const groups = new Map<Ending, ClaimedTask[]>();
  for (const task of tasks) {
    const ending = endings.get(task.id);
    assert(ending !== undefined, `the handler returned no ending for task ${task.taskCode}`);
    const key = ending.kind === 'failed' ? null : JSON.stringify(ending);
    const shared = key === null ? ending : (representative.get(key) ?? ending);
    if (key !== null) representative.set(key, shared);
    const group = groups.get(shared);
    if (group === undefined) groups.set(shared, [task]);
    else group.push(task);
  }
  return groups;
}
