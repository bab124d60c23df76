/** Bill months: `YYYY-MM` in Asia/Shanghai, which has been UTC+8 without summer time since 1991 (DEC-2, DIF-3). */
const SHANGHAI_OFFSET_MS = 8 * 60 * 60 * 1000;
const MONTH_PATTERN = /^\d{4}-(0[1-9]|1[0-2])$/;
/** DIF-3: an instant counts as valid from 2000-01-01 up to 2100-01-01. */
const VALID_FROM_MS = Date.UTC(2000, 0, 1);
const VALID_TO_MS = Date.UTC(2100, 0, 1);

export const FIRST_BILL_MONTH = '2010-01';

export function isMonth(text: string): boolean {
  return MONTH_PATTERN.test(text);
}

/** @param epochMs milliseconds since 1970 in UTC */
export function shanghaiMonth(epochMs: number): string {
  return new Date(epochMs + SHANGHAI_OFFSET_MS).toISOString().slice(0, 7);
}

/** DIF-3: the month of the first valid of the given instants; null if none is. Never "now". */
export function eventMonth(candidatesMs: readonly (string | number | null | undefined)[]): string | null {
  for (const candidate of candidatesMs) {
    if (candidate === null || candidate === undefined || candidate === '') continue;
    const ms = Number(candidate);
    if (Number.isInteger(ms) && ms >= VALID_FROM_MS && ms < VALID_TO_MS) return shanghaiMonth(ms);
  }
  return null;
}
