/** Statements on tasks from their claim to their end: who runs them is in every condition (ENG-8, ENG-10, ENG-13). */
import type { StageName } from '../domain/stage.ts';
import { Activation, TaskStatus } from '../domain/task-status.ts';
import type { Sql, SqlValue } from './sql.ts';
import { TASK_COLUMNS, type TaskRow } from './tasks.ts';

/** A due task with how long it has been due, in microseconds by the database's clock. */
export type DueTask = TaskRow & { readonly waitedUs: string };

/**
 * ENG-8: the due tasks of one partner at one stage, locked, in the order of the claiming index; rows that another
 * transaction holds are passed over, and a pause of stage or partner leaves none (ENG-14). `NOW(3)`, since `SYSDATE`
 * would defeat the index.
 */
export async function lockDueTasks(
  sql: Sql,
  where: { stage: StageName; partnerOrgId: string; limit: number; except?: readonly string[] },
): Promise<DueTask[]> {
  const except = where.except ?? [];
  return sql.many<DueTask>(
    `SELECT ${TASK_COLUMNS}, TIMESTAMPDIFF(MICROSECOND, next_execute_time, NOW(3)) waitedUs
       FROM fi_async_task FORCE INDEX (idx_task_claim)
      WHERE claimable = 1 AND stage = ? AND partner_org_id = ? AND next_execute_time <= NOW(3)
        AND (SELECT COUNT(*) FROM stage_control c WHERE c.stage = ? AND c.paused = 1) = 0
        AND (SELECT COUNT(*) FROM partner p WHERE p.partner_org_id = ? AND p.paused = 1) = 0
        ${except.length === 0 ? '' : 'AND id NOT IN (?)'}
      ORDER BY next_execute_time, retry_count, id LIMIT ${where.limit} FOR UPDATE SKIP LOCKED`,
    [
      where.stage,
      where.partnerOrgId,
      where.stage,
      where.partnerOrgId,
      ...(except.length === 0 ? [] : [except]),
    ],
  );
}

/** ENG-8: by primary key, of tasks that this transaction has locked. */
export async function markRunning(
  sql: Sql,
  ids: readonly string[],
  holder: { slotNo: number; fence: string; worker: string },
): Promise<void> {
  await sql.changeExactly(
    ids.length,
    'claiming tasks',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.RUNNING}, running_attempt = running_attempt + 1,
            claims_without_progress = claims_without_progress + 1, slot_no = ?, slot_fence = ?, worker = ?,
            error_code = NULL, error_message = NULL,
            started_time = NOW(3), update_time = NOW(3)
      WHERE id IN (?)`,
    [holder.slotNo, holder.fence, holder.worker, ids],
  );
}

/** Of a task that this transaction has locked and could not claim (LCK-25): due later, with the reason, nothing counted. */
export async function putOffUnclaimed(
  sql: Sql,
  id: string,
  wait: { readonly dueInMs: number; readonly message: string },
): Promise<void> {
  await sql.changeExactly(
    1,
    'putting off a task that could not be claimed',
    `UPDATE fi_async_task
        SET error_code = 'NOT_CLAIMED', error_message = ?, next_execute_time = NOW(3) + INTERVAL ? MICROSECOND,
            update_time = NOW(3)
      WHERE id = ?`,
    [wait.message.slice(0, 1000), wait.dueInMs * 1000, id],
  );
}

/** Names the task and the run of it that may write (ENG-10). */
export interface TaskRun {
  readonly id: string;
  readonly runningAttempt: number;
}

/** `id IN (…) AND status = RUNNING AND running_attempt = its own`: the condition of every terminal write. */
function runningAs(runs: readonly TaskRun[]): { condition: string; values: SqlValue[] } {
  const sorted = [...runs].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const attempts = new Set(sorted.map((run) => run.runningAttempt));
  const ids = sorted.map((run) => run.id);
  if (attempts.size === 1) {
    return {
      condition: `id IN (?) AND status = ${TaskStatus.RUNNING} AND running_attempt = ?`,
      values: [ids, sorted[0]!.runningAttempt],
    };
  }
  const arms = sorted.map(() => 'WHEN ? THEN ?').join(' ');
  return {
    condition: `id IN (?) AND status = ${TaskStatus.RUNNING} AND running_attempt = CASE id ${arms} END`,
    values: [ids, ...sorted.flatMap((run) => [run.id, run.runningAttempt])],
  };
}

/** Locks the rows of these runs; fewer than asked for means that the right to some was lost (LCK-10, ACC-3). */
export async function lockRunningTasks(sql: Sql, runs: readonly TaskRun[]): Promise<TaskRow[]> {
  const { condition, values } = runningAs(runs);
  return sql.many<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE ${condition} ORDER BY id FOR UPDATE`,
    values,
  );
}

