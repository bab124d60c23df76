/** Statements on `fi_monthly_income_difference` and the monthly summary `fi_project_income_difference`. */
import type { DifferenceStatus, SideAmounts } from '../domain/difference.ts';
import type { Sql, SqlValue } from './sql.ts';

export interface DifferenceRow {
  readonly partnerOrgId: string;
  readonly stationId: string;
  readonly shareMonth: string;
  readonly projectCompanyId: string;
  readonly partnerBillId: string | null;
  readonly platformBillId: string | null;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  readonly partner: SideAmounts;
  readonly platform: SideAmounts;
  readonly difference: SideAmounts;
  readonly status: DifferenceStatus;
  readonly bothSidesReady: boolean;
  readonly partnerQueryStatus: string | null;
  readonly acceptNo: string;
  readonly dataVersion: string;
}

const COLUMNS = [
  'partner_org_id',
  'station_id',
  'share_month',
  'project_company_id',
  'partner_bill_id',
  'platform_bill_id',
  'partner_account_id',
  'platform_account_id',
  ...['partner', 'platform', 'diff'].flatMap((side) =>
    ['settlement', 'rent', 'pre_rent', 'freeze', 'deduction'].map((name) => `${side}_${name}`),
  ),
  'status',
  'both_sides_ready',
  'partner_query_status',
  'accept_no',
  'data_version',
] as const;
const KEY_COLUMNS = 3;

function valuesOf(row: DifferenceRow): SqlValue[] {
  const amounts = (side: SideAmounts) => [
    side.settlement,
    side.rent,
    side.preRent,
    side.freeze,
    side.deduction,
  ];
  return [
    row.partnerOrgId,
    row.stationId,
    row.shareMonth,
    row.projectCompanyId,
    row.partnerBillId,
    row.platformBillId,
    row.partnerAccountId,
    row.platformAccountId,
    ...amounts(row.partner),
    ...amounts(row.platform),
    ...amounts(row.difference),
    row.status,
    row.bothSidesReady ? 1 : 0,
    row.partnerQueryStatus,
    row.acceptNo,
    row.dataVersion,
  ];
}

/**
 * DIF-7, DIF-8: by business key; each write that changes something counts `financial_version` up (DEC-15: one without a
 * change would leave every snapshot behind it for good, since what it asks for was done already). Assignments are made
 * from left to right, so the comparison comes first. Rows come sorted by key.
 */
export async function upsertDifferences(sql: Sql, rows: readonly DifferenceRow[]): Promise<void> {
  if (rows.length === 0) return;
  const tuple = `(${COLUMNS.map(() => '?').join(', ')})`;
  const own = COLUMNS.slice(KEY_COLUMNS);
  const unchanged = own.map((column) => `${column} <=> VALUES(${column})`).join(' AND ');
  const taken = own.map((column) => `${column} = VALUES(${column})`).join(', ');
  await sql.change(
    `INSERT INTO fi_monthly_income_difference (${COLUMNS.join(', ')}) VALUES ${rows.map(() => tuple).join(', ')}
     ON DUPLICATE KEY UPDATE financial_version = financial_version + IF(${unchanged}, 0, 1), ${taken}, update_time = NOW(3)`,
    rows.flatMap(valuesOf),
  );
}

/** A difference as read back or as it was before, by business key. */
export interface StoredDifference {
  readonly id: string;
  readonly partnerOrgId: string;
  readonly stationId: string;
  readonly shareMonth: string;
  readonly projectCompanyId: string;
  readonly partnerBillId: string | null;
  readonly platformBillId: string | null;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  readonly partnerRent: string;
  readonly platformRent: string;
  readonly diffRent: string;
  readonly status: DifferenceStatus;
}

export async function listDifferences(
  sql: Sql,
  partnerOrgId: string,
  stationIds: readonly string[],
  months: readonly string[],
): Promise<StoredDifference[]> {
  if (stationIds.length === 0 || months.length === 0) return [];
  return sql.many<StoredDifference>(
    `SELECT id, partner_org_id partnerOrgId, station_id stationId, share_month shareMonth, project_company_id projectCompanyId,
            partner_bill_id partnerBillId, platform_bill_id platformBillId, partner_account_id partnerAccountId,
            platform_account_id platformAccountId, partner_rent partnerRent, platform_rent platformRent, diff_rent diffRent, status
       FROM fi_monthly_income_difference
      WHERE partner_org_id = ? AND station_id IN (?) AND share_month IN (?)`,
    [partnerOrgId, stationIds, months],
  );
}

/** DIF-6: a disabled partner's rows carry no conclusions of a payment that does not exist. */
export async function clearPaymentConclusions(sql: Sql, diffIds: readonly string[]): Promise<void> {
  if (diffIds.length === 0) return;
  await sql.change(
    `UPDATE fi_monthly_income_difference
        SET partner_query_status = NULL, pre_rent_check_result = NULL, pre_rent_check_reason = NULL WHERE id IN (?)`,
    [diffIds],
  );
}

/** What a message changes about a project company's month; counts and CNY, positive or negative. */
export interface SummaryMove {
  readonly projectCompanyId: string;
  readonly shareMonth: string;
  readonly differences: number;
  readonly matched: number;
  readonly mismatched: number;
  readonly partnerOnly: number;
  readonly platformOnly: number;
  readonly partnerRent: string;
  readonly platformRent: string;
  readonly diffRent: string;
}

const SUMMED = [
  'difference_count',
  'matched_count',
  'mismatched_count',
  'partner_only_count',
  'platform_only_count',
  'partner_rent',
  'platform_rent',
  'diff_rent',
];

/** DIF-9: moved by the difference of old and new, in one statement; rows come ascending, and last of all locks. */
export async function moveSummaries(sql: Sql, moves: readonly SummaryMove[]): Promise<void> {
  if (moves.length === 0) return;
  await sql.change(
    `INSERT INTO fi_project_income_difference (project_company_id, share_month, ${SUMMED.join(', ')})
     VALUES ${moves.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
     ON DUPLICATE KEY UPDATE ${SUMMED.map((column) => `${column} = ${column} + VALUES(${column})`).join(', ')}, update_time = NOW(3)`,
    moves.flatMap((move) => [
      move.projectCompanyId,
      move.shareMonth,
      move.differences,
      move.matched,
      move.mismatched,
      move.partnerOnly,
      move.platformOnly,
      move.partnerRent,
      move.platformRent,
      move.diffRent,
    ]),
  );
}
