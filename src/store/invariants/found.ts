/** What a rule's statement answers with, and how much of it is shown. */
import type { Sql } from '../sql.ts';

/** Inspection reads and nothing else (INV-1): a rule is not given the means to write. */
export type Reader = Pick<Sql, 'many' | 'maybeOne' | 'one'>;

/** Findings of one rule that are kept and shown; all are counted. */
export const FINDINGS_SHOWN_MAX = 200;

/** A row that breaks a rule: which, how many like it the statement found, and what a person needs to see. */
export interface FoundRow {
  readonly targetId: string;
  readonly total: string | number;
  readonly [column: string]: unknown;
}

/** At the head of a rule's select list: the true count comes with the bounded rows, in one statement. */
export const TOTAL = 'COUNT(*) OVER () total';
export const SHOWN = `LIMIT ${FINDINGS_SHOWN_MAX}`;

export interface Found {
  readonly count: number;
  /** At most `FINDINGS_SHOWN_MAX`. */
  readonly rows: readonly FoundRow[];
}

export function foundOf(rows: readonly FoundRow[]): Found {
  return { count: Number(rows[0]?.total ?? 0), rows: rows.slice(0, FINDINGS_SHOWN_MAX) };
}
