/**
 * Accept-or-reuse (ENG-3): a task is written in the transaction of the fact that makes it necessary (ENG-2).
 * The same code twice is the same task, returned as it is; the same code for other work is a broken promise.
 */
import { Failure } from '../errors.ts';
import { insertTasksIfAbsent, listTaskIdentities, type TaskIdentity, type TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';

const CHUNK_SIZE_MAX = 500;

/**
 * Inserts in the order of the codes, so that acceptors of the same tasks queue for each other (ENG-17).
 * @returns the tasks in the order of their seeds, new or as they stand.
 * @throws Failure `TASK_IDENTITY_CONFLICT` if a code exists with another type or business key.
 */
export async function acceptTasks(tx: Transaction, seeds: readonly TaskSeed[]): Promise<TaskIdentity[]> {
  const distinct = new Map(seeds.map((seed) => [seed.taskCode, seed]));
  const codes = [...distinct.keys()].sort();
  const found = new Map<string, TaskIdentity>();
  for (let from = 0; from < codes.length; from += CHUNK_SIZE_MAX) {
    const chunk = codes.slice(from, from + CHUNK_SIZE_MAX);
    await insertTasksIfAbsent(
      tx,
      chunk.map((code) => distinct.get(code)!),
    );
    for (const task of await listTaskIdentities(tx, chunk)) found.set(task.taskCode, task);
  }
  return seeds.map((seed) => sameWork(seed, found.get(seed.taskCode)));
}

function sameWork(seed: TaskSeed, found: TaskIdentity | undefined): TaskIdentity {
  if (found !== undefined && found.taskType === seed.taskType && found.businessKey === seed.businessKey)
    return found;
  throw new Failure('TASK_IDENTITY_CONFLICT', `Task ${seed.taskCode} exists for other work`, {
    retryable: false,
    fields: { taskCode: seed.taskCode, wanted: seed.businessKey, found: found?.businessKey ?? null },
  });
}
