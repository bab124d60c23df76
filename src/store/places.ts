/**
 * Moving pushed rows from place to place (COV-2): one set-based statement each, in the transaction that makes it true.
 * Every statement names the places that it moves from, so a row is never taken out of an end it has reached.
 */
import { type FunnelStage, funnelStageNumber, isReopening, Place, type PlaceName } from '../domain/place.ts';
import { openPushes, openPushesThatWaitFor } from './open-pushes.ts';
import { inRanges, type RowRange } from './row-ranges.ts';
import type { Sql } from './sql.ts';
import { ACCEPTED_ROWS, ITS_ACCOUNT, ITS_BILL } from './station-units.ts';

/** STA-12, STA-16: rows whose bill is theirs go on to the difference stage; the others are STALE by the push that holds it. */
export async function moveCommittedRows(sql: Sql, ranges: readonly RowRange[]): Promise<void> {
  const where = inRanges('r', ranges);
  const won = '(b.push_id = r.push_id AND b.push_row_no = r.row_no)';
  await sql.change(
    `UPDATE ${ACCEPTED_ROWS} JOIN ${ITS_ACCOUNT} JOIN ${ITS_BILL}
       JOIN pushed_row_place w ON w.push_id = r.push_id AND w.row_no = r.row_no
        SET w.place = IF(${won}, ${Place.DIFF_PENDING}, ${Place.STALE}),
            w.left_at = IF(${won}, NULL, ${funnelStageNumber('committed')}), w.reason = NULL, w.bill_id = b.id,
            w.superseded_by_push_id = IF(${won}, NULL, b.push_id)
      WHERE ${where.condition} AND r.accepted = 1 AND w.place IN (${Place.STATION_PENDING}, ${Place.STATION_FAILED})`,
    where.values,
  );
}

/** STA-19: of these ranges, those whose station has not committed: a row of theirs still waits for it. */
export async function listUncommitted(sql: Sql, ranges: readonly RowRange[]): Promise<readonly RowRange[]> {
  const where = inRanges('w', ranges);
  const waiting = await sql.many<{ pushId: string; rowNo: number }>(
    `SELECT w.push_id pushId, w.row_no rowNo FROM pushed_row_place w
      WHERE ${where.condition} AND w.place IN (${Place.STATION_PENDING}, ${Place.STATION_FAILED})`,
    where.values,
  );
  return ranges.filter(({ pushId, firstRowNo, lastRowNo }) =>
    waiting.some((row) => row.pushId === pushId && row.rowNo >= firstRowNo && row.rowNo <= lastRowNo),
  );
}

export interface PlaceMove {
  readonly from: readonly PlaceName[];
  readonly to: PlaceName;
  /** The stage of the funnel that the rows did not reach; null while they are under way. */
  readonly leftAt: FunnelStage | null;
  readonly reason: string | null;
}

function setClause(move: PlaceMove): string {
  const leftAt = move.leftAt === null ? 'NULL' : funnelStageNumber(move.leftAt);
  return `place = ${Place[move.to]}, left_at = ${leftAt}, reason = ?`;
}

function fromPlaces(move: PlaceMove): string {
  return `place IN (${move.from.map((name) => Place[name]).join(', ')})`;
}

/** Of whole ranges: what became of a station's rows when its task halted or goes on again. */
export async function moveRanges(sql: Sql, ranges: readonly RowRange[], move: PlaceMove): Promise<void> {
  const where = inRanges('w', ranges);
  const moved = await sql.change(
    `UPDATE pushed_row_place w SET ${setClause(move)} WHERE ${where.condition} AND ${fromPlaces(move)}`,
    [move.reason, ...where.values],
  );
  if (moved > 0 && isReopening(move))
    await openPushes(
      sql,
      ranges.map((range) => range.pushId),
    );
}

/** Of single rows of one push. */
export async function moveRows(
  sql: Sql,
  pushId: string,
  rowNos: readonly number[],
  move: PlaceMove,
): Promise<void> {
  if (rowNos.length === 0) return;
  const moved = await sql.change(
    `UPDATE pushed_row_place SET ${setClause(move)} WHERE push_id = ? AND row_no IN (?) AND ${fromPlaces(move)}`,
    [move.reason, pushId, rowNos],
  );
  if (moved > 0 && isReopening(move)) await openPushes(sql, [pushId]);
}

/** A row together with what it became. */
export interface RowInDifference {
  readonly rowNo: number;
  readonly diffId: string;
  readonly accountTaskId: string | null;
}

