/**
 * RFC 9457 problem documents, and the one place where anything thrown becomes one (ING-10).
 * `code` is stable and for programs; `detail` says what to change.
 */
import { BusyError, Failure } from '../errors.ts';
import { isDatabaseAway } from '../store/database-away.ts';
import { isConflict } from '../store/transaction.ts';

const AWAY_RETRY_AFTER_S = 5;
const BUSY_RETRY_AFTER_S = 1;

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

export interface ProblemOptions {
  /** Further members of the document. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A refusal of a request as a whole. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, detail: string, options: ProblemOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request cannot be understood',
  401: 'Who is asking is not known',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Not possible here',
  408: 'The request took too long',
  409: 'In conflict with what is under way',
  413: 'Too large',
  415: 'Not a format that is read here',
  422: 'Understood, and refused',
  429: 'Too many requests',
  500: 'A fault of ours',
  503: 'Out of reach for the moment',
};

/** The members that every problem document begins with. */
export function problemHead(problem: Problem, traceId: string): Record<string, unknown> {
  return {
    type: `urn:rooftally:problem:${problem.code.toLowerCase().replaceAll('_', '-')}`,
    title: TITLES[problem.status] ?? 'Refused',
    status: problem.status,
    code: problem.code,
    detail: problem.message,
    traceId,
    ...problem.members,
  };
}

/** What the framework's own parsers throw: a status below 500 and a message made for the client. */
interface ClientFault {
  readonly status: number;
  readonly expose?: boolean;
  readonly type?: string;
  readonly message: string;
}

export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isDatabaseAway(thrown)) {
    return new Problem(503, 'DATABASE_UNAVAILABLE', 'Nothing was done; send the same request again later.', {
      headers: { 'Retry-After': String(AWAY_RETRY_AFTER_S) },
      cause: thrown,
    });
  }
  if (isConflict(thrown) || thrown instanceof BusyError) {
    return new Problem(503, 'BUSY', 'Others were at work on the same data; send the same request again.', {
      headers: { 'Retry-After': String(BUSY_RETRY_AFTER_S) },
      cause: thrown,
    });
  }
  if (isClientFault(thrown)) return clientFault(thrown);
  if (thrown instanceof Failure && !thrown.retryable) {
    return new Problem(409, thrown.code, thrown.message, { members: { ...thrown.fields }, cause: thrown });
  }
  return new Problem(500, 'INTERNAL', 'The fault is recorded under the trace id given here.', {
    cause: thrown,
  });
}

function isClientFault(thrown: unknown): thrown is ClientFault {
  if (!(thrown instanceof Error) || !('status' in thrown)) return false;
  return typeof thrown.status === 'number' && thrown.status >= 400 && thrown.status < 500;
}

const CLIENT_FAULT_CODES: Readonly<Record<number, string>> = {
  400: 'MALFORMED_REQUEST',
  408: 'REQUEST_TIMEOUT',
  413: 'BODY_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
};

function clientFault(fault: ClientFault): Problem {
  const code = CLIENT_FAULT_CODES[fault.status] ?? 'MALFORMED_REQUEST';
  return new Problem(fault.status, code, fault.message, { cause: fault });
}
