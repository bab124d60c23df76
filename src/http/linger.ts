/**
 * A request may be answered before all of its body has come (401, 413, 408 …). Closing at once would reset the
 * connection under the answer; so the rest is read and thrown away, for a while and up to a size.
 */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';

const LINGER_MS = 10_000;
const LINGER_BYTES_MAX = 256 * 1024 * 1024;

export function lingerAfterEarlyAnswers(): RequestHandler {
  return (request, response, next) => {
    response.on('finish', () => {
      if (!request.complete && !request.destroyed) drain(request);
    });
    next();
  };
}

function drain(request: IncomingMessage): void {
  let drainedBytes = 0;
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  timer.unref();
  request.on('data', (chunk: Buffer) => {
    drainedBytes += chunk.length;
    if (drainedBytes > LINGER_BYTES_MAX) request.destroy();
  });
  request.on('close', () => clearTimeout(timer));
  request.on('end', () => clearTimeout(timer));
  request.on('error', () => {});
  request.resume();
}
