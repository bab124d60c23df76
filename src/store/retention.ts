/**
 * Statements of the removal of old rows (RET-1). What may go is decided in one place, `findKeepReason`; every removal is
 * bounded, finds its rows by an index and removes them by primary key.
 */
import { type KeepReason, PLACES_THAT_EXPLAIN, PLACES_THAT_MAY_GO_ON } from '../domain/retention.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { countStationTasks, readPlaces } from './coverage.ts';
import { placesNamed } from './place-lists.ts';
import type { Sql } from './sql.ts';

/** A push whose identity expired long enough ago, and whose rows are still there. */
export interface ExpiredPush {
  readonly pushId: string;
  readonly partnerOrgId: string;
  readonly idempotencyKey: string;
  readonly expiresAt: string;
  /** Its removal has begun. */
  readonly retired: boolean;
}

export type Position = Pick<ExpiredPush, 'expiresAt' | 'pushId'>;

/** In the order in which they expired, behind that position. */
export async function listExpiredPushes(
  sql: Sql,
  where: { readonly graceDays: number; readonly after: Position; readonly limit: number },
): Promise<ExpiredPush[]> {
  const { expiresAt, pushId } = where.after;
  const rows = await sql.many<Omit<ExpiredPush, 'retired'> & { retired: number | string }>(
    `SELECT push_id pushId, partner_org_id partnerOrgId, idempotency_key idempotencyKey, expires_at expiresAt,
            retired_at IS NOT NULL retired
       FROM partner_push FORCE INDEX (idx_push_retention)
      WHERE rows_removed_at IS NULL AND expires_at >= ? AND expires_at <= NOW(3) - INTERVAL ? DAY
        AND (expires_at > ? OR push_id > ?)
      ORDER BY expires_at, push_id LIMIT ${where.limit}`,
    [expiresAt, where.graceDays, expiresAt, pushId],
  );
  return rows.map((row) => ({ ...row, retired: Number(row.retired) === 1 }));
}

/** Each with the push's id as its only value. */
const KEPT_FOR: Readonly<Record<KeepReason, string>> = {
  IDENTITY_LIVE: `SELECT 1 FROM partner_push p JOIN push_identity i
      ON i.partner_org_id = p.partner_org_id AND i.idempotency_key = p.idempotency_key
     WHERE p.push_id = ? AND i.push_id = p.push_id AND i.expires_at > NOW(3)`,
  OPEN: 'SELECT 1 FROM open_push WHERE push_id = ?',
  TASK_UNFINISHED: `SELECT 1 FROM fi_async_task
     WHERE push_id = ? AND status NOT IN (${TaskStatus.SUCCESS}, ${TaskStatus.CANCELLED})`,
  HANDOVER_OPEN: `SELECT 1 FROM partner_push p JOIN income_diff_handover h FORCE INDEX (idx_handover_open)
      ON h.partner_org_id = p.partner_org_id AND h.message_task_id = 0 AND h.push_id = p.push_id
     WHERE p.push_id = ?`,
  ROW_MAY_GO_ON: `SELECT 1 FROM pushed_row_place
     WHERE push_id = ? AND place IN (${placesNamed(PLACES_THAT_MAY_GO_ON)})`,
  ROW_EXPLAINS: `SELECT 1 FROM pushed_row_place w
      JOIN pushed_row r ON r.push_id = w.push_id AND r.row_no = w.row_no
      JOIN partner_push p ON p.push_id = w.push_id
      LEFT JOIN fi_customer_account_partner a
        ON a.partner_org_id = p.partner_org_id AND a.partner_station_no = r.partner_station_no
      LEFT JOIN fi_customer_bill_partner b ON b.customer_account_id = a.id AND b.bill_year_month = r.bill_year_month
     WHERE w.push_id = ? AND w.place IN (${placesNamed(PLACES_THAT_EXPLAIN)})
       AND (b.id IS NULL OR (b.push_id = w.push_id AND b.push_row_no = w.row_no))`,
};

