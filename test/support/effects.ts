/** What a push has made, counted from the facts: more than it should be is something done twice. */
import type { Sql } from '../../src/store/sql.ts';

export interface PushedRoofs {
  readonly partnerOrgId: string;
  readonly pushId: string;
}

export interface Work {
  readonly bills: number;
  readonly accountLogs: number;
  readonly handedOver: number;
  /** Accounts that were refreshed, each as often as it was. */
  readonly refreshes: number;
  readonly attemptsSpent: number;
  readonly crashes: number;
  /** Tasks that have not succeeded. */
  readonly open: number;
}

/** @param from a table, and what of it */
export async function countRows(sql: Sql, from: string, values: readonly string[] = []): Promise<number> {
  return Number((await sql.one<{ n: string }>(`SELECT COUNT(*) n FROM ${from}`, values)).n);
}

export async function workOf(sql: Sql, { partnerOrgId, pushId }: PushedRoofs): Promise<Work> {
  const one = async (statement: string, values: readonly string[]) =>
    Number((await sql.one<{ n: string | null }>(statement, values)).n ?? 0);
  const count = (from: string, values: readonly string[]) => countRows(sql, from, values);
  const ofTasks = (what: string) =>
    one(`SELECT SUM(${what}) n FROM fi_async_task WHERE partner_org_id = ?`, [partnerOrgId]);
  return {
    bills: await count('fi_customer_bill_partner WHERE partner_org_id = ?', [partnerOrgId]),
    accountLogs: await count('fi_customer_account_partner_log WHERE push_id = ?', [pushId]),
    handedOver: await count('income_diff_handover WHERE push_id = ? AND message_task_id > 0', [pushId]),
    refreshes: await count(
      `account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id
        WHERE t.push_id = ? AND o.outcome = 'REFRESHED'`,
      [pushId],
    ),
    attemptsSpent: await ofTasks('retry_count'),
    crashes: await ofTasks('crash_count'),
    open: await ofTasks('status <> 2'),
  };
}

/** How often each difference of the partner was written, in order of their ids. */
export async function listDifferenceVersions(sql: Sql, partnerOrgId: string): Promise<number[]> {
  const rows = await sql.many<{ version: number }>(
    'SELECT financial_version version FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY id',
    [partnerOrgId],
  );
  return rows.map(({ version }) => Number(version));
}
