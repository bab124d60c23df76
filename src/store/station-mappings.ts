/** Statements on which station of a partner is which of ours (DEC-3). */
import type { Sql } from './sql.ts';

export interface StationMappingRow {
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly platformStationId: string | null;
  readonly activeFromMonth: string;
  readonly activeToMonth: string | null;
}

/** The caller keeps `stationNos` to some hundreds at a time. */
export async function listStationMappings(
  sql: Sql,
  partnerOrgId: string,
  stationNos: readonly string[],
): Promise<StationMappingRow[]> {
  if (stationNos.length === 0) return [];
  return sql.many<StationMappingRow>(
    `SELECT partner_station_no partnerStationNo, partner_station_id partnerStationId,
            platform_station_id platformStationId, active_from_month activeFromMonth, active_to_month activeToMonth
       FROM station_mapping WHERE partner_org_id = ? AND partner_station_no IN (?)`,
    [partnerOrgId, stationNos],
  );
}
