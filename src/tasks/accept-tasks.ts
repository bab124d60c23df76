/**
 * Accept-or-reuse (ENG-3): a task is written in the transaction of the fact that makes it necessary (ENG-2).
 * The same code twice is the same task, returned as it is; the same code for other work is a broken promise.
 */
import { Failure } from '../errors.ts';
import { insertTasksIfAbsent, listTaskIdentities, type TaskIdentity, type TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';

const CHUNK_SIZE_MAX = 500;

/**
 * @returns the tasks in the order of their seeds, new or as they stand.
 * @throws Failure `TASK_IDENTITY_CONFLICT` if a code exists with another type or business key.
 */
export async function acceptTasks(tx: Transaction, seeds: readonly TaskSeed[]): Promise<TaskIdentity[]> {
  const accepted: TaskIdentity[] = [];
  for (let from = 0; from < seeds.length; from += CHUNK_SIZE_MAX) {
    const chunk = seeds.slice(from, from + CHUNK_SIZE_MAX);
    await insertTasksIfAbsent(tx, chunk);
    const byCode = new Map(
      (
        await listTaskIdentities(
          tx,
          chunk.map((seed) => seed.taskCode),
        )
      ).map((task) => [task.taskCode, task]),
    );
    for (const seed of chunk) accepted.push(sameWork(seed, byCode.get(seed.taskCode)));
  }
  return accepted;
}

function sameWork(seed: TaskSeed, found: TaskIdentity | undefined): TaskIdentity {
  if (found !== undefined && found.taskType === seed.taskType && found.businessKey === seed.businessKey)
    return found;
  throw new Failure('TASK_IDENTITY_CONFLICT', `Task ${seed.taskCode} exists for other work`, {
    retryable: false,
    fields: { taskCode: seed.taskCode, wanted: seed.businessKey, found: found?.businessKey ?? null },
  });
}
