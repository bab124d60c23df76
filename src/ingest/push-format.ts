/** What a push is written in: JSON, NDJSON or CSV by its media type, and whether it is zipped (ING-7). */
import type { Request } from 'express';
import { Problem } from '../http/problem.ts';
import type { BodyEncoding } from './body-sink.ts';
import { csvStations } from './csv-station-source.ts';
import { jsonStations } from './json-station-source.ts';
import { ndjsonStations } from './ndjson-station-source.ts';
import type { StationSource } from './station-source.ts';

const SOURCES: Readonly<Record<string, StationSource>> = {
  'application/json': jsonStations,
  'application/x-ndjson': ndjsonStations,
  'text/csv': csvStations,
};

/** Other names that are in use for the same. */
const ALIASES: Readonly<Record<string, string>> = {
  'application/ndjson': 'application/x-ndjson',
  'application/jsonl': 'application/x-ndjson',
};

const ENCODINGS: Readonly<Record<string, BodyEncoding>> = {
  identity: 'identity',
  gzip: 'gzip',
  // RFC 9110 has recipients take it for the same.
  'x-gzip': 'gzip',
};

/** @throws Problem 415 that names what is read here */
export function readFormat(request: Request): StationSource {
  const [type = '', ...parameters] = (request.get('Content-Type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const source = lookUp(SOURCES, lookUp(ALIASES, type) ?? type);
  if (source === undefined) {
    const types = Object.keys(SOURCES);
    throw new Problem(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      `Send a body of type ${listed(types)}, and name it in Content-Type.`,
      { headers: { Accept: types.join(', ') } },
    );
  }
  if (source !== jsonStations) refuseOtherCharsets(parameters);
  return source;
}

/** @throws Problem 415 that names what is read here */
export function readEncoding(request: Request): BodyEncoding {
  const named = request.get('Content-Encoding')?.trim().toLowerCase() ?? 'identity';
  const encoding = lookUp(ENCODINGS, named);
  if (encoding !== undefined) return encoding;
  throw new Problem(
    415,
    'UNSUPPORTED_ENCODING',
    `Send the body as it is, or with Content-Encoding: gzip; ${JSON.stringify(named.slice(0, 40))} is not read here.`,
    { headers: { 'Accept-Encoding': 'gzip, identity' } },
  );
}

/** Text may be in any charset that its type names; JSON is UTF-8 whatever it says (RFC 8259). */
function refuseOtherCharsets(parameters: readonly string[]): void {
  for (const parameter of parameters) {
    const charset = /^charset="?([^"]*)"?$/.exec(parameter)?.[1];
    if (charset === undefined || charset === 'utf-8' || charset === 'utf8') continue;
    throw new Problem(
      415,
      'UNSUPPORTED_CHARSET',
      `Send the body in UTF-8; ${JSON.stringify(charset.slice(0, 40))} is not read here.`,
    );
  }
}

function lookUp<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
