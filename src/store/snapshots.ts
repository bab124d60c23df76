/** Statements on the bill-dimension snapshots, the read model that payment selection reads (DEC-9, SNP-3, SNP-4). */
import type { Sql } from './sql.ts';

export interface SnapshotRefresh {
  readonly taskId: string;
  readonly generation: number;
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly months: readonly string[];
}

/**
 * SNP-3, full creation: a row for each of these months that has a difference and none yet; what it says is written by
 * the refresh that follows. The caller holds the stations' guards.
 */
export async function insertMissingSnapshots(
  sql: Sql,
  refreshes: readonly Pick<SnapshotRefresh, 'partnerOrgId' | 'platformStationId' | 'months'>[],
): Promise<void> {
  const rows = refreshes.flatMap(({ partnerOrgId, platformStationId, months }) =>
    months.map((month) => [partnerOrgId, platformStationId, month]),
  );
  if (rows.length === 0) return;
  await sql.change(
    `INSERT INTO fi_resident_income_payment_bill_dimension_snapshot (partner_org_id, platform_station_id, bill_year_month)
     SELECT d.partner_org_id, d.station_id, d.share_month
       FROM JSON_TABLE(?, '$[*]' COLUMNS (partner_org_id BIGINT UNSIGNED PATH '$[0]', station_id BIGINT UNSIGNED PATH '$[1]',
              share_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[2]')) v
       STRAIGHT_JOIN fi_monthly_income_difference d
         ON d.partner_org_id = v.partner_org_id AND d.station_id = v.station_id
        AND d.share_month = v.share_month COLLATE utf8mb4_bin
      ORDER BY d.partner_org_id, d.station_id, d.share_month
     ON DUPLICATE KEY UPDATE bill_year_month = VALUES(bill_year_month)`,
    [JSON.stringify(rows)],
  );
}

/**
 * Refreshes the rows that exist, from differences and bills as they are now; the caller holds the stations' guards. A row
 * takes only a financial version not lower than its own, and says by which task and generation it was made.
 */
export async function refreshExistingSnapshots(
  sql: Sql,
  refreshes: readonly SnapshotRefresh[],
): Promise<number> {
  const rows = refreshes.flatMap(({ taskId, generation, partnerOrgId, platformStationId, months }) =>
    months.map((month) => [taskId, generation, partnerOrgId, platformStationId, month]),
  );
  if (rows.length === 0) return 0;
  return sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (task_id BIGINT UNSIGNED PATH '$[0]', generation INT PATH '$[1]',
              partner_org_id BIGINT UNSIGNED PATH '$[2]', station_id BIGINT UNSIGNED PATH '$[3]',
              share_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[4]')) v
       STRAIGHT_JOIN fi_resident_income_payment_bill_dimension_snapshot s
         ON s.partner_org_id = v.partner_org_id AND s.platform_station_id = v.station_id
        AND s.bill_year_month = v.share_month COLLATE utf8mb4_bin
       STRAIGHT_JOIN fi_monthly_income_difference d
         ON d.partner_org_id = s.partner_org_id AND d.station_id = s.platform_station_id AND d.share_month = s.bill_year_month
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
        SET s.partner_bill_id = d.partner_bill_id, s.platform_bill_id = d.platform_bill_id, s.diff_id = d.id,
            s.canonical_account_id = COALESCE(d.platform_account_id, d.partner_account_id),
            s.partner_rent = d.partner_rent, s.platform_rent = d.platform_rent, s.deduction_amount = d.partner_deduction,
            s.freeze_amount = d.partner_freeze, s.payment_status = d.payment_status, s.paid_amount = d.paid_amount,
            s.current_payable = d.current_payable, s.partner_query_status = b.partner_query_status,
            s.pre_rent_check_result = d.pre_rent_check_result, s.accept_no = d.accept_no, s.data_version = d.data_version,
            s.financial_version = d.financial_version, s.task_id = v.task_id, s.request_generation = v.generation,
            s.snapshot_time = NOW(3), s.update_time = NOW(3)
      WHERE s.financial_version <= d.financial_version`,
    [JSON.stringify(rows)],
  );
}
