/** What a push request says beside its body: identity, format, dry run, strictness. All of it is checked before the body is read. */
import type { Request } from 'express';
import type { ControlTotals } from '../domain/push-outcome.ts';
import { readIdentity } from '../domain/request-identity.ts';
import { Problem } from '../http/problem.ts';
import { readFlag, refuseOtherParameters } from '../http/query.ts';
import type { BodyEncoding } from './body-sink.ts';
import { readEncoding, readFormat } from './push-format.ts';
import { readQueryTotals } from './query-totals.ts';
import type { StationSource } from './station-source.ts';

const PARAMETERS = ['dryRun', 'strict', 'totalCount', 'totalAmount'];

export interface PushOptions {
  readonly identityKey: string;
  readonly encoding: BodyEncoding;
  readonly source: StationSource;
  /** Everything is checked and answered, nothing is stored (ING-9). */
  readonly dryRun: boolean;
  /** Unknown fields refuse their rows (DEC-1); `?strict=false` ignores and counts them. */
  readonly strict: boolean;
  /** Those of the query; JSON may have them in its body. */
  readonly totals: ControlTotals;
}

/** @throws Problem 400 for the identity or the query, 415 for the format */
export function readPushOptions(request: Request): PushOptions {
  const identity = readIdentity(request.get('Idempotency-Key'), request.get('X-Request-Id'));
  if ('fault' in identity) throw new Problem(400, identity.fault, identity.detail);
  refuseOtherParameters(request, PARAMETERS);
  return {
    identityKey: identity.key,
    encoding: readEncoding(request),
    source: readFormat(request),
    dryRun: readFlag(request, 'dryRun', false),
    strict: readFlag(request, 'strict', true),
    totals: readQueryTotals(request),
  };
}
