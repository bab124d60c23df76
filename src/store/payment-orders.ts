/** Statements on payment orders and their versions (DEC-10, PAY-2 to PAY-4). */
import type { VersionStatus } from '../domain/payment-submit.ts';
import type { Sql } from './sql.ts';

export interface OrderRow {
  readonly id: string;
  readonly orderNo: string;
  readonly partnerOrgId: string;
  readonly createUserId: string;
  /** A `targetDataVersion`, not a version's id. */
  readonly currentPublishVersion: string | null;
  readonly orderStatus: 'OPEN' | 'VOID';
  readonly auditStatus: string | null;
}

const ORDER = `SELECT id, order_no orderNo, partner_org_id partnerOrgId, create_user_id createUserId,
    current_publish_version currentPublishVersion, order_status orderStatus, audit_status auditStatus
  FROM fi_resident_income_payment_order WHERE id = ? AND deleted = 0`;

export async function findOrder(sql: Sql, id: string): Promise<OrderRow | null> {
  return sql.maybeOne<OrderRow>(ORDER, [id]);
}

export async function lockOrder(sql: Sql, id: string): Promise<OrderRow | null> {
  return sql.maybeOne<OrderRow>(`${ORDER} FOR UPDATE`, [id]);
}

export async function insertOrder(
  sql: Sql,
  order: { orderNo: string; partnerOrgId: string; createUserId: string },
): Promise<string> {
  return sql.insert(
    'INSERT INTO fi_resident_income_payment_order (order_no, partner_org_id, create_user_id) VALUES (?, ?, ?)',
    [order.orderNo, order.partnerOrgId, order.createUserId],
  );
}

/** PAY-4: beside the version's own compare-and-set, in one transaction with it. */
export async function setPublishedVersion(
  sql: Sql,
  orderId: string,
  targetDataVersion: string,
): Promise<void> {
  await sql.changeExactly(
    1,
    'publishing an order',
    `UPDATE fi_resident_income_payment_order SET current_publish_version = ?, audit_status = NULL, update_time = NOW(3)
      WHERE id = ? AND deleted = 0 AND order_status = 'OPEN' AND COALESCE(current_publish_version, 0) < ?`,
    [targetDataVersion, orderId, targetDataVersion],
  );
}

export async function setAuditStatus(sql: Sql, orderId: string, status: string): Promise<void> {
  await sql.changeExactly(
    1,
    'auditing an order',
    `UPDATE fi_resident_income_payment_order SET audit_status = ?, update_time = NOW(3)
      WHERE id = ? AND deleted = 0`,
    [status, orderId],
  );
}

export async function voidIfOpen(sql: Sql, orderId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'voiding an order',
    `UPDATE fi_resident_income_payment_order SET order_status = 'VOID', update_time = NOW(3)
      WHERE id = ? AND deleted = 0 AND order_status = 'OPEN'`,
    [orderId],
  );
}

export async function setOrderCreator(sql: Sql, orderId: string, creatorUserId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'handing an order over',
    `UPDATE fi_resident_income_payment_order SET create_user_id = ?, update_time = NOW(3)
      WHERE id = ? AND deleted = 0`,
    [creatorUserId, orderId],
  );
}

export interface VersionRow {
  /** The `paymentOrderVersionId`. */
  readonly id: string;
  readonly paymentOrderId: string;
  readonly sessionId: string;
  readonly targetDataVersion: string;
  readonly submitAttempt: number;
  readonly submitToken: string;
  readonly versionBuildStatus: VersionStatus;
  readonly failureCode: string | null;
}

const VERSION = `SELECT id, payment_order_id paymentOrderId, session_id sessionId, target_data_version targetDataVersion,
    submit_attempt submitAttempt, submit_token submitToken, version_build_status versionBuildStatus,
    failure_code failureCode
  FROM fi_resident_income_payment_order_version`;

export async function findVersion(sql: Sql, id: string): Promise<VersionRow | null> {
  return sql.maybeOne<VersionRow>(`${VERSION} WHERE id = ?`, [id]);
}

/** Publishing, cancelling, reserving and releasing lock this row; neither can pass the other (LCK-16, PAY-3, PAY-4). */
export async function lockVersion(sql: Sql, id: string): Promise<VersionRow | null> {
  return sql.maybeOne<VersionRow>(`${VERSION} WHERE id = ? FOR UPDATE`, [id]);
}