/** ACC-2: the task with everything that its run was claimed with; null where any of it is other by now. */
export async function lockTaskInHand(sql: Sql, task: TaskRow): Promise<TaskRow | null> {
  return sql.maybeOne<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM fi_async_task
      WHERE id = ? AND del_flag = 0 AND task_type = ? AND task_code = ? AND status = ${TaskStatus.RUNNING} AND worker = ?
        AND running_attempt = ? AND stage = ? AND partner_org_id = ? AND slot_no = ? AND slot_fence = ? FOR UPDATE`,
    [
      task.id,
      task.taskType,
      task.taskCode,
      task.worker,
      task.runningAttempt,
      task.stage,
      task.partnerOrgId,
      task.slotNo,
      task.slotFence,
    ],
  );
}

/** What a run that went well leaves behind: nobody asks for it by hand any more, and its process has not died of it. */
const AT_REST =
  'busy_since = NULL, manually_due = 0, crash_count = 0, claims_without_progress = 0, error_code = NULL';

export async function finishIfRunning(
  sql: Sql,
  runs: readonly TaskRun[],
  end: { finalResult: string; result: object | null; summary?: string | null },
): Promise<void> {
  const { condition, values } = runningAs(runs);
  await sql.changeExactly(
    runs.length,
    'finishing tasks',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.SUCCESS}, final_result = ?, result = ?, ${AT_REST}, error_message = ?,
            finished_time = NOW(3), update_time = NOW(3)
      WHERE ${condition}`,
    [
      end.finalResult,
      end.result === null ? null : JSON.stringify(end.result),
      end.summary?.slice(0, 1000) ?? null,
      ...values,
    ],
  );
}

/**
 * SNP-2: finishes the runs whose request generation is still the claimed one; for the others a newer request came
 * meanwhile, and they are PENDING again. Returns how many those were.
 */
export async function finishOrRenew(
  sql: Sql,
  runs: readonly (TaskRun & { readonly requestGeneration: number })[],
  end: { finalResult: string; result: object | null },
): Promise<number> {
  const { condition, values } = runningAs(runs);
  const generations = runs.map(() => 'WHEN ? THEN ?').join(' ');
  const finished = await sql.change(
    `UPDATE fi_async_task
        SET status = ${TaskStatus.SUCCESS}, final_result = ?, result = ?, ${AT_REST}, error_message = NULL,
            finished_time = NOW(3), update_time = NOW(3)
      WHERE ${condition} AND request_generation = CASE id ${generations} END`,
    [
      end.finalResult,
      end.result === null ? null : JSON.stringify(end.result),
      ...values,
      ...runs.flatMap((run) => [run.id, run.requestGeneration]),
    ],
  );
  const renewed = runs.length - finished;
  if (renewed > 0) {
    await sql.changeExactly(
      renewed,
      'renewing tasks that were asked for again',
      `UPDATE fi_async_task
          SET status = ${TaskStatus.PENDING}, ${AT_REST}, error_message = NULL, retry_count = 0,
              next_execute_time = NOW(3), update_time = NOW(3)
        WHERE ${condition}`,
      values,
    );
  }
  return renewed;
}

