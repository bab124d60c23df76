/**
 * Every failure this system knows, in one place.
 *
 * Outcomes that the business expects (busy, superseded, duplicate, stopped, fenced) are returned, not thrown.
 * What is thrown is a `Failure` (work that could not be done, with a stable code) or a fault of the platform,
 * which `toFailure` turns into one. Whether a failure may be retried is a property of the failure (ENG-13, DEC-18).
 */

/** How far a failure reaches: that one unit, its whole partner, or the platform under everybody (DIF-16). */
export type FailureReach = 'unit' | 'partner' | 'platform';

export interface FailureOptions {
  /** False: only a person or new input can help (DEC-18). Default true. */
  readonly retryable?: boolean;
  readonly reach?: FailureReach;
  readonly cause?: unknown;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Work that could not be done; `code` is stable and shown to people. */
export class Failure extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly reach: FailureReach;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.retryable = options.retryable ?? true;
    this.reach = options.reach ?? 'unit';
    this.fields = options.fields ?? {};
  }
}

/** The executor's slot or task is another's by now: it writes nothing and reports no failure (ENG-9). */
export class FencedOutError extends Error {
  constructor(what: string) {
    super(`The right to write was lost: ${what}`);
    this.name = 'FencedOutError';
  }
}

/** A lease or guard that the work needs is held by another; no failure, tried again soon (ENG-13). */
export class BusyError extends Error {
  constructor(what: string, options: { cause?: unknown } = {}) {
    super(`Busy: ${what}`, options);
    this.name = 'BusyError';
  }
}

/** A statement hit another number of rows than it must have; a broken promise inside the system (ENG-10). */
export class RowCountError extends Error {
  constructor(what: string, expected: number, actual: number) {
    super(`${what}: expected ${expected} rows, hit ${actual}`);
    this.name = 'RowCountError';
  }
}

/** A broken assumption of ours; never a consequence of input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Broken assumption: ${message}`);
}

/** Turns anything thrown into a Failure; what we do not know is the platform's fault and may be retried. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error instanceof RowCountError || error.message.startsWith('Broken assumption')) {
    return new Failure('INTERNAL', error.message, { cause: error });
  }
  if (isRefusedByDatabase(error))
    return new Failure('DATA_REFUSED', firstLine(error.message), { cause: error });
  return new Failure('INFRASTRUCTURE', firstLine(error.message), { reach: 'platform', cause: error });
}

/** MySQL error numbers that speak of the values of a statement, not of the server: duplicate, null, range, length, check. */
const REFUSED_VALUES = new Set([1048, 1062, 1264, 1265, 1292, 1366, 1406, 1452, 1690, 3819]);

function isRefusedByDatabase(error: Error): boolean {
  return 'errno' in error && typeof error.errno === 'number' && REFUSED_VALUES.has(error.errno);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
