/**
 * Statements of the lock release (LCK-12 to LCK-20). A lock belongs to a submit by four columns, never by version id or
 * token (LCK-14); a lock is updated, never deleted (LCK-17).
 */
import type { LiveLockStatus, LockReleaseReason } from '../domain/lock-release.ts';
import { TaskStatus } from '../domain/task-status.ts';
import type { Sql, SqlValue } from './sql.ts';

/** A version and its order, as one transaction has them locked. */
export interface LockedVersion {
  readonly versionId: string;
  readonly paymentOrderId: string;
  readonly sessionId: string;
  readonly submitAttempt: number;
  readonly targetDataVersion: string;
  readonly versionStatus: string;
  /** Null: there is no such order. */
  readonly orderId: string | null;
  readonly currentPublishVersion: string | null;
  readonly orderCreateUserId: string | null;
}

const VERSION = `SELECT v.id versionId, v.payment_order_id paymentOrderId, v.session_id sessionId, v.submit_attempt submitAttempt,
        v.target_data_version targetDataVersion, v.version_build_status versionStatus, o.id orderId,
        o.current_publish_version currentPublishVersion, o.create_user_id orderCreateUserId
   FROM fi_resident_income_payment_order_version v
   LEFT JOIN fi_resident_income_payment_order o ON o.id = v.payment_order_id
  WHERE v.id = ?`;

/**
 * LCK-16: publishing locks the same version row, so that neither passes the other; with a subquery in the UPDATE alone a
 * version was published while its locks were released. Version first, then order (ENG-17).
 */
export async function lockVersion(sql: Sql, versionId: string): Promise<LockedVersion | null> {
  return sql.maybeOne<LockedVersion>(`${VERSION} FOR UPDATE`, [versionId]);
}

/** For what never changes of it: whose its locks are (LCK-14). */
export async function findReleaseVersion(sql: Sql, versionId: string): Promise<LockedVersion | null> {
  return sql.maybeOne<LockedVersion>(VERSION, [versionId]);
}

/** LCK-13, read anew: the order points at the version, or the version says so itself. */
export async function isPublished(sql: Sql, versionId: string): Promise<boolean> {
  const row = await sql.one<{ published: string }>(
    `SELECT COUNT(*) published
       FROM fi_resident_income_payment_order_version v
       JOIN fi_resident_income_payment_order o ON o.id = v.payment_order_id
      WHERE v.id = ? AND (v.version_build_status = 'PUBLISHED' OR o.current_publish_version = v.target_data_version)`,
    [versionId],
  );
  return Number(row.published) > 0;
}

export interface ReleaseSession {
  readonly id: string;
  readonly mode: string;
  readonly status: string;
  readonly targetPaymentOrderId: string | null;
  readonly creatorUserId: string;
  readonly activeSubmitId: string | null;
}

const SESSION = `SELECT id, mode, status, target_payment_order_id targetPaymentOrderId,
        creator_user_id creatorUserId, active_submit_id activeSubmitId
   FROM selection_session WHERE id = ?`;

export async function findReleaseSession(sql: Sql, sessionId: string): Promise<ReleaseSession | null> {
  return sql.maybeOne<ReleaseSession>(SESSION, [sessionId]);
}

export async function lockReleaseSession(sql: Sql, sessionId: string): Promise<ReleaseSession | null> {
  return sql.maybeOne<ReleaseSession>(`${SESSION} FOR UPDATE`, [sessionId]);
}

export interface ReleaseBatch {
  readonly id: string;
  readonly status: string;
  readonly batchSize: number | null;
  readonly ownerTaskId: string | null;
  readonly ownerAttempt: number | null;
}

/** The version's phase LOCK_RELEASE, the first by number and id (LCK-12); it is never made up here. */
export async function lockReleaseBatch(sql: Sql, versionId: string): Promise<ReleaseBatch | null> {
  return sql.maybeOne<ReleaseBatch>(
    `SELECT id, batch_status status, batch_size batchSize, owner_task_id ownerTaskId, owner_attempt ownerAttempt
       FROM selection_submit_batch WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'
      ORDER BY batch_no, id LIMIT 1 FOR UPDATE`,
    [versionId],
  );
}

/** Whether that very run of the task is under way. */
export async function isRunUnderWay(sql: Sql, taskId: string, attempt: number): Promise<boolean> {
  const row = await sql.one<{ running: string }>(
    `SELECT COUNT(*) running FROM fi_async_task
      WHERE id = ? AND status = ${TaskStatus.RUNNING} AND running_attempt = ?`,
    [taskId, attempt],
  );
  return Number(row.running) > 0;
}