/** DIF: rows that are in the difference ledger now, each with its difference and the task that refreshes its account. */
export async function moveIntoDifference(
  sql: Sql,
  pushId: string,
  rows: readonly RowInDifference[],
  move: PlaceMove,
): Promise<void> {
  if (rows.length === 0) return;
  await sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (row_no INT UNSIGNED PATH '$[0]', diff_id BIGINT UNSIGNED PATH '$[1]',
                                          task_id BIGINT UNSIGNED PATH '$[2]')) v
       STRAIGHT_JOIN pushed_row_place w ON w.push_id = ? AND w.row_no = v.row_no
        SET w.diff_id = v.diff_id, w.account_task_id = v.task_id, w.place = ${Place[move.to]},
            w.left_at = ${move.leftAt === null ? 'NULL' : funnelStageNumber(move.leftAt)}, w.reason = ?
      WHERE w.${fromPlaces(move)}`,
    [JSON.stringify(rows.map((row) => [row.rowNo, row.diffId, row.accountTaskId])), pushId, move.reason],
  );
}

/** A row whose bill has been taken over by a later push: SUPERSEDED by it, found by the row's own work (COV-2). */
export async function markSuperseded(
  sql: Sql,
  pushId: string,
  rows: readonly { rowNo: number; byPushId: string }[],
  from: readonly PlaceName[],
  leftAt: FunnelStage,
): Promise<void> {
  if (rows.length === 0) return;
  await sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (row_no INT UNSIGNED PATH '$[0]', by_push_id BIGINT UNSIGNED PATH '$[1]')) v
       STRAIGHT_JOIN pushed_row_place w ON w.push_id = ? AND w.row_no = v.row_no
        SET w.place = ${Place.SUPERSEDED}, w.left_at = ${funnelStageNumber(leftAt)}, w.reason = NULL,
            w.superseded_by_push_id = v.by_push_id
      WHERE w.place IN (${from.map((name) => Place[name]).join(', ')})`,
    [JSON.stringify(rows.map((row) => [row.rowNo, row.byPushId])), pushId],
  );
}

/** ACC-9: rows whose account has been refreshed wait for the snapshot task, from this generation on. */
export async function moveToSnapshot(
  sql: Sql,
  pushId: string,
  rows: readonly { rowNo: number; snapshotTaskId: string; generation: number }[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (row_no INT UNSIGNED PATH '$[0]', task_id BIGINT UNSIGNED PATH '$[1]',
                                          generation INT PATH '$[2]')) v
       STRAIGHT_JOIN pushed_row_place w ON w.push_id = ? AND w.row_no = v.row_no
        SET w.place = ${Place.SNAPSHOT_PENDING}, w.left_at = NULL, w.reason = NULL, w.snapshot_task_id = v.task_id,
            w.snapshot_generation = v.generation
      WHERE w.place IN (${Place.ACCOUNT_PENDING}, ${Place.ACCOUNT_FAILED})`,
    [JSON.stringify(rows.map((row) => [row.rowNo, row.snapshotTaskId, row.generation])), pushId],
  );
}

/**
 * SNP-3, SNP-4: ends the rows that waited for these tasks up to the claimed generation: SUPERSEDED if the bill is
 * another push's by now, NO_SNAPSHOT if there is no read-model row to refresh, else CURRENT.
 */
export async function endSnapshotRows(
  sql: Sql,
  tasks: readonly { taskId: string; generation: number }[],
): Promise<void> {
  if (tasks.length === 0) return;
  const superseded = '(b.push_id <> w.push_id OR b.push_row_no <> w.row_no)';
  await sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (task_id BIGINT UNSIGNED PATH '$[0]', generation INT PATH '$[1]')) v
       STRAIGHT_JOIN pushed_row_place w FORCE INDEX (idx_place_snapshot_task)
         ON w.snapshot_task_id = v.task_id AND w.snapshot_generation <= v.generation
       JOIN fi_monthly_income_difference d ON d.id = w.diff_id
       JOIN fi_customer_bill_partner b ON b.id = w.bill_id
       LEFT JOIN fi_resident_income_payment_bill_dimension_snapshot s
         ON s.partner_org_id = d.partner_org_id AND s.platform_station_id = d.station_id AND s.bill_year_month = d.share_month
        SET w.place = CASE WHEN ${superseded} THEN ${Place.SUPERSEDED} WHEN s.id IS NULL THEN ${Place.NO_SNAPSHOT} ELSE ${Place.CURRENT} END,
            w.left_at = IF(${superseded} OR s.id IS NULL, ${funnelStageNumber('snapshotCurrent')}, NULL),
            w.reason = NULL, w.superseded_by_push_id = IF(${superseded}, b.push_id, NULL), w.snapshot_task_id = NULL
      WHERE w.place IN (${Place.SNAPSHOT_PENDING}, ${Place.SNAPSHOT_FAILED})`,
    [JSON.stringify(tasks.map((task) => [task.taskId, task.generation]))],
  );
}

/** Rows that wait for a snapshot task, when it halts or goes on again. */
export async function moveSnapshotWaiters(sql: Sql, taskId: string, move: PlaceMove): Promise<void> {
  const moved = await sql.change(
    `UPDATE pushed_row_place SET ${setClause(move)} WHERE snapshot_task_id = ? AND ${fromPlaces(move)}`,
    [move.reason, taskId],
  );
  if (moved > 0 && isReopening(move)) await openPushesThatWaitFor(sql, taskId);
}
