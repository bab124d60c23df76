/** What a build reads of the bills that it is to reserve, and the order bills and locks that it writes (PAY-3, DEC-11). */

import type { VersionRow } from './payment-orders.ts';
import type { Sql } from './sql.ts';

/** A chosen bill as it is under its guard; bills and facts, not the read model. */
export interface ReservableBill {
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly partnerBillId: string;
  readonly named: number;
  readonly partnerStationNo: string | null;
  /** Null: the bill is gone, or has no difference any more. */
  readonly diffId: string | null;
  readonly rent: string | null;
  readonly deduction: string | null;
  readonly freeze: string | null;
  readonly partnerQueryStatus: string | null;
  readonly preRentCheckResult: string | null;
  readonly paymentFlow: 'ENABLED' | 'DISABLED' | null;
  readonly lockId: string | null;
  readonly lockOrderId: string | null;
  readonly lockDataVersion: string | null;
}

/** The next stations with chosen bills, ascending; whole stations, so that a guard is taken once. */
export async function listStationsToReserve(
  sql: Sql,
  sessionId: string,
  afterStationId: string,
  billsMax: number,
): Promise<string[]> {
  const rows = await sql.many<{ platformStationId: string }>(
    `SELECT DISTINCT platform_station_id platformStationId
       FROM (SELECT platform_station_id FROM selection_session_bill
              WHERE session_id = ? AND platform_station_id > ?
              ORDER BY platform_station_id, bill_year_month LIMIT ${billsMax}) next_bills
      ORDER BY platform_station_id`,
    [sessionId, afterStationId],
  );
  return rows.map((row) => row.platformStationId);
}

export async function listReservableBills(
  sql: Sql,
  sessionId: string,
  stationIds: readonly string[],
): Promise<ReservableBill[]> {
  if (stationIds.length === 0) return [];
  return sql.many<ReservableBill>(
    `SELECT c.platform_station_id platformStationId, c.bill_year_month billYearMonth, c.partner_bill_id partnerBillId,
            c.named, a.partner_station_no partnerStationNo, d.id diffId, b.rent, b.deduction_amount deduction,
            b.freeze_amount freeze, b.partner_query_status partnerQueryStatus,
            d.pre_rent_check_result preRentCheckResult, p.payment_flow paymentFlow, l.id lockId,
            l.payment_order_id lockOrderId, l.data_version lockDataVersion
       FROM selection_session_bill c
       LEFT JOIN fi_customer_bill_partner b ON b.id = c.partner_bill_id AND b.del_flag = 0
       LEFT JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
       LEFT JOIN partner p ON p.partner_org_id = b.partner_org_id
       LEFT JOIN fi_monthly_income_difference d
         ON d.partner_org_id = b.partner_org_id AND d.station_id = c.platform_station_id
        AND d.share_month = c.bill_year_month AND d.partner_bill_id = b.id
       LEFT JOIN fi_resident_income_payment_bill_lock l
         ON l.platform_station_id = c.platform_station_id AND l.bill_year_month = c.bill_year_month
        AND l.lock_status IN ('RESERVED', 'ACTIVE')
      WHERE c.session_id = ? AND c.platform_station_id IN (?)
      ORDER BY c.platform_station_id, c.bill_year_month`,
    [sessionId, stationIds],
  );
}

export interface NewOrderBill {
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly partnerBillId: string;
  readonly amount: string;
}

