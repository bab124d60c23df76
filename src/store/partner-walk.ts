/** Going over all accounts of a partner, a page at a time, by platform station (ACC-14). */
import type { Sql } from './sql.ts';

export interface AccountStation {
  readonly platformStationId: string;
  /** Differences up to the cut-off. */
  readonly scopeCount: number;
}

export interface AccountWalk {
  readonly partnerOrgId: string;
  /** The cursor; '0' before the first. */
  readonly afterStationId: string;
  readonly cutOffMonth: string;
  readonly limit: number;
}

/**
 * The platform stations where the partner has an account, of its own or of ours, or a difference, ascending. Each of the
 * three is read in the order of an index and cut at the page's size, so a page costs the same wherever it lies.
 */
export async function listAccountStations(sql: Sql, walk: AccountWalk): Promise<AccountStation[]> {
  const { partnerOrgId, afterStationId, cutOffMonth, limit } = walk;
  const behind = [partnerOrgId, afterStationId];
  const rows = await sql.many<{ platformStationId: string; scopeCount: string }>(
    `SELECT s.station_id platformStationId,
            (SELECT COUNT(*) FROM fi_monthly_income_difference d
              WHERE d.partner_org_id = ? AND d.station_id = s.station_id AND d.share_month <= ?) scopeCount
       FROM ((SELECT DISTINCT small_station_id station_id FROM fi_customer_account
               WHERE partner_org_id = ? AND small_station_id > ? AND del_flag = 0
               ORDER BY small_station_id LIMIT ${limit})
             UNION
             (SELECT m.platform_station_id FROM station_mapping m
               WHERE m.partner_org_id = ? AND m.platform_station_id > ?
                 AND EXISTS (SELECT 1 FROM fi_customer_account_partner a
                              WHERE a.partner_org_id = m.partner_org_id AND a.partner_station_no = m.partner_station_no AND a.del_flag = 0)
               ORDER BY m.platform_station_id LIMIT ${limit})
             UNION
             (SELECT DISTINCT station_id FROM fi_monthly_income_difference
               WHERE partner_org_id = ? AND station_id > ? ORDER BY station_id LIMIT ${limit})) s
      ORDER BY s.station_id LIMIT ${limit}`,
    [partnerOrgId, cutOffMonth, ...behind, ...behind, ...behind],
  );
  return rows.map((row) => ({ ...row, scopeCount: Number(row.scopeCount) }));
}

/** The partner's own accounts of these stations, by its mapping. */
export async function listPartnerAccountsOfStations(
  sql: Sql,
  partnerOrgId: string,
  platformStationIds: readonly string[],
): Promise<{ accountId: string; platformStationId: string }[]> {
  if (platformStationIds.length === 0) return [];
  return sql.many(
    `SELECT a.id accountId, m.platform_station_id platformStationId FROM station_mapping m
       JOIN fi_customer_account_partner a ON a.partner_org_id = m.partner_org_id AND a.partner_station_no = m.partner_station_no
      WHERE m.partner_org_id = ? AND m.platform_station_id IN (?) AND a.del_flag = 0 ORDER BY a.id`,
    [partnerOrgId, platformStationIds],
  );
}