/** ENG-13: one failure more; `retryable: false` uses up all attempts. */
export async function failIfRunning(
  sql: Sql,
  run: TaskRun,
  failure: { code: string; message: string; retryable: boolean; dueInMs: number },
): Promise<void> {
  await sql.changeExactly(
    1,
    'failing a task',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.FAILED}, final_result = NULL,
            retry_count = IF(? = 1, retry_count + 1, GREATEST(retry_count + 1, max_retry_count)),
            error_code = ?, error_message = ?, busy_since = NULL, manually_due = 0,
            next_execute_time = NOW(3) + INTERVAL ? MICROSECOND, update_time = NOW(3)
      WHERE id = ? AND status = ${TaskStatus.RUNNING} AND running_attempt = ?`,
    [
      failure.retryable ? 1 : 0,
      failure.code.slice(0, 40),
      failure.message.slice(0, 1000),
      failure.dueInMs * 1000,
      run.id,
      run.runningAttempt,
    ],
  );
}

export interface HandBack {
  /** When it is due again; 0 is now. */
  readonly dueInMs: number;
  /** ENG-13: the work waits for a lease or guard of another. */
  readonly busy?: boolean;
  /** ACC-10: shown while it waits; kept as the task's last error. */
  readonly error?: { code: string; message: string };
  readonly finalResult?: 'RUNNING';
}

/** A graceful hand-back counts neither a failure nor a crash (ENG-11, ENG-13). */
export async function handBackIfRunning(sql: Sql, runs: readonly TaskRun[], back: HandBack): Promise<void> {
  const { condition, values } = runningAs(runs);
  await sql.changeExactly(
    runs.length,
    'handing tasks back',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.PENDING}, final_result = ?, busy_since = ${back.busy === true ? 'COALESCE(busy_since, NOW(3))' : 'NULL'},
            claims_without_progress = claims_without_progress - ${back.busy === true ? 'IF(claims_without_progress > 0, 1, 0)' : '0'},
            error_code = ?, error_message = ?, next_execute_time = NOW(3) + INTERVAL ? MICROSECOND, update_time = NOW(3)
      WHERE ${condition}`,
    [
      back.finalResult ?? null,
      back.error?.code.slice(0, 40) ?? null,
      back.error?.message.slice(0, 1000) ?? null,
      back.dueInMs * 1000,
      ...values,
    ],
  );
}

/** ENG-14: PENDING and STOPPED, not claimable until resumed; no failure. */
export async function stopIfRunning(sql: Sql, runs: readonly TaskRun[]): Promise<void> {
  const { condition, values } = runningAs(runs);
  await sql.changeExactly(
    runs.length,
    'stopping tasks',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.PENDING}, activation = ${Activation.STOPPED}, busy_since = NULL, update_time = NOW(3)
      WHERE ${condition}`,
    values,
  );
}

/** For good: all attempts are used up with it (LCK-23). */
export async function cancelIfRunning(
  sql: Sql,
  run: TaskRun,
  reason: { code: string; message: string },
): Promise<void> {
  await sql.changeExactly(
    1,
    'cancelling a running task',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.CANCELLED}, retry_count = max_retry_count, error_code = ?, error_message = ?,
            busy_since = NULL, manually_due = 0, finished_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND status = ${TaskStatus.RUNNING} AND running_attempt = ?`,
    [reason.code.slice(0, 40), reason.message.slice(0, 1000), run.id, run.runningAttempt],
  );
}

/**
 * The progress of a task that works in several transactions, kept in `result`; recorded progress forgives crashes (ENG-11).
 */
export async function recordProgressIfRunning(sql: Sql, run: TaskRun, progress: object): Promise<void> {
  await sql.changeExactly(
    1,
    'recording progress',
    `UPDATE fi_async_task SET result = ?, crash_count = 0, claims_without_progress = 0, update_time = NOW(3)
      WHERE id = ? AND status = ${TaskStatus.RUNNING} AND running_attempt = ?`,
    [JSON.stringify(progress), run.id, run.runningAttempt],
  );
}
