/**
 * The body goes into a spool file as fast as the sender sends, counted, within a time; no database connection is held
 * meanwhile (ING-7).
 */
import type { Request } from 'express';
import { Problem } from '../http/problem.ts';
import { bodyDigestOf } from './body-digest.ts';
import { type BodyEncoding, type BodySink, bodySink, tooManyBytes } from './body-sink.ts';
import type { IngestLimits } from './limits.ts';
import { SpoolFile } from './spool-file.ts';

/**
 * @returns the body as its format has it: unzipped
 * @throws Problem 413 over `bytesMax`, 408 over `receiveTimeoutMs`, 400 if the sender broke off or the zip is not whole, 400
 * or 401 if the body is not the one that was announced; the stream is left open for the answer
 */
export async function receiveBody(
  request: Request,
  encoding: BodyEncoding,
  limits: IngestLimits,
): Promise<SpoolFile> {
  if (Number(request.headers['content-length'] ?? 0) > limits.bytesMax) throw tooManyBytes(limits);
  const spool = await SpoolFile.open(limits.spoolDir);
  try {
    using sink = bodySink(encoding, spool, limits);
    await receiveInto(sink, request, limits);
    return spool;
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * By events, one chunk at a time: an iterator would keep hold of the stream after a refusal, and what the sender still
 * sends then could not be read away (`linger.ts`).
 */
async function receiveInto(sink: BodySink, request: Request, limits: IngestLimits): Promise<void> {
  if (request.destroyed) throw broken(null);
  const digest = bodyDigestOf(request);
  const received = Promise.withResolvers<void>();
  const timer = setTimeout(() => received.reject(tooSlow(limits)), limits.receiveTimeoutMs);
  let receivedBytes = 0;
  const onData = (chunk: Buffer): void => {
    receivedBytes += chunk.length;
    // Counted before it is unzipped too: it may unzip into nothing, without end.
    if (receivedBytes > limits.bytesMax) {
      received.reject(tooManyBytes(limits));
      return;
    }
    request.pause();
    digest.add(chunk);
    sink.write(chunk).then(() => request.resume(), received.reject);
  };
  const onEnd = (): void => {
    request.off('close', onBroken);
    sink.end().then(received.resolve, received.reject);
  };
  const onBroken = (error?: Error): void => received.reject(broken(error));
  request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  await received.promise.finally(() => {
    clearTimeout(timer);
    request.off('data', onData).off('end', onEnd).off('close', onBroken);
  });
  digest.compare();
}

function broken(cause: unknown): Problem {
  return new Problem(400, 'BODY_INCOMPLETE', 'The connection broke before the body was complete.', { cause });
}

function tooSlow(limits: IngestLimits): Problem {
  return new Problem(
    408,
    'RECEIVE_TIMEOUT',
    `The body must arrive within ${limits.receiveTimeoutMs} ms (receiveTimeoutMs). Send it faster, or split it into several pushes.`,
    { members: { limit: { name: 'receiveTimeoutMs', value: limits.receiveTimeoutMs } } },
  );
}
