/** Pauses of stages and partners, and requests to stop a task (ENG-14). They live in MySQL, so an emptied Redis forgets none. */
import type { StageName } from '../domain/stage.ts';
import { TaskStatus } from '../domain/task-status.ts';
import type { Sql } from './sql.ts';

export async function setStagePaused(
  sql: Sql,
  stage: StageName,
  paused: boolean,
  actor: string,
): Promise<void> {
  await sql.change(
    `INSERT INTO stage_control (stage, paused, updated_by, update_time) VALUES (?, ?, ?, NOW(3))
     ON DUPLICATE KEY UPDATE paused = VALUES(paused), updated_by = VALUES(updated_by), update_time = NOW(3)`,
    [stage, paused ? 1 : 0, actor],
  );
}

/** Asked for twice is asked for once. */
export async function requestStop(sql: Sql, taskId: string, actor: string): Promise<void> {
  await sql.change(
    `INSERT INTO task_stop_request (task_id, requested_by) VALUES (?, ?) ON DUPLICATE KEY UPDATE task_id = task_id`,
    [taskId, actor],
  );
}

export async function listStopRequests(sql: Sql, taskIds: readonly string[]): Promise<Set<string>> {
  if (taskIds.length === 0) return new Set();
  const rows = await sql.many<{ taskId: string }>(
    'SELECT task_id taskId FROM task_stop_request WHERE task_id IN (?)',
    [taskIds],
  );
  return new Set(rows.map((row) => row.taskId));
}

/** @returns how many there were */
export async function removeStopRequests(sql: Sql, taskIds: readonly string[]): Promise<number> {
  if (taskIds.length === 0) return 0;
  return sql.change('DELETE FROM task_stop_request WHERE task_id IN (?)', [taskIds]);
}

const STALE_REQUESTS_MAX = 100;

/** Requests that came too late for a task that has ended: nobody will honour them (the scan calls this). */
export async function removeStaleStopRequests(sql: Sql): Promise<number> {
  const stale = await sql.many<{ taskId: string }>(
    `SELECT r.task_id taskId FROM task_stop_request r JOIN fi_async_task t ON t.id = r.task_id
      WHERE t.status IN (${TaskStatus.SUCCESS}, ${TaskStatus.CANCELLED}) LIMIT ${STALE_REQUESTS_MAX}`,
  );
  return removeStopRequests(
    sql,
    stale.map((row) => row.taskId),
  );
}
