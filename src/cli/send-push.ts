/** Sends a file as a push: JSON, NDJSON or CSV, gzip too, by its name; streamed, not read into memory. */
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { Failure } from '../errors.ts';
import { type ApiClient, ApiError } from './api-client.ts';
import type { PushReply } from './push-report.ts';

const CONTENT_TYPES: readonly (readonly [extension: string, contentType: string])[] = [
  ['.json', 'application/json'],
  ['.ndjson', 'application/x-ndjson'],
  ['.jsonl', 'application/x-ndjson'],
  ['.csv', 'text/csv'],
];

/** @returns the reply, also where every row was refused (ING-5) @throws ApiError where the push was refused as a whole */
export async function sendPush(client: ApiClient, file: string, identity: string): Promise<PushReply> {
  const headers = { ...contentHeaders(file), 'idempotency-key': identity };
  try {
    return (await client.send<PushReply>('/api/v1/pushes', await openAsBlob(file), headers)).body;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'REJECTED') return error.problem as unknown as PushReply;
    throw error;
  }
}

export function contentHeaders(file: string): Record<string, string> {
  const name = basename(file).toLowerCase();
  const isZipped = name.endsWith('.gz');
  const plainName = isZipped ? name.slice(0, -'.gz'.length) : name;
  const known = CONTENT_TYPES.find(([extension]) => plainName.endsWith(extension));
  if (known === undefined) {
    throw new Failure(
      'FILE_KIND',
      `${file}: a push is a .json, .ndjson or .csv file, with .gz if it is zipped`,
    );
  }
  return { 'content-type': known[1], ...(isZipped ? { 'content-encoding': 'gzip' } : {}) };
}