/** The bills of a version that are reserved for it, their amounts frozen now. */
export async function insertReservedBills(
  sql: Sql,
  partnerOrgId: string,
  version: VersionRow,
  bills: readonly NewOrderBill[],
): Promise<void> {
  if (bills.length === 0) return;
  await sql.changeExactly(
    bills.length,
    'writing order bills',
    `INSERT INTO fi_resident_income_payment_order_bill
       (payment_order_id, payment_order_version_id, data_version, partner_org_id, partner_bill_id, platform_station_id,
        bill_year_month, amount)
     VALUES ${bills.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    bills.flatMap((bill) => [
      version.paymentOrderId,
      version.id,
      version.targetDataVersion,
      partnerOrgId,
      bill.partnerBillId,
      bill.platformStationId,
      bill.billYearMonth,
      bill.amount,
    ]),
  );
}

/** PAY-3: a RESERVED lock for each of the version's bills on these stations; a live one of another is refused by its key. */
export async function insertReservedLocks(
  sql: Sql,
  version: VersionRow,
  bills: readonly NewOrderBill[],
): Promise<void> {
  if (bills.length === 0) return;
  await sql.changeExactly(
    bills.length,
    'reserving bill locks',
    `INSERT INTO fi_resident_income_payment_bill_lock
       (lock_key, lock_status, platform_station_id, bill_year_month, partner_org_id, partner_bill_id, payment_order_id,
        payment_order_version_id, order_bill_id, session_id, submit_attempt, submit_token, data_version)
     SELECT CONCAT(o.platform_station_id, ':', o.bill_year_month), 'RESERVED', o.platform_station_id, o.bill_year_month,
            o.partner_org_id, o.partner_bill_id, o.payment_order_id, o.payment_order_version_id, o.id, ?, ?, ?, o.data_version
       FROM fi_resident_income_payment_order_bill o
      WHERE o.payment_order_version_id = ? AND o.platform_station_id IN (?) AND o.kept = 0
      ORDER BY o.platform_station_id, o.bill_year_month`,
    [
      version.sessionId,
      version.submitAttempt,
      version.submitToken,
      version.id,
      [...new Set(bills.map((bill) => bill.platformStationId))],
    ],
  );
}

/** PAY-3: bills that the order's published version holds; their amounts stay as they were frozen then. */
export async function insertKeptBills(
  sql: Sql,
  version: VersionRow,
  lockIds: readonly string[],
): Promise<void> {
  if (lockIds.length === 0) return;
  await sql.changeExactly(
    lockIds.length,
    'taking order bills over',
    `INSERT INTO fi_resident_income_payment_order_bill
       (payment_order_id, payment_order_version_id, data_version, partner_org_id, partner_bill_id, platform_station_id,
        bill_year_month, amount, kept)
     SELECT o.payment_order_id, ?, ?, o.partner_org_id, o.partner_bill_id, o.platform_station_id, o.bill_year_month,
            o.amount, 1
       FROM fi_resident_income_payment_bill_lock l
       JOIN fi_resident_income_payment_order_bill o ON o.id = l.order_bill_id
      WHERE l.id IN (?)`,
    [version.id, version.targetDataVersion, lockIds],
  );
}

/** LCK-14: what makes a lock a submit's. */
export const OF_SUBMIT =
  'l.payment_order_id = ? AND l.session_id = ? AND l.submit_attempt = ? AND l.data_version = ?';
export const submitOf = (version: VersionRow) => [
  version.paymentOrderId,
  version.sessionId,
  version.submitAttempt,
  version.targetDataVersion,
];

/** Whether the submit still holds any lock, RESERVED or ACTIVE. */
export async function holdsLiveLocks(sql: Sql, version: VersionRow): Promise<boolean> {
  const lock = await sql.maybeOne(
    `SELECT l.id FROM fi_resident_income_payment_bill_lock l
      WHERE ${OF_SUBMIT} AND l.lock_status IN ('RESERVED', 'ACTIVE') LIMIT 1`,
    submitOf(version),
  );
  return lock !== null;
}

export interface HeldBills {
  /** Order bills of the version. */
  readonly bills: number;
  /** Those with a live lock of the submit. */
  readonly reserved: number;
  /** Those kept whose lock the published version holds. */
  readonly kept: number;
}

/** PAY-3, PAY-4: reserved + kept must be all. */
export async function countHeldBills(
  sql: Sql,
  version: VersionRow,
  publishedVersion: string | null,
): Promise<HeldBills> {
  const row = await sql.one<Record<keyof HeldBills, string>>(
    `SELECT COUNT(*) bills, COALESCE(SUM(o.kept = 0 AND l.order_bill_id = o.id AND ${OF_SUBMIT}), 0) reserved,
            COALESCE(SUM(o.kept = 1 AND l.payment_order_id = o.payment_order_id AND l.data_version = ?), 0) kept
       FROM fi_resident_income_payment_order_bill o
       LEFT JOIN fi_resident_income_payment_bill_lock l
         ON l.lock_key = CONCAT(o.platform_station_id, ':', o.bill_year_month) AND l.lock_status IN ('RESERVED', 'ACTIVE')
      WHERE o.payment_order_version_id = ?`,
    [...submitOf(version), publishedVersion, version.id],
  );
  return { bills: Number(row.bills), reserved: Number(row.reserved), kept: Number(row.kept) };
}