/** The version that was published before this one, whose locks this one takes over (PAY-5). */
export async function findPublishedBefore(sql: Sql, version: VersionRow): Promise<VersionRow | null> {
  return sql.maybeOne<VersionRow>(
    `${VERSION} WHERE payment_order_id = ? AND target_data_version < ? AND version_build_status = 'PUBLISHED'
      ORDER BY target_data_version DESC LIMIT 1`,
    [version.paymentOrderId, version.targetDataVersion],
  );
}

export async function listVersions(sql: Sql, orderId: string): Promise<VersionRow[]> {
  return sql.many<VersionRow>(`${VERSION} WHERE payment_order_id = ? ORDER BY target_data_version`, [
    orderId,
  ]);
}

export interface NewVersion {
  readonly paymentOrderId: string;
  readonly sessionId: string;
  readonly submitToken: string;
}

/** PAY-2: the next data version of the order, the next attempt of the session; the caller has locked both rows. */
export async function insertNextVersion(sql: Sql, version: NewVersion): Promise<string> {
  return sql.insert(
    `INSERT INTO fi_resident_income_payment_order_version
       (payment_order_id, session_id, target_data_version, submit_attempt, submit_token, version_build_status)
     SELECT ?, ?,
            (SELECT COALESCE(MAX(of_order.target_data_version), 0) + 1
               FROM fi_resident_income_payment_order_version of_order WHERE of_order.payment_order_id = ?),
            (SELECT COALESCE(MAX(of_session.submit_attempt), 0) + 1
               FROM fi_resident_income_payment_order_version of_session WHERE of_session.session_id = ?),
            ?, 'BUILDING'`,
    [
      version.paymentOrderId,
      version.sessionId,
      version.paymentOrderId,
      version.sessionId,
      version.submitToken,
    ],
  );
}

export interface VersionMove {
  readonly from: VersionStatus;
  readonly to: VersionStatus;
  readonly failure?: { readonly code: string; readonly phase: string; readonly message: string };
}

/** By compare-and-set under its attempt. False: it is another's by now, or elsewhere. */
export async function moveVersionIf(sql: Sql, version: VersionRow, move: VersionMove): Promise<boolean> {
  const { failure } = move;
  const hit = await sql.change(
    `UPDATE fi_resident_income_payment_order_version
        SET version_build_status = ?, failure_code = ?, failure_phase = ?, failure_message = ?,
            published_time = IF(? = 'PUBLISHED', NOW(3), published_time), update_time = NOW(3)
      WHERE id = ? AND version_build_status = ? AND submit_attempt = ? AND submit_token = ?`,
    [
      move.to,
      failure?.code.slice(0, 64) ?? null,
      failure?.phase.slice(0, 80) ?? null,
      failure?.message.slice(0, 1000) ?? null,
      move.to,
      version.id,
      move.from,
      version.submitAttempt,
      version.submitToken,
    ],
  );
  return hit === 1;
}

/** How many bills a version has, and their sum. */
export async function sumOrderBills(sql: Sql, versionId: string): Promise<{ bills: number; amount: string }> {
  const row = await sql.one<{ bills: string; amount: string }>(
    `SELECT COUNT(*) bills, COALESCE(SUM(amount), 0.00) amount FROM fi_resident_income_payment_order_bill
      WHERE payment_order_version_id = ?`,
    [versionId],
  );
  return { bills: Number(row.bills), amount: row.amount };
}

/** PAY-5; one per version. */
export async function insertAuditPlan(
  sql: Sql,
  plan: { paymentOrderId: string; paymentOrderVersionId: string; bills: number; amount: string },
): Promise<void> {
  await sql.insert(
    `INSERT INTO fi_resident_income_payment_audit_plan
       (payment_order_id, payment_order_version_id, bill_count, amount, status) VALUES (?, ?, ?, ?, 'PENDING')`,
    [plan.paymentOrderId, plan.paymentOrderVersionId, plan.bills, plan.amount],
  );
}

export async function decideAuditPlan(sql: Sql, versionId: string, status: string): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE fi_resident_income_payment_audit_plan SET status = ?, update_time = NOW(3)
      WHERE payment_order_version_id = ? AND status = 'PENDING'`,
    [status, versionId],
  );
  return hit === 1;
}
