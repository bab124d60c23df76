/** Statements on `fi_customer_bill_partner`. */
import { inRanges, type RowRange } from './row-ranges.ts';
import type { Sql } from './sql.ts';
import { ACCEPTED_ROWS, ITS_ACCOUNT, ITS_BILL, ROW_VERSION } from './station-units.ts';

/** STA-10: what a later push overwrites. Never id, key or creation columns; never added to, never kept for a null. */
const OVERWRITTEN = [
  'station_id',
  'rent_pay_method',
  'settlement_amount',
  'share_ratio',
  'period',
  'sharing_block_count',
  'unit_price',
  'rent',
  'pre_rent',
  'freeze_amount',
  'deduction_amount',
  'remark',
  'reason',
  'settlement_batch_no',
  'is_supplement',
  'content_hash',
  'last_push_time',
  'update_user_id',
  'push_id',
  'push_row_no',
] as const;

const TABLE = 'fi_customer_bill_partner';
const IS_LATER = `(VALUES(data_version) > ${TABLE}.data_version
  OR (VALUES(data_version) = ${TABLE}.data_version AND VALUES(accept_no) > ${TABLE}.accept_no))`;
const taken = (column: string) => `${column} = IF(${IS_LATER}, VALUES(${column}), ${TABLE}.${column})`;

/**
 * STA-8, STA-10, STA-11: writes the accepted rows of these ranges as bills, by business key, from the pushed rows
 * themselves; a bill takes only a higher order number. The order number's columns come last, since MySQL assigns from
 * left to right.
 */
export async function upsertPartnerBills(sql: Sql, ranges: readonly RowRange[]): Promise<void> {
  const where = inRanges('r', ranges);
  await sql.change(
    `INSERT INTO fi_customer_bill_partner
       (customer_account_id, partner_org_id, bill_year_month, station_id, rent_pay_method, settlement_amount, share_ratio,
        period, sharing_block_count, unit_price, rent, pre_rent, freeze_amount, deduction_amount, remark, reason,
        settlement_batch_no, is_supplement, content_hash, last_push_time, update_user_id, push_id, push_row_no,
        accept_no, data_version)
     SELECT a.id, p.partner_org_id, r.bill_year_month, r.partner_station_id, r.rent_pay_method, r.settlement_amount,
            r.share_ratio, r.period, r.sharing_block_count, r.unit_price, r.rent, r.pre_rent, r.freeze_amount,
            r.deduction_amount, r.remark, r.reason, r.settlement_batch_no, r.is_supplement, r.content_hash, NOW(3), 0,
            r.push_id, r.row_no, p.accept_no, ${ROW_VERSION}
       FROM ${ACCEPTED_ROWS} JOIN ${ITS_ACCOUNT}
      WHERE ${where.condition} AND r.accepted = 1
      ORDER BY a.id, r.bill_year_month
     ON DUPLICATE KEY UPDATE
       ${OVERWRITTEN.map(taken).join(', ')},
       update_time = IF(${IS_LATER}, NOW(3), ${TABLE}.update_time),
       accept_no = IF(${IS_LATER}, VALUES(accept_no), ${TABLE}.accept_no),
       data_version = GREATEST(VALUES(data_version), ${TABLE}.data_version)`,
    where.values,
  );
}

/** A pushed row and the bill that now stands in its place. */
export interface WrittenBill {
  readonly pushId: string;
  readonly rowNo: number;
  readonly billId: string;
  readonly customerAccountId: string;
  readonly partnerStationNo: string;
  /** Whether the bill is this row's; else a later push holds it and the row is STALE (STA-12). */
  readonly won: boolean;
}

/** STA-12: the real ids, never those that the input carried. */
export async function readBackBills(sql: Sql, ranges: readonly RowRange[]): Promise<WrittenBill[]> {
  const where = inRanges('r', ranges);
  // A comparison is a BIGINT to MySQL, and those come as text.
  const rows = await sql.many<Omit<WrittenBill, 'won'> & { won: string | number }>(
    `SELECT r.push_id pushId, r.row_no rowNo, b.id billId, a.id customerAccountId, r.partner_station_no partnerStationNo,
            (b.push_id = r.push_id AND b.push_row_no = r.row_no) won
       FROM ${ACCEPTED_ROWS} JOIN ${ITS_ACCOUNT} JOIN ${ITS_BILL}
      WHERE ${where.condition} AND r.accepted = 1
      ORDER BY r.push_id, r.row_no`,
    where.values,
  );
  return rows.map((row) => ({ ...row, won: Number(row.won) === 1 }));
}

/**
 * STA-13: the cumulative deduction of each platform station over all its partner bills, all partners, all months, as
 * the database stands now; the caller holds the stations' guards. A station without bills has no entry. The way from the
 * stations to their bills is said to the optimizer: on statistics from when bills were few it begins with all of them.
 */
export async function sumStationAmounts(
  sql: Sql,
  platformStationIds: readonly string[],
): Promise<Map<string, { deduction: string; preRent: string }>> {
  if (platformStationIds.length === 0) return new Map();
  const rows = await sql.many<{ platformStationId: string; deduction: string; preRent: string }>(
    `SELECT m.platform_station_id platformStationId, SUM(COALESCE(b.deduction_amount, 0)) deduction,
            SUM(COALESCE(b.pre_rent, 0)) preRent
       FROM station_mapping m FORCE INDEX (idx_mapping_platform)
       STRAIGHT_JOIN fi_customer_account_partner a FORCE INDEX (uk_partner_account)
          ON a.partner_org_id = m.partner_org_id AND a.partner_station_no = m.partner_station_no
       STRAIGHT_JOIN fi_customer_bill_partner b FORCE INDEX (uk_partner_bill)
          ON b.customer_account_id = a.id AND b.del_flag = 0
      WHERE m.platform_station_id IN (?) GROUP BY m.platform_station_id`,
    [platformStationIds],
  );
  return new Map(
    rows.map((row) => [row.platformStationId, { deduction: row.deduction, preRent: row.preRent }]),
  );
}

/** STA-14: a push that won starts verification anew, equal amounts included. */
export async function resetVerification(sql: Sql, billIds: readonly string[]): Promise<void> {
  if (billIds.length === 0) return;
  await sql.change(
    `UPDATE fi_customer_bill_partner
        SET partner_query_status = 'NOT_VERIFIED', unqualified_flag = 0, unqualified_reason = NULL,
            last_unqualified_time = NULL, reverify_flag = 1
      WHERE id IN (?)
        AND NOT (partner_query_status <=> 'NOT_VERIFIED' AND unqualified_flag = 0 AND unqualified_reason IS NULL
                 AND last_unqualified_time IS NULL AND reverify_flag = 1)`,
    [billIds],
  );
}
