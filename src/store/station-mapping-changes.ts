/** Statements on station mappings as operators see and change them (DEC-3, DEC-23). */
import { hitsUniqueKey } from './duplicate-key.ts';
import { type Condition, equalities, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

export interface MappingFields {
  readonly partnerOrgId: string;
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  /** Null: bills commit, their differences wait (DEC-3). */
  readonly platformStationId: string | null;
  readonly projectCompanyId: string;
  readonly projectCompanyName: string;
  readonly activeFromMonth: string;
  readonly activeToMonth: string | null;
}

export interface MappingRow extends MappingFields {
  readonly id: string;
  readonly updateTime: string;
}

const COLUMNS = `id, partner_org_id partnerOrgId, partner_station_no partnerStationNo, partner_station_id partnerStationId,
  platform_station_id platformStationId, project_company_id projectCompanyId, project_company_name projectCompanyName,
  active_from_month activeFromMonth, active_to_month activeToMonth, update_time updateTime`;

export interface MappingFilter {
  readonly partnerOrgId: string | null;
  readonly partnerStationNo: string | null;
  readonly platformStationId: string | null;
  /** Only those without a platform station. */
  readonly incomplete: boolean;
}

export function listMappings(
  sql: Sql,
  filter: MappingFilter,
  page: { beforeId: string | null; limit: number },
): Promise<Page<MappingRow>> {
  const { partnerOrgId, partnerStationNo, platformStationId } = filter;
  const incomplete: Condition[] = filter.incomplete
    ? [{ sql: 'platform_station_id IS NULL', values: [] }]
    : [];
  const given = equalities({
    partner_org_id: partnerOrgId,
    partner_station_no: partnerStationNo,
    platform_station_id: platformStationId,
  });
  const selective =
    platformStationId !== null || (partnerOrgId !== null && partnerStationNo !== null) || filter.incomplete;
  const filters = [...given, ...incomplete];
  return listPage(sql, { from: 'station_mapping', columns: COLUMNS, key: 'id', filters, selective }, page);
}

/** To the end of the transaction. */
export async function lockMapping(
  sql: Sql,
  partnerOrgId: string,
  partnerStationNo: string,
): Promise<MappingRow | null> {
  return sql.maybeOne<MappingRow>(
    `SELECT ${COLUMNS} FROM station_mapping WHERE partner_org_id = ? AND partner_station_no = ? FOR UPDATE`,
    [partnerOrgId, partnerStationNo],
  );
}

/** @returns false where the partner has that station, or that platform station, already */
export async function insertMappingIfNew(sql: Sql, mapping: MappingFields): Promise<boolean> {
  return !(await hitsUniqueKey(() =>
    sql.change(
      `INSERT INTO station_mapping
         (partner_org_id, partner_station_no, partner_station_id, platform_station_id, project_company_id,
          project_company_name, active_from_month, active_to_month)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        mapping.partnerOrgId,
        mapping.partnerStationNo,
        mapping.partnerStationId,
        mapping.platformStationId,
        mapping.projectCompanyId,
        mapping.projectCompanyName,
        mapping.activeFromMonth,
        mapping.activeToMonth,
      ],
    ),
  ));
}

/** Of a mapping that this transaction has locked. @returns false where another mapping of the partner has that station */
export async function setPlatformStationIfFree(
  sql: Sql,
  id: string,
  platformStationId: string,
): Promise<boolean> {
  return !(await hitsUniqueKey(() =>
    sql.changeExactly(
      1,
      'mapping a platform station',
      'UPDATE station_mapping SET platform_station_id = ?, update_time = NOW(3) WHERE id = ?',
      [platformStationId, id],
    ),
  ));
}

export async function hasPlatformStation(sql: Sql, platformStationId: string): Promise<boolean> {
  return (await sql.maybeOne('SELECT id FROM prop_station WHERE id = ?', [platformStationId])) !== null;
}

/** DEC-23: whether the partner's station has any bill, deleted ones too. */
export async function hasPartnerBills(
  sql: Sql,
  partnerOrgId: string,
  partnerStationNo: string,
): Promise<boolean> {
  const row = await sql.maybeOne(
    `SELECT b.id FROM fi_customer_account_partner a
       JOIN fi_customer_bill_partner b ON b.customer_account_id = a.id
      WHERE a.partner_org_id = ? AND a.partner_station_no = ? LIMIT 1`,
    [partnerOrgId, partnerStationNo],
  );
  return row !== null;
}

/** DEC-23: whether there is any bill of ours for that partner there, deleted ones too. */
export async function hasPlatformBills(
  sql: Sql,
  partnerOrgId: string,
  platformStationId: string,
): Promise<boolean> {
  const row = await sql.maybeOne(
    `SELECT b.id FROM fi_customer_account a JOIN fi_customer_bill b ON b.customer_account_id = a.id
      WHERE a.partner_org_id = ? AND a.small_station_id = ? LIMIT 1`,
    [partnerOrgId, platformStationId],
  );
  return row !== null;
}