/** The first that holds; null: nothing can re-create or quote the push's rows any more, and nothing ever will. */
export async function findKeepReason(sql: Sql, pushId: string): Promise<KeepReason | null> {
  for (const [reason, statement] of Object.entries(KEPT_FOR))
    if ((await sql.maybeOne(`${statement} LIMIT 1`, [pushId])) !== null) return reason as KeepReason;
  return null;
}

/** Keeps what the push had come to, and lets its expired identity go; from here on its rows may be removed. */
export async function retirePush(sql: Sql, push: ExpiredPush): Promise<void> {
  const { groups, asOf } = await readPlaces(sql, push.pushId);
  const stations = await countStationTasks(sql, push.pushId);
  await sql.changeExactly(
    1,
    'retiring a push',
    'UPDATE partner_push SET kept_coverage = ?, retired_at = NOW(3) WHERE push_id = ? AND retired_at IS NULL',
    [JSON.stringify({ groups, asOf, stations }), push.pushId],
  );
  await sql.change(
    `DELETE FROM push_identity
      WHERE partner_org_id = ? AND idempotency_key = ? AND push_id = ? AND expires_at <= NOW(3)`,
    [push.partnerOrgId, push.idempotencyKey, push.pushId],
  );
}

export interface Removal {
  /** By table. */
  readonly removed: Readonly<Record<string, number>>;
  /** Whether there may be more of the same. */
  readonly more: boolean;
}

/** One bounded piece of a retired push; in this order, so that a task goes after what names it. */
export type PushRemoval = (sql: Sql, pushId: string, limit: number) => Promise<Removal>;

export const PUSH_REMOVALS: readonly PushRemoval[] = [
  removeRows,
  removeOutcomes,
  removeHandovers,
  removeTasks,
];

/** A row and its place go together, or the row would be in no place (COV-2). */
async function removeRows(sql: Sql, pushId: string, limit: number): Promise<Removal> {
  const last = await sql.maybeOne<{ rowNo: number }>(
    `SELECT row_no rowNo FROM pushed_row WHERE push_id = ? ORDER BY row_no LIMIT 1 OFFSET ${limit - 1}`,
    [pushId],
  );
  const upTo = last === null ? '' : 'AND row_no <= ?';
  const values = last === null ? [pushId] : [pushId, last.rowNo];
  const places = await sql.change(`DELETE FROM pushed_row_place WHERE push_id = ? ${upTo}`, values);
  const rows = await sql.change(`DELETE FROM pushed_row WHERE push_id = ? ${upTo}`, values);
  return { removed: { pushed_row_place: places, pushed_row: rows }, more: last !== null };
}

async function removeOutcomes(sql: Sql, pushId: string, limit: number): Promise<Removal> {
  const found = await sql.many<{ id: string }>(
    `SELECT o.id FROM fi_async_task t JOIN account_refresh_outcome o ON o.task_id = t.id
      WHERE t.push_id = ? AND t.stage = 'account-shard' LIMIT ${limit}`,
    [pushId],
  );
  return removeByKey(sql, 'account_refresh_outcome', 'id', found, limit);
}

async function removeHandovers(sql: Sql, pushId: string, limit: number): Promise<Removal> {
  const found = await sql.many<{ id: string }>(
    `SELECT h.station_task_id id FROM fi_async_task t JOIN income_diff_handover h ON h.station_task_id = t.id
      WHERE t.push_id = ? AND t.stage = 'bill-station' LIMIT ${limit}`,
    [pushId],
  );
  return removeByKey(sql, 'income_diff_handover', 'station_task_id', found, limit);
}

async function removeTasks(sql: Sql, pushId: string, limit: number): Promise<Removal> {
  const found = await sql.many<{ id: string }>(
    `SELECT id FROM fi_async_task WHERE push_id = ? LIMIT ${limit}`,
    [pushId],
  );
  return removeEndedTasks(sql, found, limit);
}

