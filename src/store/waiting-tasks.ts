/** Statements on tasks that nobody runs: manual runs, stop, resume, cancel (ENG-4, ENG-14). */
import type { StageName } from '../domain/stage.ts';
import { Activation, TaskStatus } from '../domain/task-status.ts';
import type { Sql, SqlValue } from './sql.ts';
import { TASK_COLUMNS, type TaskRow } from './tasks.ts';

/** Of these, what may be run by hand as it stands now (ENG-4): neither ended nor running nor stopped. */
export async function lockTasksToRun(sql: Sql, ids: readonly string[]): Promise<TaskRow[]> {
  if (ids.length === 0) return [];
  return sql.many<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task
      WHERE id IN (?) AND status IN (${TaskStatus.PENDING}, ${TaskStatus.FAILED}) AND activation = ${Activation.ACTIVE}
      ORDER BY id FOR UPDATE`,
    [ids],
  );
}

/** Manual run (ENG-4), of tasks that this transaction has locked: due now, whatever their due time and retry limit. */
export async function markManuallyDue(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.changeExactly(
    ids.length,
    'marking tasks manually due',
    'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3), update_time = NOW(3) WHERE id IN (?)',
    [ids],
  );
}

/** Stops what is not running; a running one is asked by `requestStop` (ENG-14). */
export async function stopIfWaiting(sql: Sql, id: string): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_async_task SET activation = ${Activation.STOPPED}, update_time = NOW(3)
      WHERE id = ? AND status IN (${TaskStatus.PENDING}, ${TaskStatus.FAILED})`,
    [id],
  );
  return hit === 1;
}

export async function resumeIfStopped(sql: Sql, id: string): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_async_task SET activation = ${Activation.ACTIVE}, next_execute_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND activation = ${Activation.STOPPED} AND status IN (${TaskStatus.PENDING}, ${TaskStatus.FAILED})`,
    [id],
  );
  return hit === 1;
}

/** For good, with a reason; only what is not running (ENG-14). */
export async function cancelIfWaiting(sql: Sql, id: string, reason: string): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_async_task
        SET status = ${TaskStatus.CANCELLED}, retry_count = max_retry_count, error_code = 'CANCELLED', error_message = ?,
            finished_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND status IN (${TaskStatus.PENDING}, ${TaskStatus.FAILED})`,
    [reason.slice(0, 1000), id],
  );
  return hit === 1;
}

/** ENG-4: by codes and business keys, a union, in order of id. */
export async function listTasksBySelectors(
  sql: Sql,
  selectors: { codes: readonly string[]; businessKeys: readonly string[]; stage: StageName; limit: number },
): Promise<TaskRow[]> {
  const arms: string[] = [];
  const values: SqlValue[] = [];
  if (selectors.codes.length > 0) {
    arms.push('task_code IN (?)');
    values.push(selectors.codes);
  }
  if (selectors.businessKeys.length > 0) {
    arms.push('business_key IN (?)');
    values.push(selectors.businessKeys);
  }
  if (arms.length === 0) return [];
  return sql.many<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE (${arms.join(' OR ')}) AND stage = ? ORDER BY id LIMIT ${selectors.limit}`,
    [...values, selectors.stage],
  );
}

/** What an automatic run would take now, for a manual run without selectors (ENG-4, LCK-5). */
export async function listDueTasks(sql: Sql, stage: StageName, limit: number): Promise<TaskRow[]> {
  return sql.many<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task FORCE INDEX (idx_task_claim)
      WHERE claimable = 1 AND stage = ? AND next_execute_time <= NOW(3) ORDER BY next_execute_time, retry_count, id LIMIT ${limit}`,
    [stage],
  );
}

/** A partner's tasks at a stage that wait, whatever for; locked. What is in hand is left out: locked means taken. */
export async function lockWaitingTasks(
  sql: Sql,
  where: { stage: StageName; partnerOrgId: string },
): Promise<TaskRow[]> {
  const waiting = `status IN (${TaskStatus.PENDING}, ${TaskStatus.FAILED})`;
  const seen = await sql.many<{ id: string }>(
    `SELECT id FROM fi_async_task FORCE INDEX (idx_task_push)
      WHERE push_id = 0 AND stage = ? AND ${waiting} AND partner_org_id = ?`,
    [where.stage, where.partnerOrgId],
  );
  if (seen.length === 0) return [];
  return sql.many<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE id IN (?) AND ${waiting} ORDER BY id FOR UPDATE SKIP LOCKED`,
    [seen.map((task) => task.id)],
  );
}

/** Of a task that this transaction has just accepted: it waits for a person from the start (DIF-16). */
export async function failNewTask(
  sql: Sql,
  id: string,
  failure: { code: string; message: string },
): Promise<void> {
  await sql.changeExactly(
    1,
    'setting a task aside',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.FAILED}, retry_count = max_retry_count, error_code = ?, error_message = ?, update_time = NOW(3)
      WHERE id = ? AND status = ${TaskStatus.PENDING} AND running_attempt = 0`,
    [failure.code.slice(0, 40), failure.message.slice(0, 1000), id],
  );
}
