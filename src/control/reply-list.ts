/** Lists: newest first, a page at a time, from where the page before ended (`{"items","nextCursor"}`). */
import type { Request } from 'express';
import { isMonth } from '../domain/month.ts';
import { malformed, readLimit, readText, refuseOtherParameters } from '../http/query.ts';

const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 200;
const ID_PATTERN = /^[0-9]{1,20}$/;
const ID_MAX = 2n ** 64n - 1n;

export interface PageWish {
  /** Only rows before this id; null is from the newest. */
  readonly beforeId: string | null;
  readonly limit: number;
}

/** @throws Problem 400 */
export function readPageWish(request: Request): PageWish {
  const cursor = readText(request, 'cursor');
  if (cursor !== null && !isId(cursor)) throw malformed('cursor', 'as an answer gave it');
  return { beforeId: cursor, limit: readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX) };
}

/** @throws Problem 400 */
export function readId(request: Request, name: string): string | null {
  const value = readText(request, name);
  if (value !== null && !isId(value)) throw malformed(name, 'as an id: a decimal number');
  return value;
}

/** @throws Problem 400 */
export function readMonth(request: Request, name: string): string | null {
  const value = readText(request, name);
  if (value !== null && !isMonth(value)) throw malformed(name, 'as a month, YYYY-MM');
  return value;
}

/** One of a closed set. @throws Problem 400 that names the set */
export function readOneOf<Value extends string>(
  request: Request,
  name: string,
  values: readonly Value[],
): Value | null {
  const value = readText(request, name);
  if (value === null) return null;
  const known = values.find((candidate) => candidate === value);
  if (known === undefined) throw malformed(name, `as one of ${values.join(', ')}`);
  return known;
}

/** Of a list: its filters, and what pages it. @throws Problem 400 */
export function refuseOtherFilters(request: Request, names: readonly string[]): void {
  refuseOtherParameters(request, [...names, 'cursor', 'limit']);
}

export function isId(text: string): boolean {
  return ID_PATTERN.test(text) && BigInt(text) <= ID_MAX;
}
