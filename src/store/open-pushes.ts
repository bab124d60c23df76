/**
 * The index of pushes that may still be under way (COV-4): who accepts or reopens one writes it here in the same
 * transaction, and who numbers its completion takes it out. So the look for completed pushes never reads the others.
 */
import { PLACE_MEANINGS, Place, type PlaceName } from '../domain/place.ts';
import { placesNamed } from './place-lists.ts';
import type { Sql } from './sql.ts';

const UNDER_WAY = placesNamed(
  (Object.keys(Place) as PlaceName[]).filter((name) => PLACE_MEANINGS[name].kind === 'under way'),
);

/** Pushes that were accepted, or whose rows go on again; one that is open stays so. */
export async function openPushes(sql: Sql, pushIds: readonly string[]): Promise<void> {
  const ascending = [...new Set(pushIds)].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
  if (ascending.length === 0) return;
  await sql.change(
    `INSERT INTO open_push (push_id) VALUES ${ascending.map(() => '(?)').join(', ')}
     ON DUPLICATE KEY UPDATE push_id = VALUES(push_id)`,
    ascending,
  );
}

/** Pushes with rows that wait for this snapshot task. */
export async function openPushesThatWaitFor(sql: Sql, snapshotTaskId: string): Promise<void> {
  const rows = await sql.many<{ pushId: string }>(
    'SELECT DISTINCT push_id pushId FROM pushed_row_place WHERE snapshot_task_id = ?',
    [snapshotTaskId],
  );
  await openPushes(
    sql,
    rows.map((row) => row.pushId),
  );
}

export interface OpenPush {
  readonly pushId: string;
  /** The row at which the push was last seen waiting; 0: it was not looked at yet. */
  readonly waitsForRow: number;
  /** Whether that row waits still: one look by primary key. */
  readonly waits: boolean;
}

/** Ascending, after this one. */
export async function listOpenPushes(sql: Sql, afterPushId: string, limit: number): Promise<OpenPush[]> {
  const rows = await sql.many<Omit<OpenPush, 'waits'> & { waits: number | string }>(
    `SELECT open.push_id pushId, open.waits_for_row waitsForRow, row_of.push_id IS NOT NULL waits
       FROM (SELECT push_id, waits_for_row FROM open_push WHERE push_id > ? ORDER BY push_id LIMIT ${limit}) open
       LEFT JOIN pushed_row_place row_of ON row_of.push_id = open.push_id AND row_of.row_no = open.waits_for_row
        AND row_of.place IN (${UNDER_WAY})
      ORDER BY open.push_id`,
    [afterPushId],
  );
  return rows.map((row) => ({ ...row, waits: Number(row.waits) === 1 }));
}

/** The first row from this one on that is under way; rows are read in their order, and each of them about once in all. */
export async function findWaitingRow(sql: Sql, pushId: string, fromRow: number): Promise<number | null> {
  const row = await sql.maybeOne<{ rowNo: number }>(
    `SELECT row_no rowNo FROM pushed_row_place WHERE push_id = ? AND row_no >= ? AND place IN (${UNDER_WAY})
      ORDER BY row_no LIMIT 1`,
    [pushId, fromRow],
  );
  return row?.rowNo ?? null;
}

export async function rememberWaitingRow(sql: Sql, pushId: string, rowNo: number): Promise<void> {
  await sql.change('UPDATE open_push SET waits_for_row = ? WHERE push_id = ?', [rowNo, pushId]);
}

/** @returns whether it is open; one that another has locked counts as not open, since that one is judging it */
export async function lockOpenPush(sql: Sql, pushId: string): Promise<boolean> {
  const row = await sql.maybeOne<{ pushId: string }>(
    'SELECT push_id pushId FROM open_push WHERE push_id = ? FOR UPDATE SKIP LOCKED',
    [pushId],
  );
  return row !== null;
}

/** Of a push that this transaction has locked. */
export async function closePush(sql: Sql, pushId: string): Promise<void> {
  await sql.changeExactly(1, 'closing a push', 'DELETE FROM open_push WHERE push_id = ?', [pushId]);
}
