/** Reads a body with a format's source alone, in pieces of any size. */
import { Problem } from '../../src/http/problem.ts';
import type { SourceEvent, StationSource } from '../../src/ingest/station-source.ts';

/** @param pieceBytes each piece is overwritten when the next one is asked for, as the spool's are */
export async function* piecesOf(body: string | Uint8Array, pieceBytes = 64 * 1024): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(body as string);
  const piece = Buffer.alloc(pieceBytes);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const length = bytes.copy(piece, 0, at, at + pieceBytes);
    yield piece.subarray(0, length);
    piece.fill('#');
  }
}

export async function eventsOf(
  source: StationSource,
  body: string | Uint8Array,
  { pieceBytes, strict = true }: { pieceBytes?: number; strict?: boolean } = {},
): Promise<SourceEvent[]> {
  const events: SourceEvent[] = [];
  for await (const batch of source.read(piecesOf(body, pieceBytes), strict)) events.push(...batch);
  return events;
}

export async function problemOf(reading: Promise<unknown>): Promise<Problem> {
  const outcome = await reading.then(
    () => null,
    (error: unknown) => error,
  );
  if (outcome instanceof Problem) return outcome;
  throw outcome ?? new Error('It was read without a complaint');
}