/** The run of a task that owns a batch, and the cursor that it shows there. */
export interface BatchOwner {
  readonly taskId: string;
  readonly attempt: number;
  readonly worker: string | null;
  readonly cursor: string;
}

/** LCK-28: INIT, FAILED, RUNNING, and DONE where a reason found something left, become RUNNING; CANCELLED never. */
export async function startBatch(sql: Sql, batchId: string, owner: BatchOwner): Promise<void> {
  await sql.changeExactly(
    1,
    'starting a release batch',
    `UPDATE selection_submit_batch
        SET batch_status = 'RUNNING', lease_version = lease_version + 1, worker_id = ?, owner_task_id = ?,
            owner_attempt = ?, last_item_id = ?, heartbeat_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND batch_status <> 'CANCELLED'`,
    [owner.worker, owner.taskId, owner.attempt, owner.cursor, batchId],
  );
}

/** LCK-16: the batch row mirrors the task's cursor and counts what was really updated. */
export async function advanceBatchIfOwned(
  sql: Sql,
  batchId: string,
  owner: BatchOwner,
  released: number,
): Promise<void> {
  await sql.changeExactly(
    1,
    'advancing a release batch',
    `UPDATE selection_submit_batch
        SET last_item_id = ?, processed_count = processed_count + ?, heartbeat_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND batch_status = 'RUNNING' AND owner_task_id = ? AND owner_attempt = ?`,
    [owner.cursor, released, batchId, owner.taskId, owner.attempt],
  );
}

export async function finishBatchIfOwned(sql: Sql, batchId: string, owner: BatchOwner): Promise<void> {
  await sql.changeExactly(
    1,
    'finishing a release batch',
    `UPDATE selection_submit_batch
        SET batch_status = 'DONE', last_error_code = NULL, last_error_message = NULL, heartbeat_time = NOW(3),
            update_time = NOW(3)
      WHERE id = ? AND batch_status = 'RUNNING' AND owner_task_id = ? AND owner_attempt = ?`,
    [batchId, owner.taskId, owner.attempt],
  );
}

/**
 * LCK-22: the failure of the run that has or wanted the batch. Which batch that is, the caller has decided under its
 * row; one that is CANCELLED keeps its end. Its retry columns schedule nothing.
 */
export async function failBatch(
  sql: Sql,
  batchId: string,
  run: { readonly taskId: string; readonly attempt: number },
  failure: { readonly code: string; readonly message: string },
): Promise<void> {
  await sql.change(
    `UPDATE selection_submit_batch
        SET batch_status = 'FAILED', owner_task_id = ?, owner_attempt = ?, last_error_code = ?,
            last_error_message = ?, retry_count = retry_count + 1, update_time = NOW(3)
      WHERE id = ? AND batch_status <> 'CANCELLED'`,
    [run.taskId, run.attempt, failure.code.slice(0, 40), failure.message.slice(0, 1000), batchId],
  );
}

/** LCK-14, LCK-15, LCK-4: which locks a release is about. */
export interface ReleaseScope {
  readonly version: LockedVersion;
  readonly statuses: readonly LiveLockStatus[];
  readonly orderBillIds: readonly string[] | null;
}

/**
 * A whole submission goes along the submit's own index. A few of its bills are found by theirs, which the database sees
 * by itself: a payment a bill would otherwise read the whole submit for each.
 */
function indexOf({ orderBillIds }: ReleaseScope): string {
  return orderBillIds === null ? 'FORCE INDEX (idx_bill_lock_submit)' : '';
}

function locksOf(scope: ReleaseScope, table: string): { condition: string; values: SqlValue[] } {
  const { version, statuses, orderBillIds } = scope;
  const selected = orderBillIds === null ? '' : ` AND ${table}.order_bill_id IN (?)`;
  return {
    condition: `${table}.payment_order_id = ? AND ${table}.session_id = ? AND ${table}.submit_attempt = ?
       AND ${table}.data_version = ? AND ${table}.lock_status IN (?)${selected}`,
    values: [
      version.paymentOrderId,
      version.sessionId,
      version.submitAttempt,
      version.targetDataVersion,
      statuses,
      ...(orderBillIds === null ? [] : [orderBillIds]),
    ],
  };
}

/** LCK-16: the first `limit` lock ids after the cursor. */
export async function listNextLockIds(
  sql: Sql,
  scope: ReleaseScope,
  cursor: string,
  limit: number,
): Promise<string[]> {
  const { condition, values } = locksOf(scope, 'l');
  const rows = await sql.many<{ id: string }>(
    `SELECT l.id FROM fi_resident_income_payment_bill_lock l ${indexOf(scope)}
      WHERE ${condition} AND l.id > ? ORDER BY l.id LIMIT ${limit}`,
    [...values, cursor],
  );
  return rows.map((row) => row.id);
}

