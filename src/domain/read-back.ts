/** Whether differences came back as they were written (DIF-8, DIF-10): every breach fails all. Checks in their order of precedence. */
import { isMonth } from './month.ts';

export interface WrittenDifference {
  readonly partnerOrgId: string;
  readonly stationId: string;
  readonly shareMonth: string;
  readonly partnerBillId: string | null;
  readonly platformBillId: string | null;
  readonly partnerAccountId: string | null;
}

export type ReadDifference = WrittenDifference & { readonly id: string };

export interface ReadBackFault {
  readonly code: 'NAMED_TWICE' | 'READ_TWICE' | 'BLANK_KEY' | 'MISSING' | 'NO_ID' | 'OTHER';
  /** Of the difference, for people. */
  readonly key: string;
}

/** By business key, of one partner: platform station and month. */
export function differenceKey(row: Pick<WrittenDifference, 'stationId' | 'shareMonth'>): string {
  return `${row.stationId}/${row.shareMonth}`;
}

/** Null: each written difference came back once, under an id of its own, with what it speaks of. */
export function faultOfReadBack(
  written: readonly WrittenDifference[],
  found: readonly ReadDifference[],
): ReadBackFault | null {
  const blank = [...written, ...found].find((row) => !isWholeKey(row));
  if (blank !== undefined) return { code: 'BLANK_KEY', key: differenceKey(blank) };
  const named = firstTwice(written.map(differenceKey));
  if (named !== null) return { code: 'NAMED_TWICE', key: named };
  const read = firstTwice(found.map(differenceKey));
  if (read !== null) return { code: 'READ_TWICE', key: read };
  const byKey = new Map(found.map((row) => [differenceKey(row), row]));
  for (const row of written) {
    const key = differenceKey(row);
    const stored = byKey.get(key);
    if (stored === undefined) return { code: 'MISSING', key };
    if (!isPositive(stored.id)) return { code: 'NO_ID', key };
    if (!speaksOfTheSame(row, stored)) return { code: 'OTHER', key };
  }
  return null;
}

/** DIF-10: a fact needs its platform station and its partner. */
function isWholeKey(row: WrittenDifference): boolean {
  return isPositive(row.partnerOrgId) && isPositive(row.stationId) && isMonth(row.shareMonth);
}

function isPositive(id: string): boolean {
  return /^[0-9]+$/.test(id) && BigInt(id) > 0n;
}

function speaksOfTheSame(row: WrittenDifference, stored: WrittenDifference): boolean {
  return (
    stored.partnerOrgId === row.partnerOrgId &&
    stored.partnerBillId === row.partnerBillId &&
    stored.platformBillId === row.platformBillId &&
    stored.partnerAccountId === row.partnerAccountId
  );
}

function firstTwice(keys: readonly string[]): string | null {
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return null;
}
