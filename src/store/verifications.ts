/** Statements of a verification: the bill with its difference, and the verdict on both (DEC-8). */
import { isPlatformChangeDue } from './platform-changes.ts';
import type { Sql } from './sql.ts';

export interface VerifiableBill {
  readonly partnerBillId: string;
  readonly partnerOrgId: string;
  /** Null: not mapped to a station of ours. */
  readonly platformStationId: string | null;
  readonly billYearMonth: string;
  readonly acceptNo: string;
  readonly partnerQueryStatus: string | null;
  readonly unqualifiedReason: string | null;
  readonly paymentFlow: 'ENABLED' | 'DISABLED' | null;
  readonly diffId: string | null;
  readonly diffAcceptNo: string | null;
  readonly diffStatus: string | null;
  readonly bothSidesReady: number | null;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  /** An unfinished message speaks of our own bill of that station-month. */
  readonly platformChangeDue: number | string;
}

const PLATFORM_CHANGE_DUE = isPlatformChangeDue({
  partner: 'b.partner_org_id',
  station: 'm.platform_station_id',
  month: 'b.bill_year_month',
});

export async function listVerifiableBills(sql: Sql, ids: readonly string[]): Promise<VerifiableBill[]> {
  if (ids.length === 0) return [];
  return sql.many<VerifiableBill>(
    `SELECT b.id partnerBillId, b.partner_org_id partnerOrgId, m.platform_station_id platformStationId,
            b.bill_year_month billYearMonth, b.accept_no acceptNo, b.partner_query_status partnerQueryStatus,
            b.unqualified_reason unqualifiedReason, p.payment_flow paymentFlow, d.id diffId, d.accept_no diffAcceptNo,
            d.status diffStatus, d.both_sides_ready bothSidesReady, d.partner_account_id partnerAccountId,
            d.platform_account_id platformAccountId, ${PLATFORM_CHANGE_DUE} platformChangeDue
       FROM fi_customer_bill_partner b
       JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
       JOIN partner p ON p.partner_org_id = b.partner_org_id
       LEFT JOIN station_mapping m
         ON m.partner_org_id = a.partner_org_id AND m.partner_station_no = a.partner_station_no
       LEFT JOIN fi_monthly_income_difference d
         ON d.partner_org_id = b.partner_org_id AND d.station_id = m.platform_station_id
        AND d.share_month = b.bill_year_month AND d.partner_bill_id = b.id
      WHERE b.id IN (?) AND b.del_flag = 0 ORDER BY b.id`,
    [ids],
  );
}

export interface VerdictToWrite {
  readonly partnerBillId: string;
  readonly diffId: string;
  readonly partnerQueryStatus: string;
  readonly reason: string | null;
}

/** Bill, then difference (ENG-17); the caller holds the platform guards. Each counts the financial version up. */
export async function writeVerdicts(sql: Sql, verdicts: readonly VerdictToWrite[]): Promise<void> {
  if (verdicts.length === 0) return;
  const rows = JSON.stringify(
    verdicts.map((verdict) => [
      verdict.partnerBillId,
      verdict.diffId,
      verdict.partnerQueryStatus,
      verdict.reason,
    ]),
  );
  const table = `JSON_TABLE(?, '$[*]' COLUMNS (bill_id BIGINT UNSIGNED PATH '$[0]', diff_id BIGINT UNSIGNED PATH '$[1]',
    verdict VARCHAR(16) CHARACTER SET utf8mb4 PATH '$[2]', reason VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[3]')) v`;
  const unqualified = "v.verdict = 'UNQUALIFIED'";
  await sql.changeExactly(
    verdicts.length,
    'writing verdicts on bills',
    `UPDATE ${table} STRAIGHT_JOIN fi_customer_bill_partner b ON b.id = v.bill_id
        SET b.partner_query_status = v.verdict, b.unqualified_flag = IF(${unqualified}, 1, 0),
            b.unqualified_reason = IF(${unqualified}, v.reason, NULL),
            b.last_unqualified_time = IF(${unqualified}, NOW(3), b.last_unqualified_time), b.reverify_flag = 0,
            b.update_time = NOW(3)`,
    [rows],
  );
  await sql.changeExactly(
    verdicts.length,
    'writing verdicts on differences',
    `UPDATE ${table} STRAIGHT_JOIN fi_monthly_income_difference d ON d.id = v.diff_id
        SET d.partner_query_status = v.verdict, d.financial_version = d.financial_version + 1, d.update_time = NOW(3)`,
    [rows],
  );
}
