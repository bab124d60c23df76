/** Statements for accepting a lock release: what it is about, and the audit of its acceptance (LCK-2). */
import type { Sql } from './sql.ts';

export interface ReleaseSubjectRow {
  readonly versionId: string;
  readonly partnerOrgId: string;
  readonly versionStatus: string;
  readonly failureCode: string | null;
  readonly targetDataVersion: string;
  readonly paymentOrderId: string;
  readonly currentPublishVersion: string | null;
  readonly currentActivation: string | null;
  readonly orderStatus: string;
  readonly orderCreateUserId: string;
  readonly sessionMode: string | null;
  readonly sessionTargetOrderId: string | null;
  readonly sessionCreatorUserId: string | null;
  readonly sessionStatus: string | null;
  readonly sessionSubmitId: string | null;
}

/**
 * Without a lock: the states that a release may be asked for in are never left for one in which a submit is under way.
 * What the caller's own transaction has moved is seen.
 */
export async function findReleaseSubject(sql: Sql, versionId: string): Promise<ReleaseSubjectRow | null> {
  return sql.maybeOne<ReleaseSubjectRow>(
    `SELECT v.id versionId, o.partner_org_id partnerOrgId, v.version_build_status versionStatus, v.failure_code failureCode,
            v.target_data_version targetDataVersion, o.id paymentOrderId,
            o.current_publish_version currentPublishVersion, o.order_status orderStatus,
            o.create_user_id orderCreateUserId, s.mode sessionMode, s.target_payment_order_id sessionTargetOrderId,
            s.creator_user_id sessionCreatorUserId, s.status sessionStatus, s.active_submit_id sessionSubmitId,
            (SELECT b.batch_status
               FROM fi_resident_income_payment_order_version c
               JOIN selection_submit_batch b ON b.payment_order_version_id = c.id AND b.batch_phase = 'LOCK_ACTIVATE'
              WHERE c.payment_order_id = o.id AND c.target_data_version = o.current_publish_version
              ORDER BY b.batch_no, b.id LIMIT 1) currentActivation
       FROM fi_resident_income_payment_order_version v
       JOIN fi_resident_income_payment_order o ON o.id = v.payment_order_id
       LEFT JOIN selection_session s ON s.id = v.session_id
      WHERE v.id = ?`,
    [versionId],
  );
}

/** How many of these are order bills of the version. */
export async function countOrderBills(sql: Sql, versionId: string, ids: readonly string[]): Promise<number> {
  const row = await sql.one<{ found: string }>(
    `SELECT COUNT(*) found FROM fi_resident_income_payment_order_bill
      WHERE payment_order_version_id = ? AND id IN (?)`,
    [versionId, ids],
  );
  return Number(row.found);
}

export interface AcceptanceAudit {
  readonly eventId: string;
  readonly paymentOrderVersionId: string;
  readonly detail: object;
}

/** Idempotent by event id; `from` and `to` are descriptions, not states. */
export async function recordAcceptance(sql: Sql, audit: AcceptanceAudit): Promise<void> {
  await sql.change(
    `INSERT INTO fi_resident_income_payment_async_operation_log
       (event_id, operation, target_type, target_id, from_status, to_status, detail)
     VALUES (?, 'COMPENSATE', 'PAYMENT_ORDER_VERSION', ?, 'RELEASE_REQUIRED', 'LOCK_RELEASE_PENDING', ?)
     ON DUPLICATE KEY UPDATE event_id = fi_resident_income_payment_async_operation_log.event_id`,
    [audit.eventId, audit.paymentOrderVersionId, JSON.stringify(audit.detail)],
  );
}
