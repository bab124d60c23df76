/** Tasks as rows of `fi_async_task`: accepting, finding. What runs, what a slot holds and what waits have files of their own. */
import type { StageName } from '../domain/stage.ts';
import { hitsUniqueKey } from './duplicate-key.ts';
import type { Sql, SqlValue } from './sql.ts';

/** A task to be accepted (ENG-3). */
export interface TaskSeed {
  readonly stage: StageName;
  readonly taskType: string;
  /** Unique over all tasks, at most 160 characters. */
  readonly taskCode: string;
  readonly businessKey: string;
  readonly data: object;
  /** '0' where the work belongs to no partner. */
  readonly partnerOrgId: string;
  /** '0' where the work comes from no push. */
  readonly pushId: string;
  readonly maxRetryCount: number;
}

/** A task as it stands. Instants are the database's, as text in UTC. */
export interface TaskRow {
  readonly id: string;
  readonly taskType: string;
  readonly taskCode: string;
  readonly businessKey: string;
  readonly taskData: unknown;
  readonly status: number;
  readonly finalResult: string | null;
  readonly activation: number;
  readonly retryCount: number;
  readonly maxRetryCount: number;
  readonly nextExecuteTime: string;
  readonly runningAttempt: number;
  readonly requestGeneration: number;
  readonly crashCount: number;
  readonly stage: StageName;
  readonly partnerOrgId: string;
  readonly pushId: string;
  readonly slotNo: number | null;
  readonly slotFence: string | null;
  readonly worker: string | null;
  readonly manuallyDue: number;
  readonly busySince: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly result: unknown;
  readonly startedTime: string | null;
  readonly finishedTime: string | null;
  readonly createTime: string;
  readonly updateTime: string;
}

export const TASK_COLUMNS = `id, task_type taskType, task_code taskCode, business_key businessKey, task_data taskData, status,
  final_result finalResult, activation, retry_count retryCount, max_retry_count maxRetryCount,
  next_execute_time nextExecuteTime, running_attempt runningAttempt, request_generation requestGeneration,
  crash_count crashCount, stage, partner_org_id partnerOrgId, push_id pushId, slot_no slotNo, slot_fence slotFence,
  worker, manually_due manuallyDue, busy_since busySince, error_code errorCode, error_message errorMessage, result,
  started_time startedTime, finished_time finishedTime, create_time createTime, update_time updateTime`;

/**
 * ENG-3: `ON DUPLICATE KEY UPDATE`, not INSERT IGNORE, which hides other errors and makes two acceptors deadlock. Not
 * `id = id`: a statement with new and known codes together then fails on its own generated ids.
 */
export async function insertTasksIfAbsent(sql: Sql, seeds: readonly TaskSeed[]): Promise<void> {
  if (seeds.length === 0) return;
  const rows: SqlValue[] = seeds.map((seed) => [
    seed.taskType,
    seed.taskCode,
    seed.businessKey,
    JSON.stringify(seed.data),
    seed.maxRetryCount,
    seed.stage,
    seed.partnerOrgId,
    seed.pushId,
  ]);
  const tuple = '(?, ?, ?, ?, ?, ?, ?, ?, NOW(3))';
  await sql.change(
    `INSERT INTO fi_async_task
       (task_type, task_code, business_key, task_data, max_retry_count, stage, partner_org_id, push_id, next_execute_time)
     VALUES ${rows.map(() => tuple).join(', ')}
     ON DUPLICATE KEY UPDATE task_code = fi_async_task.task_code`,
    (rows as SqlValue[][]).flat(),
  );
}

/** For work that is always new: a code that is taken is nobody's business but the caller's. @returns its id, or null */
export async function insertTaskIfNew(sql: Sql, seed: TaskSeed): Promise<string | null> {
  let id: string | null = null;
  await hitsUniqueKey(async () => {
    id = await sql.insert(
      `INSERT INTO fi_async_task
         (task_type, task_code, business_key, task_data, max_retry_count, stage, partner_org_id, push_id, next_execute_time)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, NOW(3))`,
      [
        seed.taskType,
        seed.taskCode,
        seed.businessKey,
        JSON.stringify(seed.data),
        seed.maxRetryCount,
        seed.stage,
        seed.partnerOrgId,
        seed.pushId,
      ],
    );
  });
  return id;
}

export interface TaskIdentity {
  readonly id: string;
  readonly taskCode: string;
  readonly taskType: string;
  readonly businessKey: string;
  readonly status: number;
}

export async function listTaskIdentities(sql: Sql, codes: readonly string[]): Promise<TaskIdentity[]> {
  if (codes.length === 0) return [];
  return sql.many<TaskIdentity>(
    `SELECT id, task_code taskCode, task_type taskType, business_key businessKey, status
       FROM fi_async_task WHERE task_code IN (?)`,
    [codes],
  );
}

export async function findTaskByCode(sql: Sql, code: string): Promise<TaskRow | null> {
  return sql.maybeOne<TaskRow>(`SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE task_code = ?`, [code]);
}

export async function listTasksById(sql: Sql, ids: readonly string[]): Promise<TaskRow[]> {
  if (ids.length === 0) return [];
  return sql.many<TaskRow>(`SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE id IN (?) ORDER BY id`, [ids]);
}

export async function lockTaskByCode(sql: Sql, code: string): Promise<TaskRow | null> {
  return sql.maybeOne<TaskRow>(`SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE task_code = ? FOR UPDATE`, [
    code,
  ]);
}
