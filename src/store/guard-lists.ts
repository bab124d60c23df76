/** Guards for people: on which stations something was written, and by the fence of which lease (ENG-16, ENG-18). */
import type { GuardKey } from './guards.ts';
import { type Condition, equalities } from './list-page.ts';
import type { Sql } from './sql.ts';

export interface GuardView extends GuardKey {
  /** Of the last lease that wrote under it; '0' where none ever did. */
  readonly fence: string;
}

/** Null: any. */
export interface GuardFilter {
  readonly kind: number | null;
  readonly partnerOrgId: string | null;
  readonly platformStationId: string | null;
}

/** In the order of their key, which is the order in which they are locked (ENG-17). */
export async function listGuardsAfter(
  sql: Sql,
  filter: GuardFilter,
  page: { after: GuardKey | null; limit: number },
): Promise<GuardView[]> {
  const conditions: Condition[] = equalities({
    kind: filter.kind,
    partner_org_id: filter.partnerOrgId,
    platform_station_id: filter.platformStationId,
  });
  if (page.after !== null) {
    const { kind, partnerOrgId, platformStationId, partnerStationNo } = page.after;
    conditions.push({
      sql: '(kind, partner_org_id, platform_station_id, partner_station_no) > (?, ?, ?, ?)',
      values: [kind, partnerOrgId, platformStationId, partnerStationNo],
    });
  }
  const where =
    conditions.length === 0 ? '' : `WHERE ${conditions.map((condition) => condition.sql).join(' AND ')}`;
  return sql.many<GuardView>(
    `SELECT kind, partner_org_id partnerOrgId, platform_station_id platformStationId,
            partner_station_no partnerStationNo, fence
       FROM station_guard ${where}
      ORDER BY kind, partner_org_id, platform_station_id, partner_station_no LIMIT ${page.limit}`,
    conditions.flatMap((condition) => [...condition.values]),
  );
}
