/** Statements that make a published version's locks its own (PAY-5): RESERVED becomes ACTIVE, kept ones change their label. */
import type { VersionRow } from './payment-orders.ts';
import { OF_SUBMIT, submitOf } from './reservations.ts';
import type { Sql } from './sql.ts';

const LOCKS = 'fi_resident_income_payment_bill_lock';

/** The next RESERVED locks of the submit, found by the version's index; the caller has locked the version. */
export async function activateReserved(sql: Sql, version: VersionRow, locksMax: number): Promise<number> {
  const rows = await sql.many<{ id: string }>(
    `SELECT l.id FROM ${LOCKS} l FORCE INDEX (idx_bill_lock_version)
      WHERE l.payment_order_version_id = ? AND l.lock_status = 'RESERVED' AND ${OF_SUBMIT}
      ORDER BY l.id LIMIT ${locksMax}`,
    [version.id, ...submitOf(version)],
  );
  if (rows.length === 0) return 0;
  await sql.changeExactly(
    rows.length,
    'activating bill locks',
    `UPDATE ${LOCKS} SET lock_status = 'ACTIVE', update_time = NOW(3) WHERE id IN (?) AND lock_status = 'RESERVED'`,
    [rows.map((row) => row.id)],
  );
  return rows.length;
}

/** A bill that a version took over from the one published before, and the live lock of its station-month. */
export interface KeptBill {
  readonly orderBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly lockId: string | null;
  readonly lockOrderId: string | null;
  readonly lockDataVersion: string | null;
}

/** The next ones by station and month; a station is never cut. */
export async function listKeptBills(
  sql: Sql,
  versionId: string,
  afterStationId: string,
  billsMax: number,
): Promise<KeptBill[]> {
  return sql.many<KeptBill>(
    `SELECT o.id orderBillId, o.platform_station_id platformStationId, o.bill_year_month billYearMonth, l.id lockId,
            l.payment_order_id lockOrderId, l.data_version lockDataVersion
       FROM (SELECT DISTINCT platform_station_id
               FROM (SELECT platform_station_id FROM fi_resident_income_payment_order_bill
                      WHERE payment_order_version_id = ? AND platform_station_id > ? AND kept = 1
                      ORDER BY platform_station_id, bill_year_month LIMIT ${billsMax}) page) station
       JOIN fi_resident_income_payment_order_bill o
         ON o.payment_order_version_id = ? AND o.platform_station_id = station.platform_station_id AND o.kept = 1
       LEFT JOIN ${LOCKS} l ON l.lock_key = CONCAT(o.platform_station_id, ':', o.bill_year_month)
      ORDER BY o.platform_station_id, o.bill_year_month`,
    [versionId, afterStationId, versionId],
  );
}

/** From one published version to the next: the locks now belong to the submit of this version (LCK-14). */
export async function relabelLocks(
  sql: Sql,
  version: VersionRow,
  earlier: VersionRow,
  locks: readonly { readonly lockId: string; readonly orderBillId: string }[],
): Promise<void> {
  if (locks.length === 0) return;
  await sql.changeExactly(
    locks.length,
    'relabelling kept bill locks',
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT UNSIGNED PATH '$[0]', order_bill_id BIGINT UNSIGNED PATH '$[1]')) v
       STRAIGHT_JOIN ${LOCKS} l ON l.id = v.id
        SET l.payment_order_version_id = ?, l.order_bill_id = v.order_bill_id, l.session_id = ?, l.submit_attempt = ?,
            l.submit_token = ?, l.data_version = ?, l.lock_status = 'ACTIVE', l.update_time = NOW(3)
      WHERE l.lock_status IN ('RESERVED', 'ACTIVE') AND l.payment_order_id = ? AND l.data_version = ?`,
    [
      JSON.stringify(locks.map((lock) => [lock.lockId, lock.orderBillId])),
      version.id,
      version.sessionId,
      version.submitAttempt,
      version.submitToken,
      version.targetDataVersion,
      earlier.paymentOrderId,
      earlier.targetDataVersion,
    ],
  );
}

/** Order bills whose live locks a submit still holds. */
export async function listHeldOrderBills(sql: Sql, version: VersionRow): Promise<string[]> {
  const rows = await sql.many<{ orderBillId: string }>(
    `SELECT l.order_bill_id orderBillId FROM ${LOCKS} l
      WHERE ${OF_SUBMIT} AND l.lock_status IN ('RESERVED', 'ACTIVE') AND l.order_bill_id IS NOT NULL ORDER BY l.id`,
    submitOf(version),
  );
  return rows.map((row) => row.orderBillId);
}
