/**
 * A large table is walked along a key in ranges, each range one consistent statement of its own: no read view of an
 * inspection lives longer than a moment, since claims slow down behind it (RET-1). A rule judges each row, or each whole
 * group of rows, from one such statement, so work that commits in between is seen either before or after, never half.
 */
import type { SqlValue } from '../sql.ts';
import { FINDINGS_SHOWN_MAX, type Found, type FoundRow, type Reader } from './found.ts';

export interface WalkedKey {
  readonly table: string;
  /** In order; one or two columns with an index that begins with them. */
  readonly columns: readonly string[];
  readonly index: string;
  /** Keys in one range. */
  readonly step: number;
}

/** Keys after `after` up to and with `upTo`; null is without end. */
export interface KeyRange {
  readonly after: readonly SqlValue[];
  readonly upTo: readonly SqlValue[] | null;
}

/** Keys are unsigned, and some begin with 0. */
const BEFORE_ALL = -1;

export type RangeStatement = (reader: Reader, range: KeyRange) => Promise<FoundRow[]>;

export async function walk(reader: Reader, key: WalkedKey, statement: RangeStatement): Promise<Found> {
  const rows: FoundRow[] = [];
  let count = 0;
  let after: readonly SqlValue[] = key.columns.map(() => BEFORE_ALL);
  for (;;) {
    const upTo = await findRangeEnd(reader, key, after);
    const found = await statement(reader, { after, upTo });
    count += Number(found[0]?.total ?? 0);
    rows.push(...found.slice(0, FINDINGS_SHOWN_MAX - rows.length));
    if (upTo === null) return { count, rows };
    after = upTo;
  }
}

/** The key that ends the next range, read from the index alone; null where fewer keys are left. */
async function findRangeEnd(
  reader: Reader,
  key: WalkedKey,
  after: readonly SqlValue[],
): Promise<SqlValue[] | null> {
  const columns = key.columns.join(', ');
  const from = afterCondition(key.columns, after);
  const row = await reader.maybeOne<Record<string, SqlValue>>(
    `SELECT ${columns} FROM ${key.table} FORCE INDEX (${key.index}) WHERE ${from.sql}
      ORDER BY ${columns} LIMIT 1 OFFSET ${key.step - 1}`,
    from.values,
  );
  return row === null ? null : key.columns.map((column) => row[column]!);
}

export interface RangeCondition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** @param columns the key's columns as the statement names them */
export function inRange(columns: readonly string[], { after, upTo }: KeyRange): RangeCondition {
  const from = afterCondition(columns, after);
  if (upTo === null) return from;
  const to = upToCondition(columns, upTo);
  return { sql: `${from.sql} AND ${to.sql}`, values: [...from.values, ...to.values] };
}

/** Written out, since a comparison of rows uses no index. */
function afterCondition([first, second]: readonly string[], values: readonly SqlValue[]): RangeCondition {
  if (second === undefined) return { sql: `${first} > ?`, values: [values[0]!] };
  const sql = `${first} >= ? AND (${first} > ? OR ${second} > ?)`;
  return { sql, values: [values[0]!, values[0]!, values[1]!] };
}

function upToCondition([first, second]: readonly string[], values: readonly SqlValue[]): RangeCondition {
  if (second === undefined) return { sql: `${first} <= ?`, values: [values[0]!] };
  const sql = `${first} <= ? AND (${first} < ? OR ${second} <= ?)`;
  return { sql, values: [values[0]!, values[0]!, values[1]!] };
}
