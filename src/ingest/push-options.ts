/** What a push request says beside its body: identity, format, dry run, strictness. All of it is checked before the body is read. */
import type { Request } from 'express';
import { readIdentity } from '../domain/request-identity.ts';
import { Problem } from '../http/problem.ts';
import { readFlag } from '../http/query.ts';
import { csvStations } from './csv-station-source.ts';
import { jsonStations } from './json-station-source.ts';
import { ndjsonStations } from './ndjson-station-source.ts';
import type { StationSource } from './station-source.ts';

export interface PushOptions {
  readonly identityKey: string;
  readonly source: StationSource;
  /** Everything is checked and answered, nothing is stored (ING-9). */
  readonly dryRun: boolean;
  /** Unknown fields refuse their rows (DEC-1); `?strict=false` ignores and counts them. */
  readonly strict: boolean;
}

/** The formats that are read, by media type. */
const SOURCES: Readonly<Record<string, StationSource>> = {
  'application/json': jsonStations,
  'application/x-ndjson': ndjsonStations,
  'application/ndjson': ndjsonStations,
  'application/jsonl': ndjsonStations,
  'text/csv': csvStations,
};

/** @throws Problem 400 for the identity or the query, 415 for the format */
export function readPushOptions(request: Request): PushOptions {
  const identity = readIdentity(request.get('Idempotency-Key'), request.get('X-Request-Id'));
  if ('fault' in identity) throw new Problem(400, identity.fault, identity.detail);
  return {
    identityKey: identity.key,
    source: chooseSource(request),
    dryRun: readFlag(request, 'dryRun', false),
    strict: readFlag(request, 'strict', true),
  };
}

function chooseSource(request: Request): StationSource {
  const encoding = request.get('Content-Encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new Problem(
      415,
      'UNSUPPORTED_ENCODING',
      `Send the body as it is: ${encoding.slice(0, 40)} is not read here.`,
    );
  }
  const type = (request.get('Content-Type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
  const source = Object.hasOwn(SOURCES, type) ? SOURCES[type] : undefined;
  if (source === undefined) {
    throw new Problem(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      `Send a body of type ${Object.keys(SOURCES).join(' or ')}, and name it in Content-Type.`,
    );
  }
  return source;
}
