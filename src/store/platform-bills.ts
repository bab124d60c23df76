/** Statements on our own accounts and bills: `fi_customer_account`, `fi_customer_bill` (DEC-7, DEC-15). */
import type { PlatformBillAmounts } from '../domain/platform-bill.ts';
import type { StationMonth } from './bill-locks.ts';
import type { Sql } from './sql.ts';

/** A station of ours that a request names, and which of the partner's stations it is. */
export interface NamedStation {
  readonly platformStationId: string;
  readonly platformStationNo: string;
  /** Null: this partner has no station there. */
  readonly partnerStationNo: string | null;
}

export async function listNamedStations(
  sql: Sql,
  partnerOrgId: string,
  platformStationIds: readonly string[],
): Promise<Map<string, NamedStation>> {
  if (platformStationIds.length === 0) return new Map();
  const rows = await sql.many<NamedStation>(
    `SELECT s.id platformStationId, s.station_no platformStationNo, m.partner_station_no partnerStationNo
       FROM prop_station s
       LEFT JOIN station_mapping m ON m.platform_station_id = s.id AND m.partner_org_id = ?
      WHERE s.id IN (?)`,
    [partnerOrgId, platformStationIds],
  );
  return new Map(rows.map((row) => [row.platformStationId, row]));
}

/** DEC-15: the first bill creates the account. The caller holds the stations' guards, so nobody else does. */
export async function insertPlatformAccounts(
  sql: Sql,
  partnerOrgId: string,
  stations: readonly NamedStation[],
): Promise<void> {
  if (stations.length === 0) return;
  await sql.changeExactly(
    stations.length,
    'creating platform accounts',
    `INSERT INTO fi_customer_account (partner_org_id, small_station_id, small_station_no)
     VALUES ${stations.map(() => '(?, ?, ?)').join(', ')}`,
    stations.flatMap((station) => [partnerOrgId, station.platformStationId, station.platformStationNo]),
  );
}

export type StoredPlatformBill = PlatformBillAmounts & {
  readonly billId: string;
  readonly customerAccountId: string;
  readonly billYearMonth: string;
  readonly deleted: number;
};

/** Deleted ones too. */
export async function listStoredPlatformBills(
  sql: Sql,
  accountIds: readonly string[],
  months: readonly string[],
): Promise<StoredPlatformBill[]> {
  if (accountIds.length === 0 || months.length === 0) return [];
  return sql.many<StoredPlatformBill>(
    `SELECT id billId, customer_account_id customerAccountId, bill_year_month billYearMonth, del_flag deleted,
            settlement_amount settlementAmount, rent, pre_rent preRent, freeze_amount freezeAmount,
            deduction_amount deductionAmount
       FROM fi_customer_bill WHERE customer_account_id IN (?) AND bill_year_month IN (?)`,
    [accountIds, months],
  );
}

export interface PlatformBillToWrite extends StationMonth {
  readonly customerAccountId: string;
  readonly amounts: PlatformBillAmounts;
}

/**
 * By (account, month): the amounts as they are given, never kept because the new one is null. A deleted bill that comes
 * again begins like a new one, with nothing payable. The flag comes last, since MySQL assigns from left to right.
 */
export async function upsertPlatformBills(
  sql: Sql,
  partnerOrgId: string,
  bills: readonly PlatformBillToWrite[],
): Promise<void> {
  if (bills.length === 0) return;
  const anew = (column: string, fallback: string) =>
    `${column} = IF(fi_customer_bill.del_flag = 1, ${fallback}, fi_customer_bill.${column})`;
  await sql.change(
    `INSERT INTO fi_customer_bill
       (customer_account_id, partner_org_id, small_station_id, bill_year_month, settlement_amount, rent, pre_rent,
        freeze_amount, deduction_amount)
     VALUES ${bills.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
     ON DUPLICATE KEY UPDATE settlement_amount = VALUES(settlement_amount), rent = VALUES(rent),
       pre_rent = VALUES(pre_rent), freeze_amount = VALUES(freeze_amount), deduction_amount = VALUES(deduction_amount),
       ${anew('payment_status', "'NOT_VERIFIED'")}, ${anew('paid_amount', '0')}, ${anew('current_payable', '0')},
       update_time = NOW(3), del_flag = 0`,
    bills.flatMap(({ customerAccountId, platformStationId, month, amounts }) => [
      customerAccountId,
      partnerOrgId,
      platformStationId,
      month,
      amounts.settlementAmount,
      amounts.rent,
      amounts.preRent,
      amounts.freezeAmount,
      amounts.deductionAmount,
    ]),
  );
}

/** DEC-7: deleted is marked, not removed. */
export async function markPlatformBillsDeleted(sql: Sql, billIds: readonly string[]): Promise<void> {
  if (billIds.length === 0) return;
  await sql.changeExactly(
    billIds.length,
    'deleting platform bills',
    'UPDATE fi_customer_bill SET del_flag = 1, update_time = NOW(3) WHERE id IN (?) AND del_flag = 0',
    [billIds],
  );
}

/** A partner's bill with a verdict on it. */
export interface JudgedBill {
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly partnerQueryStatus: string;
}

/** The partner's bills of these station-months that carry a verdict, whichever it is. */
export async function listJudgedBills(
  sql: Sql,
  partnerOrgId: string,
  where: readonly StationMonth[],
): Promise<JudgedBill[]> {
  if (where.length === 0) return [];
  return sql.many<JudgedBill>(
    `SELECT b.id partnerBillId, m.platform_station_id platformStationId, b.bill_year_month billYearMonth,
            b.partner_query_status partnerQueryStatus
       FROM JSON_TABLE(?, '$[*]' COLUMNS (station_id BIGINT UNSIGNED PATH '$[0]',
              bill_year_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[1]')) v
       STRAIGHT_JOIN station_mapping m ON m.partner_org_id = ? AND m.platform_station_id = v.station_id
       STRAIGHT_JOIN fi_customer_account_partner a
         ON a.partner_org_id = m.partner_org_id AND a.partner_station_no = m.partner_station_no
       STRAIGHT_JOIN fi_customer_bill_partner b
         ON b.customer_account_id = a.id AND b.bill_year_month = v.bill_year_month COLLATE utf8mb4_bin AND b.del_flag = 0
      WHERE b.partner_query_status IN ('VERIFIED', 'UNQUALIFIED')
      ORDER BY b.id`,
    [JSON.stringify(where.map((one) => [one.platformStationId, one.month])), partnerOrgId],
  );
}
