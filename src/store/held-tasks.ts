/** Statements on tasks as a slot names them: what its holder has in hand, and what becomes of it when the slot is lost (ENG-11). */
import type { StageName } from '../domain/stage.ts';
import { TaskStatus } from '../domain/task-status.ts';
import type { Sql } from './sql.ts';
import { TASK_COLUMNS, type TaskRow } from './tasks.ts';

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
