/** Statements on the bills that a session has chosen (DEC-11), read from the snapshots. */
import type { Sql, SqlValue } from './sql.ts';

/** For whom bills are chosen: what this order's published version holds may be chosen again by its REVISE (PAY-3). */
export interface ChoosingSession {
  readonly sessionId: string;
  readonly partnerOrgId: string;
  /** Null for NEW, or before the order has a published version. */
  readonly ownLocks: { readonly paymentOrderId: string; readonly dataVersion: string } | null;
}

const LIVE_LOCK = `fi_resident_income_payment_bill_lock l
  ON l.platform_station_id = s.platform_station_id AND l.bill_year_month = s.bill_year_month
 AND l.lock_status IN ('RESERVED', 'ACTIVE')`;

const SELECTABLE = `s.payment_status IN ('PAYABLE', 'PARTIALLY_PAID') AND s.partner_query_status = 'VERIFIED'
  AND COALESCE(s.pre_rent_check_result, 'PASS') <> 'FAIL' AND s.partner_bill_id IS NOT NULL`;

function freeOfOthers(own: ChoosingSession['ownLocks']): { sql: string; values: SqlValue[] } {
  if (own === null) return { sql: 'l.id IS NULL', values: [] };
  return {
    sql: '(l.id IS NULL OR (l.payment_order_id = ? AND l.data_version = ?))',
    values: [own.paymentOrderId, own.dataVersion],
  };
}

export async function clearSelection(sql: Sql, sessionId: string): Promise<void> {
  await sql.change('DELETE FROM selection_session_bill WHERE session_id = ?', [sessionId]);
}

/** All that is selectable of these months; returns how many. */
export async function chooseMonths(
  sql: Sql,
  { sessionId, partnerOrgId, ownLocks }: ChoosingSession,
  months: readonly string[],
): Promise<number> {
  const free = freeOfOthers(ownLocks);
  return sql.change(
    `INSERT INTO selection_session_bill (session_id, platform_station_id, bill_year_month, partner_bill_id, named)
     SELECT DISTINCT ?, s.platform_station_id, s.bill_year_month, s.partner_bill_id, 0
       FROM fi_resident_income_payment_bill_dimension_snapshot s
       LEFT JOIN ${LIVE_LOCK}
      WHERE s.partner_org_id = ? AND s.bill_year_month IN (?) AND ${SELECTABLE} AND ${free.sql}`,
    [sessionId, partnerOrgId, months, ...free.values],
  );
}

/** A named bill with its snapshot, and who holds its station-month. */
export interface NamedBill {
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly paymentStatus: string;
  readonly partnerQueryStatus: string | null;
  readonly preRentCheckResult: string | null;
  readonly lockOrderId: string | null;
  readonly lockDataVersion: string | null;
}

export async function listNamedBills(
  sql: Sql,
  partnerOrgId: string,
  partnerBillIds: readonly string[],
): Promise<NamedBill[]> {
  if (partnerBillIds.length === 0) return [];
  return sql.many<NamedBill>(
    `SELECT b.id partnerBillId, s.platform_station_id platformStationId, s.bill_year_month billYearMonth,
            s.payment_status paymentStatus, s.partner_query_status partnerQueryStatus,
            s.pre_rent_check_result preRentCheckResult, l.payment_order_id lockOrderId, l.data_version lockDataVersion
       FROM fi_customer_bill_partner b
       JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
       JOIN station_mapping m ON m.partner_org_id = a.partner_org_id AND m.partner_station_no = a.partner_station_no
       JOIN fi_resident_income_payment_bill_dimension_snapshot s
         ON s.partner_org_id = b.partner_org_id AND s.platform_station_id = m.platform_station_id
        AND s.bill_year_month = b.bill_year_month AND s.partner_bill_id = b.id
       LEFT JOIN ${LIVE_LOCK}
      WHERE b.id IN (?) AND b.partner_org_id = ? AND b.del_flag = 0 ORDER BY b.id`,
    [partnerBillIds, partnerOrgId],
  );
}

export interface ChosenBill {
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly partnerBillId: string;
}

const CHUNK_SIZE_MAX = 1000;

