/** What the station stage reads before it writes: mapping of its stations, and payment locks on the months it will write. */
import { inRanges, type RowRange } from './row-ranges.ts';
import type { Sql } from './sql.ts';

export interface MappedStation {
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  /** Null: no platform station yet (DEC-3); what is not positive is none either (STA-4). */
  readonly platformStationId: string | null;
  readonly projectCompanyId: string;
}

export async function listMappedStations(
  sql: Sql,
  partnerOrgId: string,
  partnerStationNos: readonly string[],
): Promise<Map<string, MappedStation>> {
  if (partnerStationNos.length === 0) return new Map();
  const rows = await sql.many<MappedStation>(
    `SELECT partner_station_no partnerStationNo, partner_station_id partnerStationId,
            NULLIF(platform_station_id, 0) platformStationId, project_company_id projectCompanyId
       FROM station_mapping WHERE partner_org_id = ? AND partner_station_no IN (?)`,
    [partnerOrgId, partnerStationNos],
  );
  return new Map(rows.map((row) => [row.partnerStationNo, row]));
}

/** Which stations of the partner these platform stations are, by platform station; the mapping is unique both ways. */
export async function listStationsMappedTo(
  sql: Sql,
  partnerOrgId: string,
  platformStationIds: readonly string[],
): Promise<Map<string, MappedStation & { readonly platformStationId: string }>> {
  if (platformStationIds.length === 0) return new Map();
  const rows = await sql.many<MappedStation & { readonly platformStationId: string }>(
    `SELECT partner_station_no partnerStationNo, partner_station_id partnerStationId,
            platform_station_id platformStationId, project_company_id projectCompanyId
       FROM station_mapping WHERE partner_org_id = ? AND platform_station_id IN (?) AND platform_station_id > 0`,
    [partnerOrgId, platformStationIds],
  );
  return new Map(rows.map((row) => [row.platformStationId, row]));
}

/**
 * An accepted row (r) with its push (p), partner (pa), account (a) and the bill (b) that stands where it will be
 * written; a and b are null where nothing stands there yet. `dataVersion` counts only for versioned partners (STA-11).
 */
export const ACCEPTED_ROWS = `pushed_row r
  JOIN partner_push p ON p.push_id = r.push_id
  JOIN partner pa ON pa.partner_org_id = p.partner_org_id`;
export const ROW_VERSION = 'IF(pa.versioned = 1, COALESCE(r.data_version, 0), 0)';
export const ITS_ACCOUNT =
  'fi_customer_account_partner a ON a.partner_org_id = p.partner_org_id AND a.partner_station_no = r.partner_station_no';
export const ITS_BILL =
  'fi_customer_bill_partner b ON b.customer_account_id = a.id AND b.bill_year_month = r.bill_year_month';

export interface LockedMonth {
  readonly partnerStationNo: string;
  readonly billYearMonth: string;
}

/**
 * Months of these rows on which a live bill lock sits (STA-9, DEC-4), looked at only where the row will win: a stale
 * row in a locked month blocks nothing (DEC-19).
 */
export async function listLockedMonths(sql: Sql, ranges: readonly RowRange[]): Promise<LockedMonth[]> {
  const where = inRanges('r', ranges);
  return sql.many<LockedMonth>(
    `SELECT DISTINCT r.partner_station_no partnerStationNo, r.bill_year_month billYearMonth
       FROM ${ACCEPTED_ROWS}
       JOIN station_mapping m ON m.partner_org_id = p.partner_org_id AND m.partner_station_no = r.partner_station_no
       JOIN fi_resident_income_payment_bill_lock l
         ON l.platform_station_id = m.platform_station_id AND l.bill_year_month = r.bill_year_month
        AND l.lock_status IN ('RESERVED', 'ACTIVE')
       LEFT JOIN ${ITS_ACCOUNT}
       LEFT JOIN ${ITS_BILL}
      WHERE ${where.condition} AND r.accepted = 1
        AND (b.id IS NULL OR b.data_version < ${ROW_VERSION}
             OR (b.data_version = ${ROW_VERSION} AND b.accept_no <= p.accept_no))`,
    where.values,
  );
}
