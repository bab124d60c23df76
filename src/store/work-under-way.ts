/** What is still to be done about bills: pushed rows on their way, and refreshes that name their differences (DEC-24). */
import { Place } from '../domain/place.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { inRanges, type RowRange } from './row-ranges.ts';
import type { Sql } from './sql.ts';

const UNFINISHED = `status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}, ${TaskStatus.FAILED})`;
/** A row whose difference task has failed waits for it as well: the task is unfinished and about its difference. */
const ON_THE_WAY = [Place.STATION_PENDING, Place.DIFF_PENDING, Place.DIFF_FAILED, Place.ACCOUNT_PENDING].join(
  ', ',
);

/** The partner's pushes with anything unfinished; an index probe for each that is not retired yet (RET-1). */
export async function listOpenPushes(sql: Sql, partnerOrgId: string): Promise<string[]> {
  const rows = await sql.many<{ pushId: string }>(
    `SELECT p.push_id pushId FROM partner_push p
      WHERE p.partner_org_id = ? AND p.retired_at IS NULL AND EXISTS (
            SELECT 1 FROM fi_async_task t FORCE INDEX (idx_task_push)
             WHERE t.push_id = p.push_id AND t.stage IN ('bill-station', 'income-diff', 'account-shard') AND t.${UNFINISHED})
     UNION
     SELECT h.push_id FROM income_diff_handover h WHERE h.partner_org_id = ? AND h.message_task_id = 0`,
    [partnerOrgId, partnerOrgId],
  );
  return rows.map((row) => row.pushId);
}

const CODES_PER_STATEMENT_MAX = 2000;

/** `station number/month` of the rows of these stations that are on their way in these pushes. */
export async function listRowsOnTheWay(
  sql: Sql,
  pushIds: readonly string[],
  partnerStationNos: readonly string[],
): Promise<Set<string>> {
  const ranges = await listStationRanges(sql, pushIds, partnerStationNos);
  if (ranges.length === 0) return new Set();
  const where = inRanges('w', ranges);
  const rows = await sql.many<{ partnerStationNo: string; billYearMonth: string }>(
    `SELECT DISTINCT r.partner_station_no partnerStationNo, r.bill_year_month billYearMonth
       FROM pushed_row_place w JOIN pushed_row r ON r.push_id = w.push_id AND r.row_no = w.row_no
      WHERE ${where.condition} AND w.place IN (${ON_THE_WAY})`,
    where.values,
  );
  return new Set(rows.map((row) => `${row.partnerStationNo}/${row.billYearMonth}`));
}

/** Where a station's rows are in a push is said by its station task. */
async function listStationRanges(
  sql: Sql,
  pushIds: readonly string[],
  partnerStationNos: readonly string[],
): Promise<RowRange[]> {
  const codes = pushIds.flatMap((pushId) => partnerStationNos.map((no) => `PSB:${pushId}:${no}`));
  const ranges: RowRange[] = [];
  for (let from = 0; from < codes.length; from += CODES_PER_STATEMENT_MAX) {
    const rows = await sql.many<{ taskData: RowRange }>(
      'SELECT task_data taskData FROM fi_async_task WHERE task_code IN (?)',
      [codes.slice(from, from + CODES_PER_STATEMENT_MAX)],
    );
    ranges.push(...rows.map((row) => row.taskData));
  }
  return ranges;
}

/** Of these differences, those that a waiting snapshot request of a pushed row still speaks of. */
export async function listDifferencesAwaitingSnapshot(
  sql: Sql,
  snapshotCodes: readonly string[],
  diffIds: readonly string[],
): Promise<string[]> {
  if (snapshotCodes.length === 0 || diffIds.length === 0) return [];
  const rows = await sql.many<{ diffId: string }>(
    `SELECT DISTINCT w.diff_id diffId FROM fi_async_task t
       JOIN pushed_row_place w FORCE INDEX (idx_place_snapshot_task) ON w.snapshot_task_id = t.id
      WHERE t.task_code IN (?) AND w.place = ${Place.SNAPSHOT_PENDING} AND w.diff_id IN (?)`,
    [snapshotCodes, diffIds],
  );
  return rows.map((row) => row.diffId);
}

/** Of these differences, those that an unfinished account task names; push '0' is verification, payment and the like. */
export async function listDifferencesToRefresh(
  sql: Sql,
  partnerOrgId: string,
  pushIds: readonly string[],
  diffIds: readonly string[],
): Promise<string[]> {
  if (diffIds.length === 0) return [];
  const rows = await sql.many<{ diffId: string }>(
    `SELECT DISTINCT f.diff_id diffId
       FROM fi_async_task t FORCE INDEX (idx_task_push)
       JOIN JSON_TABLE(t.task_data, '$.differenceFactIds[*]' COLUMNS (diff_id BIGINT UNSIGNED PATH '$')) f
      WHERE t.push_id IN (?) AND t.stage = 'account-shard' AND t.${UNFINISHED} AND t.partner_org_id = ?
        AND f.diff_id IN (?)`,
    [['0', ...pushIds], partnerOrgId, diffIds],
  );
  return rows.map((row) => row.diffId);
}