export async function chooseNamed(sql: Sql, sessionId: string, bills: readonly ChosenBill[]): Promise<void> {
  for (let from = 0; from < bills.length; from += CHUNK_SIZE_MAX) {
    const chunk = bills.slice(from, from + CHUNK_SIZE_MAX);
    await sql.change(
      `INSERT INTO selection_session_bill (session_id, platform_station_id, bill_year_month, partner_bill_id, named)
       VALUES ${chunk.map(() => '(?, ?, ?, ?, 1)').join(', ')}`,
      chunk.flatMap((bill) => [sessionId, bill.platformStationId, bill.billYearMonth, bill.partnerBillId]),
    );
  }
}

/** A submit begins with all that was chosen: what an earlier build dropped may be payable again. */
export async function forgetDrops(sql: Sql, sessionId: string): Promise<void> {
  await sql.change('UPDATE selection_session_bill SET drop_reason = NULL WHERE session_id = ?', [sessionId]);
}

/** What a filter picked and a build could not take, with its reason (DEC-11). */
export async function dropBills(
  sql: Sql,
  sessionId: string,
  drops: readonly (Pick<ChosenBill, 'platformStationId' | 'billYearMonth'> & { readonly reason: string })[],
): Promise<void> {
  if (drops.length === 0) return;
  await sql.changeExactly(
    drops.length,
    'dropping chosen bills',
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (station_id BIGINT UNSIGNED PATH '$[0]',
              bill_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[1]', reason VARCHAR(40) CHARACTER SET utf8mb4 PATH '$[2]')) v
       STRAIGHT_JOIN selection_session_bill c ON c.session_id = ? AND c.platform_station_id = v.station_id
        AND c.bill_year_month = v.bill_month COLLATE utf8mb4_bin
        SET c.drop_reason = v.reason`,
    [
      JSON.stringify(drops.map((drop) => [drop.platformStationId, drop.billYearMonth, drop.reason])),
      sessionId,
    ],
  );
}

export interface SelectionCounts {
  readonly chosen: number;
  readonly named: number;
  readonly dropped: readonly { readonly reason: string; readonly bills: number }[];
}

export async function countSelection(sql: Sql, sessionId: string): Promise<SelectionCounts> {
  const rows = await sql.many<{ reason: string | null; bills: string; named: string }>(
    `SELECT drop_reason reason, COUNT(*) bills, SUM(named) named FROM selection_session_bill
      WHERE session_id = ? GROUP BY drop_reason ORDER BY drop_reason`,
    [sessionId],
  );
  const kept = rows.find((row) => row.reason === null);
  return {
    chosen: Number(kept?.bills ?? 0),
    named: Number(kept?.named ?? 0),
    dropped: rows.flatMap(({ reason, bills }) => (reason === null ? [] : [{ reason, bills: Number(bills) }])),
  };
}

/** Differences of these months that the read model has no row for yet. */
export async function countMissingSnapshots(
  sql: Sql,
  partnerOrgId: string,
  months: readonly string[],
): Promise<number> {
  const row = await sql.one<{ missing: string }>(`SELECT COUNT(*) missing ${MISSING_SNAPSHOTS}`, [
    partnerOrgId,
    months,
  ]);
  return Number(row.missing);
}

const MISSING_SNAPSHOTS = `FROM fi_monthly_income_difference d
  LEFT JOIN fi_resident_income_payment_bill_dimension_snapshot s
    ON s.partner_org_id = d.partner_org_id AND s.platform_station_id = d.station_id AND s.bill_year_month = d.share_month
 WHERE d.partner_org_id = ? AND d.share_month IN (?) AND s.id IS NULL`;

/** The stations, ascending, with the months that lack a row. */
export async function listMissingSnapshots(
  sql: Sql,
  partnerOrgId: string,
  months: readonly string[],
  page: { afterStationId: string; limit: number },
): Promise<{ platformStationId: string; month: string }[]> {
  return sql.many(
    `SELECT d.station_id platformStationId, d.share_month month ${MISSING_SNAPSHOTS} AND d.station_id > ?
      ORDER BY d.station_id, d.share_month LIMIT ${page.limit}`,
    [partnerOrgId, months, page.afterStationId],
  );
}
