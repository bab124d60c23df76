/**
 * A page of a long table for people: newest first, by key, in bounded time. A filter that an index serves is one range.
 * Any other filter is applied to windows of rows, at most so many rows a call: a page may then be short, or even
 * empty, and still have a cursor that goes on from there.
 */
import type { Sql, SqlValue } from './sql.ts';

export interface Effort {
  readonly windowRows: number;
  readonly rowsExaminedMax: number;
}

/** Some hundred milliseconds at most. */
const BOUNDED: Effort = { windowRows: 20_000, rowsExaminedMax: 200_000 };

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export interface ListSource {
  readonly from: string;
  readonly columns: string;
  /** Unique, a number, growing: the primary key. */
  readonly key: string;
  /** The index that is walked along; the primary key unless said otherwise. */
  readonly index?: string;
  /** What that index serves, by equality, before the key. */
  readonly indexed?: readonly Condition[];
  /** What must be looked at row by row. */
  readonly filters: readonly Condition[];
  /** An index serves the filters so well that few rows are left: no windows, and the database chooses the index. */
  readonly selective?: boolean;
}

export interface Page<Row> {
  readonly items: readonly Row[];
  /** Go on with rows before this key; null at the end. */
  readonly nextCursor: string | null;
}

/** @param Row must have the key as `id` */
export async function listPage<Row extends { readonly id: string }>(
  sql: Sql,
  source: ListSource,
  page: { beforeId: string | null; limit: number },
  effort = BOUNDED,
): Promise<Page<Row>> {
  const items: Row[] = [];
  let beforeId = page.beforeId;
  for (let examined = 0; examined < effort.rowsExaminedMax; examined += effort.windowRows) {
    const endId = needsWindows(source) ? await findWindowEnd(sql, source, beforeId, effort.windowRows) : null;
    const wanted = page.limit - items.length + 1;
    items.push(...(await readWindow<Row>(sql, source, { beforeId, endId, limit: wanted })));
    if (items.length > page.limit)
      return { items: items.slice(0, page.limit), nextCursor: items[page.limit - 1]!.id };
    if (endId === null) return { items, nextCursor: null };
    beforeId = endId;
  }
  return { items, nextCursor: beforeId };
}

function needsWindows(source: ListSource): boolean {
  return source.filters.length > 0 && source.selective !== true;
}

function indexHint(source: ListSource): string {
  return source.selective === true ? '' : `FORCE INDEX (${source.index ?? 'PRIMARY'})`;
}

/** The key of the window's last row, read from the index alone; null where fewer rows are left. */
async function findWindowEnd(
  sql: Sql,
  source: ListSource,
  beforeId: string | null,
  windowRows: number,
): Promise<string | null> {
  const conditions = whereOf([...(source.indexed ?? []), ...before(source.key, beforeId)]);
  const row = await sql.maybeOne<{ id: string }>(
    `SELECT ${source.key} id FROM ${source.from} ${indexHint(source)} ${conditions.sql}
      ORDER BY ${source.key} DESC LIMIT 1 OFFSET ${windowRows - 1}`,
    conditions.values,
  );
  return row?.id ?? null;
}

async function readWindow<Row extends object>(
  sql: Sql,
  source: ListSource,
  window: { beforeId: string | null; endId: string | null; limit: number },
): Promise<Row[]> {
  const from = window.endId === null ? [] : [{ sql: `${source.key} >= ?`, values: [window.endId] }];
  const conditions = whereOf([
    ...(source.indexed ?? []),
    ...before(source.key, window.beforeId),
    ...from,
    ...source.filters,
  ]);
  return sql.many<Row>(
    `SELECT ${source.columns} FROM ${source.from} ${indexHint(source)} ${conditions.sql}
      ORDER BY ${source.key} DESC LIMIT ${window.limit}`,
    conditions.values,
  );
}

function before(key: string, id: string | null): Condition[] {
  return id === null ? [] : [{ sql: `${key} < ?`, values: [id] }];
}

function whereOf(conditions: readonly Condition[]): { sql: string; values: SqlValue[] } {
  if (conditions.length === 0) return { sql: '', values: [] };
  return {
    sql: `WHERE ${conditions.map((condition) => condition.sql).join(' AND ')}`,
    values: conditions.flatMap((condition) => [...condition.values]),
  };
}

/** `column = value` for each filter that is given. */
export function equalities(columns: Readonly<Record<string, SqlValue | undefined>>): Condition[] {
  return Object.entries(columns).flatMap(([column, value]) =>
    value === null || value === undefined ? [] : [{ sql: `${column} = ?`, values: [value] }],
  );
}
