/** Asking for a station's snapshots (SNP-1): one task per (partner, platform station), counted up by generation. */
import type { Traced } from '../domain/parent-trace.ts';
import type { Sql } from './sql.ts';

export interface SnapshotTaskRow {
  readonly id: string;
  readonly taskCode: string;
  readonly status: number;
  readonly requestGeneration: number;
  readonly taskData: SnapshotTaskData;
}

/** The trace is that of whoever asked last. */
export interface SnapshotTaskData extends Traced {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly months: readonly string[];
  readonly mode: 'EXISTING_ONLY_REFRESH' | 'CREATE';
  /** Of these months a missing row is made; the others are only refreshed (SNP-3). */
  readonly createMonths?: readonly string[];
  readonly source: string;
}

/**
 * The caller holds the stations' guards, so no other request can come in between. By the codes' key, said to the optimizer:
 * on statistics from when the table was small it reads all tasks instead, and waits for every one that is at work.
 */
export async function lockSnapshotTasks(sql: Sql, codes: readonly string[]): Promise<SnapshotTaskRow[]> {
  if (codes.length === 0) return [];
  return sql.many<SnapshotTaskRow>(
    `SELECT id, task_code taskCode, status, request_generation requestGeneration, task_data taskData
       FROM fi_async_task FORCE INDEX (uk_task_code_business) WHERE task_code IN (?) ORDER BY id FOR UPDATE`,
    [codes],
  );
}

/**
 * One generation more and these months; PENDING with retry 0, no error, due now, unless RUNNING, which is left running
 * and will find that it was asked again (SNP-2); the crashes of that run do not count against the newer request. A
 * cancelled one is never revived here.
 */
export async function renewSnapshotTasks(
  sql: Sql,
  requests: readonly { readonly id: string; readonly data: SnapshotTaskData }[],
): Promise<void> {
  if (requests.length === 0) return;
  await sql.changeExactly(
    requests.length,
    'asking for snapshots again',
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT UNSIGNED PATH '$[0]', task_data JSON PATH '$[1]')) v
       STRAIGHT_JOIN fi_async_task t ON t.id = v.id
        SET t.request_generation = t.request_generation + 1, t.task_data = v.task_data,
            t.retry_count = IF(t.status = 1, t.retry_count, 0), t.crash_count = 0,
            t.claims_without_progress = IF(t.status = 1, t.claims_without_progress, 0),
            t.error_code = IF(t.status = 1, t.error_code, NULL), t.error_message = IF(t.status = 1, t.error_message, NULL),
            t.next_execute_time = IF(t.status = 1, t.next_execute_time, NOW(3)),
            t.status = IF(t.status = 1, 1, 0), t.update_time = NOW(3)
      WHERE t.status <> 4`,
    [JSON.stringify(requests.map((request) => [request.id, request.data]))],
  );
}

/**
 * SNP-2, of a run that broke: if it was asked again meanwhile, the newer request begins with all its tries.
 * @returns whether it was
 */
export async function resetTriesIfRenewed(
  sql: Sql,
  run: { readonly id: string; readonly runningAttempt: number; readonly requestGeneration: number },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_async_task SET retry_count = 0, update_time = NOW(3)
      WHERE id = ? AND status = 1 AND running_attempt = ? AND request_generation > ?`,
    [run.id, run.runningAttempt, run.requestGeneration],
  );
  return hit === 1;
}
