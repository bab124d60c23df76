/**
 * A request may be answered before all of its body has come (401, 413, 408 …). Closing at once would reset the
 * connection under the answer; so the rest is read and thrown away, but not for ever.
 */
import type { RequestHandler } from 'express';

const LINGER_MS = 10_000;

export function lingerAfterEarlyAnswers(lingerMs = LINGER_MS): RequestHandler {
  return (request, response, next) => {
    response.on('finish', () => {
      if (request.complete || request.destroyed) return;
      const timer = setTimeout(() => request.destroy(), lingerMs);
      timer.unref();
      request.on('end', () => clearTimeout(timer));
      request.on('close', () => clearTimeout(timer));
      request.on('error', () => {});
      request.resume();
    });
    next();
  };
}