/** @throws RowCountError where one of them has not ended: nothing is removed then */
async function removeEndedTasks(
  sql: Sql,
  found: readonly { readonly id: string }[],
  limit: number,
): Promise<Removal> {
  const ids = ascending(found);
  if (ids.length === 0) return { removed: {}, more: false };
  const requests = await sql.change('DELETE FROM task_stop_request WHERE task_id IN (?)', [ids]);
  await sql.changeExactly(
    ids.length,
    'removing ended tasks',
    `DELETE FROM fi_async_task WHERE id IN (?) AND status IN (${TaskStatus.SUCCESS}, ${TaskStatus.CANCELLED})`,
    [ids],
  );
  return { removed: { task_stop_request: requests, fi_async_task: ids.length }, more: ids.length === limit };
}

async function removeByKey(
  sql: Sql,
  table: string,
  key: string,
  found: readonly { readonly id: string }[],
  limit: number,
): Promise<Removal> {
  const ids = ascending(found);
  if (ids.length === 0) return { removed: {}, more: false };
  await sql.changeExactly(
    ids.length,
    `removing rows of ${table}`,
    `DELETE FROM ${table} WHERE ${key} IN (?)`,
    [ids],
  );
  return { removed: { [table]: ids.length }, more: ids.length === limit };
}

function ascending(found: readonly { readonly id: string }[]): string[] {
  return found.map((row) => row.id).sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
}

export async function endPushRemoval(sql: Sql, pushId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'ending the removal of a push',
    'UPDATE partner_push SET rows_removed_at = NOW(3) WHERE push_id = ? AND retired_at IS NOT NULL AND rows_removed_at IS NULL',
    [pushId],
  );
}

/** Tables of which a row goes by its age alone: nothing is made from it, and what it names stays or says so itself. */
export const AGED_TABLES = ['operation_audit', 'fi_customer_account_partner_log'] as const;

/** The oldest by key, as far as they are old enough: keys and times grow alike, so the look is never longer than the piece. */
export async function removeAged(
  sql: Sql,
  table: (typeof AGED_TABLES)[number],
  days: number,
  limit: number,
): Promise<Removal> {
  const oldest = await sql.many<{ id: string; aged: number | string }>(
    `SELECT id, create_time < NOW(3) - INTERVAL ? DAY aged FROM ${table} ORDER BY id LIMIT ${limit}`,
    [days],
  );
  return removeByKey(sql, table, 'id', agedOf(oldest), limit);
}

/** Stages of which a task that came from no push is removed by age: its code is new each time, so nothing is made again. */
export const AGED_STAGES = ['income-diff', 'account-shard'] as const;

/** Succeeded tasks that come from no push (verification, payment, platform bill), with the outcomes of accounts. */
export async function removeAgedTasks(
  sql: Sql,
  stage: (typeof AGED_STAGES)[number],
  days: number,
  limit: number,
): Promise<Removal> {
  const oldest = await sql.many<{ id: string; aged: number | string }>(
    `SELECT id, COALESCE(finished_time, update_time) < NOW(3) - INTERVAL ? DAY aged
       FROM fi_async_task FORCE INDEX (idx_task_push)
      WHERE push_id = 0 AND stage = ? AND status = ${TaskStatus.SUCCESS} ORDER BY id LIMIT ${limit}`,
    [days, stage],
  );
  const aged = agedOf(oldest);
  if (aged.length === 0) return { removed: {}, more: false };
  const outcomes = await sql.many<{ id: string }>(
    `SELECT id FROM account_refresh_outcome WHERE task_id IN (?) LIMIT ${limit}`,
    [aged.map((row) => row.id)],
  );
  if (outcomes.length === 0) return removeEndedTasks(sql, aged, limit);
  return { ...(await removeByKey(sql, 'account_refresh_outcome', 'id', outcomes, limit)), more: true };
}

function agedOf(rows: readonly { readonly id: string; readonly aged: number | string }[]) {
  return rows.filter((row) => Number(row.aged) === 1);
}
