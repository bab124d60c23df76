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

/** RFC 9110, 5.6.6, and blanks round the `=`, which it does not allow and which senders write all the same. */
const PARAMETER = /;[ \t]*(?:([^\s;="]+)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;="]*)))?)?[ \t]*/g;
const UTF_8 = /^utf-?8$/i;

/** @throws Problem 415 that names what is read here */
export function readFormat(request: Request): StationSource {
  const given = request.get('Content-Type') ?? '';
  const type = given.split(';', 1)[0]!.trim().toLowerCase();
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
  refuseOtherCharsets(given);
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

/**
 * All that is read here is UTF-8. JSON is so by its definition (RFC 8259), but a sender who names another charset may mean
 * it: bytes of GBK that happen to be UTF-8 too would become other text.
 */
function refuseOtherCharsets(contentType: string): void {
  const other = charsetsOf(contentType).find((charset) => !UTF_8.test(charset));
  if (other === undefined) return;
  throw new Problem(
    415,
    'UNSUPPORTED_CHARSET',
    `Send the body in UTF-8; ${JSON.stringify(other.slice(0, 40))} is not read here.`,
  );
}

/** Each that is named, also more than one. @throws Problem 415 where the parameters cannot be told apart */
function charsetsOf(contentType: string): string[] {
  const start = contentType.indexOf(';');
  const text = start < 0 ? '' : contentType.slice(start);
  const parameters = [...text.matchAll(PARAMETER)];
  if (parameters.map(([whole]) => whole).join('') !== text) {
    throw new Problem(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Type has parameters that cannot be read; write them as charset=utf-8, after a semicolon each.',
    );
  }
  return parameters
    .filter(([, name]) => name?.toLowerCase() === 'charset')
    .map(([, , quoted, bare]) => (quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '').trim());
}

function lookUp<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
