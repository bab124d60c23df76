/** How many requests of one kind a partner may have open at once in this process: each costs disk and memory (ING-7). */
import type { RequestHandler } from 'express';
import { Problem } from './problem.ts';

const RETRY_AFTER_S = 2;

/** @param keyOf whose requests are counted together */
export function limitConcurrency(
  atOnceMax: number,
  keyOf: (request: Parameters<RequestHandler>[0]) => string,
): RequestHandler {
  const open = new Map<string, number>();
  return (request, response, next) => {
    // Its connection has closed already: nobody waits for an answer, and nothing would tell that its room is free again.
    if (request.socket.destroyed) return;
    const key = keyOf(request);
    const count = (open.get(key) ?? 0) + 1;
    if (count > atOnceMax) {
      throw new Problem(
        429,
        'TOO_MANY_AT_ONCE',
        `At most ${atOnceMax} pushes are taken at once. Wait for the answer to one, then send the same request again.`,
        { headers: { 'Retry-After': String(RETRY_AFTER_S) } },
      );
    }
    open.set(key, count);
    response.once('close', () => {
      const left = open.get(key)! - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    });
    next();
  };
}
