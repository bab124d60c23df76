/** Lists of payment sessions and orders, for people. */
import { equalities, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

interface PageWish {
  readonly beforeId: string | null;
  readonly limit: number;
}

export interface ListedRow {
  readonly id: string;
  readonly createTime: string;
  readonly updateTime: string;
  readonly [column: string]: unknown;
}

/** Null: any. */
export interface PaymentFilter {
  readonly partnerOrgId: string | null;
  readonly status: string | null;
}

const SESSIONS = {
  from: 'selection_session',
  key: 'id',
  columns: `id, partner_org_id partnerOrgId, mode, status, target_payment_order_id paymentOrderId,
    creator_user_id creatorUserId, months, active_submit_id paymentOrderVersionId, invalidated_flag invalidatedFlag,
    invalidated_reason invalidatedReason, failure_phase failurePhase, failure_reason failureReason,
    state_version stateVersion, create_time createTime, update_time updateTime`,
};

export function listSessions(sql: Sql, filter: PaymentFilter, page: PageWish): Promise<Page<ListedRow>> {
  const filters = equalities({ partner_org_id: filter.partnerOrgId, status: filter.status });
  return listPage(sql, { ...SESSIONS, filters }, page);
}

export async function findListedSession(sql: Sql, id: string): Promise<ListedRow | null> {
  return sql.maybeOne<ListedRow>(`SELECT ${SESSIONS.columns} FROM ${SESSIONS.from} WHERE id = ?`, [id]);
}

const ORDERS = {
  from: 'fi_resident_income_payment_order',
  key: 'id',
  columns: `id, order_no orderNo, partner_org_id partnerOrgId, create_user_id creatorUserId,
    current_publish_version currentPublishVersion, order_status orderStatus, audit_status auditStatus,
    create_time createTime, update_time updateTime`,
};

export function listOrders(sql: Sql, filter: PaymentFilter, page: PageWish): Promise<Page<ListedRow>> {
  const filters = equalities({
    partner_org_id: filter.partnerOrgId,
    order_status: filter.status,
    deleted: 0,
  });
  return listPage(sql, { ...ORDERS, filters }, page);
}

export async function findListedOrder(sql: Sql, id: string): Promise<ListedRow | null> {
  return sql.maybeOne<ListedRow>(
    `SELECT ${ORDERS.columns} FROM ${ORDERS.from} WHERE id = ? AND deleted = 0`,
    [id],
  );
}

const VERSION_COLUMNS = `id paymentOrderVersionId, session_id sessionId, target_data_version targetDataVersion,
  submit_attempt submitAttempt, version_build_status versionBuildStatus, failure_code failureCode,
  failure_phase failurePhase, failure_message failureMessage, published_time publishedTime, create_time createTime`;
const VERSIONS_MAX = 50;

export async function listOrderVersions(
  sql: Sql,
  orderId: string,
): Promise<
  { readonly createTime: string; readonly publishedTime: string | null; readonly [column: string]: unknown }[]
> {
  return sql.many(
    `SELECT ${VERSION_COLUMNS} FROM fi_resident_income_payment_order_version
      WHERE payment_order_id = ? ORDER BY target_data_version DESC LIMIT ${VERSIONS_MAX}`,
    [orderId],
  );
}

export interface ListedOrderBill {
  readonly orderBillId: string;
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly amount: string;
  readonly kept: number;
  /** The lock that this version holds on it, live or released; null while another version holds it. */
  readonly lockStatus: string | null;
  readonly releaseReason: string | null;
  /** Of this order bill, reversals included. */
  readonly paidAmount: string;
}

/** Of one version, ascending by id. */
export async function listOrderBills(
  sql: Sql,
  versionId: string,
  page: { afterId: string; limit: number },
): Promise<ListedOrderBill[]> {
  return sql.many<ListedOrderBill>(
    `SELECT o.id orderBillId, o.partner_bill_id partnerBillId, o.platform_station_id platformStationId,
            o.bill_year_month billYearMonth, o.amount, o.kept, l.lock_status lockStatus, l.release_reason releaseReason,
            COALESCE((SELECT SUM(f.amount) FROM fi_resident_income_payment_fact f
                       WHERE f.partner_bill_id = o.partner_bill_id AND f.order_bill_id = o.id), 0.00) paidAmount
       FROM fi_resident_income_payment_order_bill o
       LEFT JOIN fi_resident_income_payment_bill_lock l
         ON l.platform_station_id = o.platform_station_id AND l.bill_year_month = o.bill_year_month
        AND l.order_bill_id = o.id
      WHERE o.payment_order_version_id = ? AND o.id > ? ORDER BY o.id LIMIT ${page.limit}`,
    [versionId, page.afterId],
  );
}
