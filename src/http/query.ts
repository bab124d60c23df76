/** Query parameters, read strictly: what cannot be understood is refused, not guessed. */
import type { Request, RequestHandler } from 'express';
import { Problem } from './problem.ts';

/** Characters of a sender's own name for something. */
const NAME_SHOWN_MAX = 64;

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

/**
 * A parameter that is not known would be a wish that is passed over in silence: a control total that checks nothing, a dry
 * run that stores.
 * @throws Problem 400 that names it and those that are known
 */
export function refuseOtherParameters(request: Request, known: readonly string[]): void {
  const unknown = Object.keys(request.query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const there = known.length === 0 ? 'none is' : `${known.join(', ')} are`;
  throw new Problem(
    400,
    'MALFORMED_QUERY',
    `The query parameter ${JSON.stringify(unknown.slice(0, NAME_SHOWN_MAX))} is not known here (${there}). Mend its name or leave it out.`,
    { members: { parameter: unknown.slice(0, NAME_SHOWN_MAX), known } },
  );
}

/** Of a route that takes none. @throws Problem 400 */
export function takesNoParameters(): RequestHandler {
  return (request, _response, next) => {
    refuseOtherParameters(request, []);
    next();
  };
}

/** @throws Problem 400 */
export function malformed(name: string, hint: string): Problem {
  return new Problem(400, 'MALFORMED_QUERY', `Send the query parameter ${name} ${hint}.`, {
    members: { parameter: name },
  });
}
