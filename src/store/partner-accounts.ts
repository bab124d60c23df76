/** Statements on `fi_customer_account_partner` and its log. */
import { inRanges, type RowRange } from './row-ranges.ts';
import type { Sql } from './sql.ts';
import { ACCEPTED_ROWS, ROW_VERSION } from './station-units.ts';

const TABLE = 'fi_customer_account_partner';
/** VALUES() is what both MySQL and MariaDB speak. True where the row to be written is the later one (STA-11). */
const IS_LATER = `(VALUES(data_version) > ${TABLE}.data_version
  OR (VALUES(data_version) = ${TABLE}.data_version AND VALUES(accept_no) > ${TABLE}.accept_no))`;
const taken = (column: string) => `${column} = IF(${IS_LATER}, VALUES(${column}), ${TABLE}.${column})`;

/**
 * STA-5: one account per (partner, station number), made or kept with its id; header fields from the first station
 * entry in request order that has an accepted row, unless a later push has written them already.
 * The order number's columns come last: MySQL assigns from left to right, and the comparison reads them.
 */
export async function upsertPartnerAccounts(sql: Sql, ranges: readonly RowRange[]): Promise<void> {
  const where = inRanges('r', ranges);
  const headers = `SELECT r.push_id, r.partner_station_no, MIN(r.receipt_index) first_index, MAX(${ROW_VERSION}) data_version
       FROM ${ACCEPTED_ROWS} WHERE ${where.condition} AND r.accepted = 1 GROUP BY r.push_id, r.partner_station_no`;
  await sql.change(
    `INSERT INTO fi_customer_account_partner
       (partner_org_id, partner_station_no, partner_station_id, household_name, rent_pay_method, push_id, accept_no, data_version)
     SELECT p.partner_org_id, r.partner_station_no, r.partner_station_id, r.household_name, r.rent_pay_method,
            r.push_id, p.accept_no, h.data_version
       FROM (${headers}) h
       JOIN pushed_row r ON r.push_id = h.push_id AND r.receipt_index = h.first_index
       JOIN partner_push p ON p.push_id = r.push_id
      ORDER BY r.partner_station_no
     ON DUPLICATE KEY UPDATE
       ${['partner_station_id', 'household_name', 'rent_pay_method', 'push_id'].map(taken).join(', ')},
       update_time = NOW(3), accept_no = IF(${IS_LATER}, VALUES(accept_no), ${TABLE}.accept_no),
       data_version = GREATEST(${TABLE}.data_version, VALUES(data_version))`,
    where.values,
  );
}

export interface AccountId {
  readonly id: string;
  readonly partnerStationNo: string;
}

export async function listAccountIds(
  sql: Sql,
  partnerOrgId: string,
  stationNos: readonly string[],
): Promise<AccountId[]> {
  return sql.many<AccountId>(
    `SELECT id, partner_station_no partnerStationNo FROM fi_customer_account_partner
      WHERE partner_org_id = ? AND partner_station_no IN (?)`,
    [partnerOrgId, stationNos],
  );
}

/** The account's operation log: which push touched it. */
export async function logAccountPushes(
  sql: Sql,
  entries: readonly { customerAccountId: string; pushId: string }[],
): Promise<void> {
  if (entries.length === 0) return;
  await sql.change(
    `INSERT INTO fi_customer_account_partner_log (customer_account_id, push_id, operation)
     VALUES ${entries.map(() => "(?, ?, 'PUSHED')").join(', ')}`,
    entries.flatMap((entry) => [entry.customerAccountId, entry.pushId]),
  );
}