const UNPUBLISHED = `AND v.version_build_status <> 'PUBLISHED' AND o.deleted = 0
         AND (o.current_publish_version IS NULL OR o.current_publish_version <> v.target_data_version)`;

/**
 * LCK-16, LCK-17: releases the scope's locks in `(after, upTo]`. With `boundary`, LCK-13 is part of the statement; a
 * joined UPDATE holds what it has read of version and order, a subquery would not. @returns the rows really updated
 */
export async function releaseRange(
  sql: Sql,
  scope: ReleaseScope,
  range: { readonly after: string; readonly upTo: string },
  release: { readonly reason: LockReleaseReason; readonly boundary: boolean },
): Promise<number> {
  const { condition, values } = locksOf(scope, 'l');
  return sql.change(
    `UPDATE fi_resident_income_payment_order_version v
       STRAIGHT_JOIN fi_resident_income_payment_order o ON o.id = v.payment_order_id
       STRAIGHT_JOIN fi_resident_income_payment_bill_lock l ${indexOf(scope)}
          ON l.payment_order_id = v.payment_order_id
        SET l.lock_status = 'RELEASED',
            l.lock_key = CONCAT(COALESCE(l.platform_station_id, 0), ':', COALESCE(l.bill_year_month, ''), ':RELEASED:', l.id),
            l.release_time = NOW(3), l.release_reason = ?, l.update_time = NOW(3)
      WHERE v.id = ? AND ${condition} AND l.id > ? AND l.id <= ?
        ${release.boundary ? UNPUBLISHED : ''}`,
    [release.reason, scope.version.versionId, ...values, range.after, range.upTo],
  );
}

/** LCK-18: what is left, without a cursor. */
export async function countLocks(sql: Sql, scope: ReleaseScope): Promise<number> {
  const { condition, values } = locksOf(scope, 'l');
  const row = await sql.one<{ left: string }>(
    `SELECT COUNT(*) \`left\` FROM fi_resident_income_payment_bill_lock l ${indexOf(scope)}
      WHERE ${condition}`,
    values,
  );
  return Number(row.left);
}

/** LCK-19: the phases of a submit that is closed out. */
export async function cancelOpenBatches(sql: Sql, versionId: string): Promise<number> {
  return sql.change(
    `UPDATE selection_submit_batch SET batch_status = 'CANCELLED', update_time = NOW(3)
      WHERE payment_order_version_id = ? AND batch_status NOT IN ('DONE', 'CANCELLED')`,
    [versionId],
  );
}

/** LCK-19, by compare-and-set. False: the version is not BUILD_FAILED. */
export async function cancelVersionIfBuildFailed(
  sql: Sql,
  versionId: string,
  mark: { readonly code: string; readonly phase: string },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_resident_income_payment_order_version
        SET version_build_status = 'CANCELLED', failure_code = ?, failure_phase = ?, update_time = NOW(3)
      WHERE id = ? AND version_build_status = 'BUILD_FAILED'`,
    [mark.code, mark.phase, versionId],
  );
  return hit === 1;
}

/** LCK-19: the session loses its submit; status and `active_revise_key` stay (SES-1). False: it is not that submit's. */
export async function detachSubmitIfFailed(
  sql: Sql,
  sessionId: string,
  versionId: string,
  mark: { readonly reason: string; readonly phase: string },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE selection_session
        SET active_submit_id = NULL, invalidated_flag = 1, invalidated_reason = ?, failure_phase = ?,
            state_version = state_version + 1, update_time = NOW(3)
      WHERE id = ? AND status = 'SUBMIT_FAILED' AND active_submit_id = ?`,
    [mark.reason, mark.phase, sessionId, versionId],
  );
  return hit === 1;
}

/** LCK-20: marks the session; publish pointer and active keys are untouched. */
export async function markPublishIncident(
  sql: Sql,
  sessionId: string,
  mark: { readonly reason: string; readonly phase: string; readonly continueCloseout: boolean },
): Promise<void> {
  await sql.changeExactly(
    1,
    'marking a publish incident',
    `UPDATE selection_session
        SET invalidated_flag = 1, invalidated_reason = ?, failure_phase = ?, state_version = state_version + 1,
            status = IF(? = 1 AND status IN ('SUBMITTING', 'SUBMIT_FAILED', 'PUBLISHING'), 'PUBLISHED_LOCK_SYNCING', status),
            heartbeat_time = NOW(3), update_time = NOW(3)
      WHERE id = ?`,
    [mark.reason, mark.phase, mark.continueCloseout ? 1 : 0, sessionId],
  );
}
