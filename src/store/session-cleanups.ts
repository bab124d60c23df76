/** Statements for the end of invalidated REVISE sessions (SES-1). */
import { TaskStatus } from '../domain/task-status.ts';
import type { Sql } from './sql.ts';

const INVALIDATED = `s.mode = 'REVISE' AND s.status = 'SUBMIT_FAILED' AND s.invalidated_flag = 1
        AND s.invalidated_reason = 'INVALID_REVISE_SESSION' AND s.active_submit_id IS NULL`;

export interface InvalidSession {
  readonly id: string;
  readonly partnerOrgId: string;
}

/** Invalidated sessions that have no clean-up yet, by the index on status and flag. */
export async function listInvalidSessions(sql: Sql, limit: number): Promise<InvalidSession[]> {
  return sql.many<InvalidSession>(
    `SELECT s.id, s.partner_org_id partnerOrgId FROM selection_session s
      WHERE ${INVALIDATED}
        AND NOT EXISTS (SELECT 1 FROM fi_async_task t WHERE t.task_code = CONCAT('RIPSC:', s.id))
      ORDER BY s.id LIMIT ${limit}`,
  );
}

export interface CleanupSession {
  readonly id: string;
  readonly partnerOrgId: string;
  readonly status: string;
  readonly stateVersion: number;
  readonly isInvalidated: boolean;
}

export async function findCleanupSession(sql: Sql, sessionId: string): Promise<CleanupSession | null> {
  const row = await sql.maybeOne<Omit<CleanupSession, 'isInvalidated'> & { invalidated: number }>(
    `SELECT s.id, s.partner_org_id partnerOrgId, s.status, s.state_version stateVersion, (${INVALIDATED}) invalidated
       FROM selection_session s WHERE s.id = ?`,
    [sessionId],
  );
  if (row === null) return null;
  const { invalidated, ...session } = row;
  return { ...session, isInvalidated: Number(invalidated) === 1 };
}

