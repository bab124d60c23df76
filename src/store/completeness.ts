/** Statements on what should have come and what did (COV-5): the expected set does not depend on what was received. */
import { Place } from '../domain/place.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { isoInstant } from './instant.ts';
import type { Sql, SqlValue } from './sql.ts';

export interface Completeness {
  readonly asOf: string;
  readonly expectedStations: number;
  readonly receivedStations: number;
  /** Sum of the rents that came, CNY. */
  readonly receivedAmount: string;
}

export interface ExpectedStation {
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly platformStationId: string | null;
  readonly received: boolean;
  /** The rent that came; null where nothing did. */
  readonly rent: string | null;
}

/**
 * The one definition behind the counts and the list (COV-6): every station whose mapping is active in the month, with
 * the rent of its accepted bill. A bill that is written says so itself; accepted rows that are not written yet, or
 * could not be, are found in the pushes that still have station work.
 */
const EXPECTED = `
  WITH unwritten AS (
    SELECT sent.partner_station_no, MAX(held.rent) rent
      FROM (SELECT DISTINCT push.push_id
              FROM partner_push push
              JOIN fi_async_task task ON task.push_id = push.push_id AND task.stage = 'bill-station'
               AND task.status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}, ${TaskStatus.FAILED}, ${TaskStatus.CANCELLED})
             WHERE push.partner_org_id = ?) open_push
      JOIN pushed_row_place held ON held.push_id = open_push.push_id
       AND held.place IN (${Place.STATION_PENDING}, ${Place.STATION_FAILED}, ${Place.CANCELLED})
      JOIN pushed_row sent ON sent.push_id = held.push_id AND sent.row_no = held.row_no AND sent.bill_year_month = ?
     GROUP BY sent.partner_station_no),
  expected AS (
    SELECT mapping.partner_station_no partnerStationNo, mapping.partner_station_id partnerStationId,
           mapping.platform_station_id platformStationId, COALESCE(bill.rent, unwritten.rent) rent
      FROM station_mapping mapping
      LEFT JOIN fi_customer_account_partner account
             ON account.partner_org_id = mapping.partner_org_id AND account.partner_station_no = mapping.partner_station_no
      LEFT JOIN fi_customer_bill_partner bill ON bill.customer_account_id = account.id AND bill.bill_year_month = ?
      LEFT JOIN unwritten ON unwritten.partner_station_no = mapping.partner_station_no
     WHERE mapping.partner_org_id = ? AND mapping.active_from_month <= ?
       AND (mapping.active_to_month IS NULL OR mapping.active_to_month >= ?))`;

function expectedValues(partnerOrgId: string, month: string): SqlValue[] {
  return [partnerOrgId, month, month, partnerOrgId, month, month];
}

export async function readCompleteness(sql: Sql, partnerOrgId: string, month: string): Promise<Completeness> {
  const row = await sql.one<{ asOf: string; expected: string; received: string; amount: string | null }>(
    `${EXPECTED} SELECT NOW(3) asOf, COUNT(*) expected, COUNT(rent) received, SUM(rent) amount FROM expected`,
    expectedValues(partnerOrgId, month),
  );
  return {
    asOf: isoInstant(row.asOf),
    expectedStations: Number(row.expected),
    receivedStations: Number(row.received),
    receivedAmount: row.amount ?? '0.00',
  };
}

export interface ExpectedFilter {
  /** Null: both. */
  readonly received: boolean | null;
  /** Stations after this number, by the database's order. */
  readonly afterStationNo: string;
  readonly limit: number;
}

export async function listExpectedStations(
  sql: Sql,
  partnerOrgId: string,
  month: string,
  filter: ExpectedFilter,
): Promise<ExpectedStation[]> {
  const condition = filter.received === null ? '' : `AND rent IS ${filter.received ? 'NOT NULL' : 'NULL'}`;
  const rows = await sql.many<Omit<ExpectedStation, 'received'>>(
    `${EXPECTED} SELECT * FROM expected WHERE partnerStationNo > ? ${condition} ORDER BY partnerStationNo LIMIT ${filter.limit}`,
    [...expectedValues(partnerOrgId, month), filter.afterStationNo],
  );
  return rows.map((row) => ({ ...row, received: row.rent !== null }));
}
