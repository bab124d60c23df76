/** Platform bills whose change has not come into the ledger yet: an unfinished message speaks of their station-month (DEC-24). */
import { TaskStatus } from '../domain/task-status.ts';
import type { StationMonth } from './bill-locks.ts';
import type { Sql } from './sql.ts';

interface KeyColumns {
  readonly partner: string;
  readonly station: string;
  readonly month: string;
}

/** The condition, where the columns of partner, platform station and month are called so. */
export function isPlatformChangeDue(of: KeyColumns): string {
  return isPlatformChange(of, [TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.FAILED]);
}

/** A message of a platform bill, in one of these states, speaks of the station-month. */
export function isPlatformChange(of: KeyColumns, statuses: readonly number[]): string {
  const named = `JSON_OBJECT('platformStationId', CAST(${of.station} AS CHAR),
      'bills', JSON_ARRAY(JSON_OBJECT('billYearMonth', ${of.month})))`;
  return `EXISTS (SELECT 1 FROM fi_async_task changed FORCE INDEX (idx_task_push)
      WHERE changed.push_id = 0 AND changed.stage = 'income-diff'
        AND changed.status IN (${statuses.join(', ')})
        AND changed.partner_org_id = ${of.partner}
        AND JSON_CONTAINS(changed.task_data, ${named}, '$.requestparams.stations'))`;
}

/** Of these, as `platform station/month`. */
export async function listPlatformChangesDue(
  sql: Sql,
  partnerOrgId: string,
  asked: readonly StationMonth[],
): Promise<Set<string>> {
  if (asked.length === 0) return new Set();
  const rows = await sql.many<{ platformStationId: string; month: string }>(
    `SELECT v.station_id platformStationId, v.bill_year_month month
       FROM JSON_TABLE(?, '$[*]' COLUMNS (partner_org_id BIGINT UNSIGNED PATH '$[0]', station_id BIGINT UNSIGNED PATH '$[1]',
              bill_year_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[2]')) v
      WHERE ${isPlatformChangeDue({ partner: 'v.partner_org_id', station: 'v.station_id', month: 'v.bill_year_month' })}`,
    [JSON.stringify(asked.map((one) => [partnerOrgId, one.platformStationId, one.month]))],
  );
  return new Set(rows.map((row) => `${row.platformStationId}/${row.month}`));
}