/** By compare-and-set; false: it is not as it was seen. */
export async function cancelSessionIfUnchanged(
  sql: Sql,
  session: { readonly id: string; readonly stateVersion: number },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE selection_session s
        SET s.status = 'CANCELLED', s.active_revise_key = NULL, s.active_scope_key = NULL,
            s.state_version = s.state_version + 1, s.update_time = NOW(3)
      WHERE s.id = ? AND s.state_version = ? AND ${INVALIDATED}`,
    [session.id, session.stateVersion],
  );
  return hit === 1;
}

/** Something of the session that is still alive; one of each kind is enough to name. */
export interface SessionObstacle {
  readonly kind: 'task' | 'operation' | 'version' | 'batch' | 'lease' | 'lock';
  readonly what: string;
}

/** In the order of the rule: task, operation, version, batch, lease, lock. */
export async function listSessionObstacles(
  sql: Sql,
  session: { readonly id: string; readonly partnerOrgId: string },
): Promise<SessionObstacle[]> {
  const versions = await sql.many<{ id: string }>(
    'SELECT id FROM fi_resident_income_payment_order_version WHERE session_id = ? ORDER BY id',
    [session.id],
  );
  const versionIds = versions.map((version) => version.id);
  const found = [
    await findOpenTask(sql, versionIds),
    await findOpenOperation(sql, versionIds),
    await findLiveVersion(sql, session.id),
    await findRunningBatch(sql, versionIds),
    await findHeldSlot(sql, session.partnerOrgId, versionIds),
    await findLiveLock(sql, session.id),
  ];
  return found.filter((obstacle) => obstacle !== null);
}

type Found = Promise<SessionObstacle | null>;

async function first(
  sql: Sql,
  kind: SessionObstacle['kind'],
  statement: string,
  values: readonly (string | readonly string[])[],
): Found {
  const row = await sql.maybeOne<{ what: string }>(`${statement} LIMIT 1`, values);
  return row === null ? null : { kind, what: String(row.what) };
}

/** A submit's tasks, found by their keys: `PAYMENT_SUBMIT:<version>:…`, `LOCK_RELEASE:<version>:…`. */
function keyPatterns(versionIds: readonly string[]): string[] {
  return versionIds.flatMap((id) => [`PAYMENT\\_SUBMIT:${id}:%`, `LOCK\\_RELEASE:${id}:%`]);
}

function ofVersions(versionIds: readonly string[]): string {
  return `(${keyPatterns(versionIds)
    .map(() => 't.business_key LIKE ?')
    .join(' OR ')})`;
}

/** One that will still be run by itself, or is stopped and may go on. */
async function findOpenTask(sql: Sql, versionIds: readonly string[]): Found {
  if (versionIds.length === 0) return null;
  return first(
    sql,
    'task',
    `SELECT t.task_code what FROM fi_async_task t
      WHERE ${ofVersions(versionIds)}
        AND (t.status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING})
             OR (t.status = ${TaskStatus.FAILED} AND (t.retry_count < t.max_retry_count OR t.manually_due = 1)))
      ORDER BY t.id`,
    keyPatterns(versionIds),
  );
}

/** An accepted release that has neither succeeded nor been cancelled: one that failed for good waits for a person. */
async function findOpenOperation(sql: Sql, versionIds: readonly string[]): Found {
  if (versionIds.length === 0) return null;
  return first(
    sql,
    'operation',
    `SELECT o.event_id what FROM fi_resident_income_payment_async_operation_log o
       LEFT JOIN fi_async_task t ON t.task_code = JSON_UNQUOTE(JSON_EXTRACT(o.detail, '$.taskCode'))
      WHERE o.target_type = 'PAYMENT_ORDER_VERSION' AND o.target_id IN (?)
        AND (t.id IS NULL OR t.status NOT IN (${TaskStatus.SUCCESS}, ${TaskStatus.CANCELLED}))
      ORDER BY o.id`,
    [versionIds],
  );
}

/** One that may still become something, or has. */
async function findLiveVersion(sql: Sql, sessionId: string): Found {
  return first(
    sql,
    'version',
    `SELECT CONCAT(id, ' ', version_build_status) what FROM fi_resident_income_payment_order_version
      WHERE session_id = ? AND version_build_status NOT IN ('BUILD_FAILED', 'CANCELLED') ORDER BY id`,
    [sessionId],
  );
}

async function findRunningBatch(sql: Sql, versionIds: readonly string[]): Found {
  if (versionIds.length === 0) return null;
  return first(
    sql,
    'batch',
    `SELECT CONCAT(id, ' ', batch_phase) what FROM selection_submit_batch
      WHERE payment_order_version_id IN (?) AND batch_status = 'RUNNING' ORDER BY id`,
    [versionIds],
  );
}

/** A slot that names a task of the session, whatever has become of the task. */
async function findHeldSlot(sql: Sql, partnerOrgId: string, versionIds: readonly string[]): Found {
  if (versionIds.length === 0) return null;
  return first(
    sql,
    'lease',
    `SELECT CONCAT(s.stage, ' ', s.slot_no, ' ', s.holder) what FROM stage_slot s
       JOIN fi_async_task t ON ${ofVersions(versionIds)}
      WHERE s.partner_org_id = ? AND s.stage IN ('payment-submit', 'lock-release') AND s.holder IS NOT NULL
        AND JSON_CONTAINS(s.task_ids, JSON_QUOTE(CAST(t.id AS CHAR)))
      ORDER BY s.stage, s.slot_no`,
    [...keyPatterns(versionIds), partnerOrgId],
  );
}

/** Of a REVISE, whose submits are all of its one order; by the index that leads with it. */
async function findLiveLock(sql: Sql, sessionId: string): Found {
  return first(
    sql,
    'lock',
    `SELECT CONCAT(l.id, ' ', l.lock_status) what FROM selection_session s
       JOIN fi_resident_income_payment_bill_lock l
         ON l.payment_order_id = s.target_payment_order_id AND l.session_id = s.id
      WHERE s.id = ? AND l.lock_status IN ('RESERVED', 'ACTIVE') ORDER BY l.id`,
    [sessionId],
  );
}
