/** Statements on `income_diff_handover`: committed stations on their way to the difference stage (STA-16, STA-17). */
import { Place } from '../domain/place.ts';
import { assert } from '../errors.ts';
import { inRanges } from './row-ranges.ts';
import type { Sql } from './sql.ts';

export interface Handover {
  readonly stationTaskId: string;
  readonly partnerOrgId: string;
  readonly pushId: string;
  readonly partnerStationNo: string;
  readonly platformStationId: string | null;
  readonly firstRowNo: number;
  readonly lastRowNo: number;
  readonly billCount: number;
  readonly batchDeduction: string | null;
}

export async function insertHandovers(sql: Sql, handovers: readonly Handover[]): Promise<void> {
  if (handovers.length === 0) return;
  await sql.changeExactly(
    handovers.length,
    'handing stations over',
    `INSERT INTO income_diff_handover
       (station_task_id, partner_org_id, push_id, partner_station_no, platform_station_id, first_row_no, last_row_no,
        bill_count, batch_deduction)
     VALUES ${handovers.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    handovers.flatMap((row) => [
      row.stationTaskId,
      row.partnerOrgId,
      row.pushId,
      row.partnerStationNo,
      row.platformStationId,
      row.firstRowNo,
      row.lastRowNo,
      row.billCount,
      row.batchDeduction,
    ]),
  );
}

/** The partner's pushes that have hand-overs without a segment, oldest first. */
export async function listPushesToSegment(sql: Sql, partnerOrgId: string): Promise<string[]> {
  const rows = await sql.many<{ pushId: string }>(
    `SELECT DISTINCT push_id pushId FROM income_diff_handover FORCE INDEX (idx_handover_open)
      WHERE partner_org_id = ? AND message_task_id = 0 ORDER BY push_id`,
    [partnerOrgId],
  );
  return rows.map((row) => row.pushId);
}

/** STA-17, STA-18: whether a station of the push is still in its first attempt: not ended, retry 0, crash 0, not stopped. */
export async function isAnyStationInFirstAttempt(sql: Sql, pushId: string): Promise<boolean> {
  const row = await sql.maybeOne(
    `SELECT id FROM fi_async_task
      WHERE push_id = ? AND stage = 'bill-station' AND status IN (0, 1) AND retry_count = 0 AND crash_count = 0
        AND activation = 1 LIMIT 1`,
    [pushId],
  );
  return row !== null;
}

export type OpenHandover = Handover & { readonly waitedMs: number };

/** Whole stations in the order of their tasks, locked; those that another closer has are passed over. */
export async function lockOpenHandovers(
  sql: Sql,
  where: { partnerOrgId: string; pushId: string; limit: number },
): Promise<OpenHandover[]> {
  return sql.many<OpenHandover>(
    `SELECT station_task_id stationTaskId, partner_org_id partnerOrgId, push_id pushId, partner_station_no partnerStationNo,
            platform_station_id platformStationId, first_row_no firstRowNo, last_row_no lastRowNo, bill_count billCount,
            batch_deduction batchDeduction, CAST(TIMESTAMPDIFF(MICROSECOND, create_time, NOW(3)) / 1000 AS DOUBLE) waitedMs
       FROM income_diff_handover FORCE INDEX (idx_handover_open)
      WHERE partner_org_id = ? AND message_task_id = 0 AND push_id = ?
      ORDER BY station_task_id LIMIT ${where.limit} FOR UPDATE SKIP LOCKED`,
    [where.partnerOrgId, where.pushId],
  );
}

/** Puts these stations into a message: at the closing of a segment, or when a message is split or parts are set aside. */
export async function assignToMessage(
  sql: Sql,
  move: { stationTaskIds: readonly string[]; fromTaskId: string; toTaskId: string },
): Promise<void> {
  await sql.changeExactly(
    move.stationTaskIds.length,
    'putting hand-overs into a message',
    'UPDATE income_diff_handover SET message_task_id = ? WHERE station_task_id IN (?) AND message_task_id = ?',
    [move.toTaskId, move.stationTaskIds, move.fromTaskId],
  );
}

/** A bill of a hand-over, with the order number that it was handed over with. */
export interface HandedBill {
  readonly stationTaskId: string;
  readonly rowNo: number;
  readonly billId: string;
  readonly dataVersion: string;
}

/** By literal ranges of the rows' key: joined to the hand-overs' bounds, the whole push was read for each of them. */
export async function listHandedBills(sql: Sql, handovers: readonly Handover[]): Promise<HandedBill[]> {
  const where = inRanges('w', handovers);
  const rows = await sql.many<Omit<HandedBill, 'stationTaskId'>>(
    `SELECT w.row_no rowNo, w.bill_id billId, IF(pa.versioned = 1, COALESCE(r.data_version, 0), 0) dataVersion
       FROM pushed_row_place w
       JOIN pushed_row r ON r.push_id = w.push_id AND r.row_no = w.row_no
       JOIN partner_push p ON p.push_id = w.push_id
       JOIN partner pa ON pa.partner_org_id = p.partner_org_id
      WHERE ${where.condition} AND w.place = ${Place.DIFF_PENDING}
      ORDER BY w.push_id, w.row_no`,
    where.values,
  );
  return rows.map((row) => ({ ...row, stationTaskId: ownerOf(handovers, row.rowNo) }));
}

/** All hand-overs of one call are of one push, so a row number names its station. */
function ownerOf(handovers: readonly Handover[], rowNo: number): string {
  const owner = handovers.find(({ firstRowNo, lastRowNo }) => rowNo >= firstRowNo && rowNo <= lastRowNo);
  assert(owner !== undefined, `row ${rowNo} was read for one of these hand-overs`);
  return owner.stationTaskId;
}
