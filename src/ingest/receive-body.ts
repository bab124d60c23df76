/**
 * The body goes into a spool file as fast as the sender sends, counted, within a time; no database connection is held
 * meanwhile (ING-7).
 */
import type { IncomingMessage } from 'node:http';
import { Problem } from '../http/problem.ts';
import type { IngestLimits } from './limits.ts';
import { SpoolFile } from './spool-file.ts';

/** @throws Problem 413 over `bytesMax`, 408 over `receiveTimeoutMs`, 400 if the sender broke off; the stream is left open for the answer */
export async function receiveBody(request: IncomingMessage, limits: IngestLimits): Promise<SpoolFile> {
  if (Number(request.headers['content-length'] ?? 0) > limits.bytesMax) throw tooManyBytes(limits);
  const spool = await SpoolFile.open(limits.spoolDir);
  try {
    await receiveInto(spool, request, limits);
    return spool;
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

async function receiveInto(spool: SpoolFile, request: IncomingMessage, limits: IngestLimits): Promise<void> {
  const chunks = request.iterator({ destroyOnReturn: false });
  const deadline = Promise.withResolvers<never>();
  deadline.promise.catch(() => {});
  const timer = setTimeout(() => deadline.reject(tooSlow(limits)), limits.receiveTimeoutMs);
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), deadline.promise]);
      if (next.done) break;
      const chunk = next.value as Buffer;
      if (spool.sizeBytes + chunk.length > limits.bytesMax) throw tooManyBytes(limits);
      await spool.append(chunk);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(400, 'BODY_INCOMPLETE', 'The connection broke before the body was complete.', {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

function tooManyBytes(limits: IngestLimits): Problem {
  return new Problem(
    413,
    'BODY_TOO_LARGE',
    `A push may have at most ${limits.bytesMax} bytes (bytesMax). Split it into several pushes, each with an identity of its own.`,
    { members: { limit: { name: 'bytesMax', value: limits.bytesMax } } },
  );
}

function tooSlow(limits: IngestLimits): Problem {
  return new Problem(
    408,
    'RECEIVE_TIMEOUT',
    `The body must arrive within ${limits.receiveTimeoutMs} ms (receiveTimeoutMs). Send it faster, or split it into several pushes.`,
    { members: { limit: { name: 'receiveTimeoutMs', value: limits.receiveTimeoutMs } } },
  );
}
