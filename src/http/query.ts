/** Query parameters, read strictly: what cannot be understood is refused, not guessed. */
import type { Request } from 'express';
import { Problem } from './problem.ts';

/** @returns null where it is absent or empty; @throws Problem 400 where it is given more than once */
export function readText(request: Request, name: string): string | null {
  const value = request.query[name];
  if (value === undefined || value === '') return null;
  if (typeof value !== 'string') throw malformed(name, 'once');
  return value;
}

/** @throws Problem 400 */
export function readFlag(request: Request, name: string, fallback: boolean): boolean {
  const value = readText(request, name);
  if (value === null) return fallback;
  if (value !== 'true' && value !== 'false') throw malformed(name, 'as true or false');
  return value === 'true';
}

/** A whole number from 1 to `max`; more than `max` is `max`. @throws Problem 400 */
export function readLimit(request: Request, fallback: number, max: number): number {
  const value = readText(request, 'limit');
  if (value === null) return fallback;
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw malformed('limit', `as a whole number from 1 to ${max}`);
  return Math.min(Number(value), max);
}

/** @throws Problem 400 */
export function malformed(name: string, hint: string): Problem {
  return new Problem(400, 'MALFORMED_QUERY', `Send the query parameter ${name} ${hint}.`, {
    members: { parameter: name },
  });
}
