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

/**
 * Turns anything thrown into a Failure. A fault of ours that a unit's values bring out is that unit's, or it would hold up
 * all that share a message or task with it; what we do not know is the platform's. Either may be retried.
 */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (isOurFault(error)) {
    return new Failure('INTERNAL', error.message, { cause: error });
  }
  if (isRefusedByDatabase(error))
    return new Failure('DATA_REFUSED', firstLine(error.message), { cause: error });
  return new Failure('INFRASTRUCTURE', firstLine(error.message), { reach: 'platform', cause: error });
}

/** What the language itself throws; Node's own errors of these classes carry a code and speak of the process. */
const FAULTS_IN_CODE = [TypeError, RangeError, SyntaxError, ReferenceError];

function isOurFault(error: Error): boolean {
  if (error instanceof RowCountError || error.message.startsWith('Broken assumption')) return true;
  return FAULTS_IN_CODE.some((kind) => error instanceof kind) && !('code' in error);
}

/** SQL states whose class speaks of the values of a statement, not of the server: data exceptions, broken constraints. */
const REFUSED_VALUES_STATE = /^2[23]/;
/** The same, from MySQL error numbers that have the state of everything else: character set, truncation, check. */
const REFUSED_VALUES = new Set([1265, 1366, 3819]);

function isRefusedByDatabase(error: Error): boolean {
  if (!('errno' in error) || typeof error.errno !== 'number') return false;
  if (REFUSED_VALUES.has(error.errno)) return true;
  return 'sqlState' in error && REFUSED_VALUES_STATE.test(String(error.sqlState));
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
