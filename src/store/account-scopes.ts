/** What the account stage reads of its facts, and the outcome that it keeps for each account (ACC-5, ACC-13). */
import type { Sql } from './sql.ts';

/** A difference that an account's refresh rests on, with the amounts of its partner bill as they are now. */
export interface ScopeFact {
  readonly diffId: string;
  readonly partnerOrgId: string;
  readonly stationId: string;
  readonly shareMonth: string;
  readonly acceptNo: string;
  readonly partnerBillId: string | null;
  readonly platformBillId: string | null;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  readonly rent: string | null;
  readonly deduction: string | null;
  readonly freeze: string | null;
  readonly partnerQueryStatus: string | null;
  readonly billPushId: string | null;
}

const SCOPE_FACTS = `SELECT d.id diffId, d.partner_org_id partnerOrgId, d.station_id stationId, d.share_month shareMonth,
            d.accept_no acceptNo, d.partner_bill_id partnerBillId, d.platform_bill_id platformBillId,
            d.partner_account_id partnerAccountId, d.platform_account_id platformAccountId, b.rent,
            b.deduction_amount deduction, b.freeze_amount freeze, b.partner_query_status partnerQueryStatus, b.push_id billPushId
       FROM fi_monthly_income_difference d
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id`;

/**
 * ACC-5: differences by id in facts and station and partner of these accounts, by month and id. No facts: no rows, never
 * all rows.
 */
export async function listScopeFacts(
  sql: Sql,
  partnerOrgId: string,
  stationIds: readonly string[],
  factIds: readonly string[],
): Promise<ScopeFact[]> {
  if (factIds.length === 0 || stationIds.length === 0) return [];
  return sql.many<ScopeFact>(
    `${SCOPE_FACTS}
      WHERE d.id IN (?) AND d.station_id IN (?) AND d.partner_org_id = ?
      ORDER BY d.share_month, d.id`,
    [factIds, stationIds, partnerOrgId],
  );
}

/** ACC-14: every difference of these stations up to that month, by month and id. */
export async function listFactsUpTo(
  sql: Sql,
  partnerOrgId: string,
  stationIds: readonly string[],
  cutOffMonth: string,
): Promise<ScopeFact[]> {
  if (stationIds.length === 0) return [];
  return sql.many<ScopeFact>(
    `${SCOPE_FACTS}
      WHERE d.partner_org_id = ? AND d.station_id IN (?) AND d.share_month <= ?
      ORDER BY d.share_month, d.id`,
    [partnerOrgId, stationIds, cutOffMonth],
  );
}

/** The accounts of these that exist: a scope whose account is gone fails (ACC-4). */
export async function listExistingAccounts(
  sql: Sql,
  side: 'PLATFORM' | 'PARTNER',
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const table = side === 'PLATFORM' ? 'fi_customer_account' : 'fi_customer_account_partner';
  const rows = await sql.many<{ id: string }>(`SELECT id FROM ${table} WHERE id IN (?) AND del_flag = 0`, [
    ids,
  ]);
  return new Set(rows.map((row) => row.id));
}

export interface AccountOutcomeRow {
  readonly taskId: string;
  readonly platformStationId: string;
  readonly runningAttempt: number;
  readonly outcome: 'REFRESHED' | 'FAILED' | 'SKIPPED';
  readonly scopeCount: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** ACC-13: a cursor alone proves nothing. */
export async function insertAccountOutcomes(sql: Sql, outcomes: readonly AccountOutcomeRow[]): Promise<void> {
  if (outcomes.length === 0) return;
  await sql.change(
    `INSERT INTO account_refresh_outcome
       (task_id, platform_station_id, running_attempt, outcome, scope_count, error_code, error_message)
     VALUES ${outcomes.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    outcomes.flatMap((row) => [
      row.taskId,
      row.platformStationId,
      row.runningAttempt,
      row.outcome,
      row.scopeCount,
      row.errorCode?.slice(0, 40) ?? null,
      row.errorMessage?.slice(0, 1000) ?? null,
    ]),
  );
}
