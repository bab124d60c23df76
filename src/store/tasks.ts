/** Statements on `fi_async_task`: one function each. Who may call which, when, is `tasks/`. */
import type { StageName } from '../domain/stage.ts';
import { Activation, TaskStatus } from '../domain/task-status.ts';
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

const TASK_COLUMNS = `id, task_type taskType, task_code taskCode, business_key businessKey, task_data taskData, status,
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

/** Tasks as a slot names them: those of them that still run in it, under that fence. */
export interface SlotTasks {
  readonly ids: readonly string[];
  readonly slotNo: number;
  readonly fence: string;
}

const IN_SLOT = `id IN (?) AND status = ${TaskStatus.RUNNING} AND slot_no = ? AND slot_fence = ?`;

/** In the order in which the slot names them. */
export async function listHeldTasks(sql: Sql, held: SlotTasks): Promise<TaskRow[]> {
  if (held.ids.length === 0) return [];
  const rows = await sql.many<TaskRow>(`SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE ${IN_SLOT}`, [
    held.ids,
    held.slotNo,
    held.fence,
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return held.ids.flatMap((id) => byId.get(id) ?? []);
}

/** What a slot still has in hand when it is given up in good order: due at once, nothing counted (ENG-11). */
export async function handBackHeld(sql: Sql, held: SlotTasks): Promise<number> {
  if (held.ids.length === 0) return 0;
  return sql.change(
    `UPDATE fi_async_task SET status = ${TaskStatus.PENDING}, next_execute_time = NOW(3), update_time = NOW(3)
      WHERE ${IN_SLOT}`,
    [held.ids, held.slotNo, held.fence],
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

/**
 * ENG-11: the tasks of a lost slot. Back to PENDING with one crash more; at the limit FAILED, `CRASHED`, for good.
 * The condition on the fence leaves alone what has been claimed again since. Returns how many were rescued.
 */
export async function rescueTasks(
  sql: Sql,
  lost: SlotTasks & { readonly crashesMax: number },
): Promise<number> {
  if (lost.ids.length === 0) return 0;
  return sql.change(
    `UPDATE fi_async_task
        SET error_code = IF(crash_count + 1 >= ?, 'CRASHED', error_code),
            error_message = IF(crash_count + 1 >= ?, CONCAT('The process died ', crash_count + 1, ' times while it did this work'), error_message),
            retry_count = IF(crash_count + 1 >= ?, GREATEST(retry_count, max_retry_count), retry_count),
            manually_due = IF(crash_count + 1 >= ?, 0, manually_due),
            status = IF(crash_count + 1 >= ?, ${TaskStatus.FAILED}, ${TaskStatus.PENDING}),
            crash_count = crash_count + 1, next_execute_time = NOW(3), update_time = NOW(3)
      WHERE ${IN_SLOT}`,
    [...Array.from({ length: 5 }, () => lost.crashesMax), lost.ids, lost.slotNo, lost.fence],
  );
}

/** Of a task that this transaction has just ended as crashed: as it was before, and due later. */
export async function reviveCrashed(
  sql: Sql,
  before: Pick<TaskRow, 'id' | 'crashCount' | 'retryCount' | 'manuallyDue'>,
  wait: { readonly dueInMs: number; readonly message: string },
): Promise<void> {
  await sql.changeExactly(
    1,
    'reviving a crashed task',
    `UPDATE fi_async_task
        SET status = ${TaskStatus.PENDING}, crash_count = ?, retry_count = ?, manually_due = ?,
            error_code = 'NOT_RECORDED', error_message = ?,
            next_execute_time = NOW(3) + INTERVAL ? MICROSECOND, update_time = NOW(3)
      WHERE id = ? AND status = ${TaskStatus.FAILED} AND error_code = 'CRASHED'`,
    [
      before.crashCount,
      before.retryCount,
      before.manuallyDue,
      wait.message.slice(0, 1000),
      wait.dueInMs * 1000,
      before.id,
    ],
  );
}

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

/** A task that runs in a slot which nobody holds any more; whoever takes that slot rescues it (ENG-11). */
export interface LostTask {
  readonly id: string;
  readonly stage: StageName;
  readonly partnerOrgId: string;
  readonly slotNo: number;
  /** Of the slot, as it stands. */
  readonly fence: string;
}

export async function listLostTasks(sql: Sql, ids: readonly string[]): Promise<Map<string, LostTask>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.many<LostTask>(
    `SELECT t.id, t.stage, t.partner_org_id partnerOrgId, t.slot_no slotNo, s.fence
       FROM fi_async_task t
       JOIN stage_slot s ON s.stage = t.stage AND s.partner_org_id = t.partner_org_id AND s.slot_no = t.slot_no
      WHERE t.id IN (?) AND t.status = ${TaskStatus.RUNNING} AND s.fence = t.slot_fence
        AND s.holder IS NOT NULL AND s.lease_end <= SYSDATE(3)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
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

export async function lockTaskByCode(sql: Sql, code: string): Promise<TaskRow | null> {
  return sql.maybeOne<TaskRow>(`SELECT ${TASK_COLUMNS} FROM fi_async_task WHERE task_code = ? FOR UPDATE`, [
    code,
  ]);
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
