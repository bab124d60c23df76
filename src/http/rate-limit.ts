/** How often one partner may push (ING-10). Counted per process: a courtesy to the others, not a right. */

import type { RequestHandler } from 'express';
import { rateLimit } from 'express-rate-limit';
import { sendProblem } from './answer-errors.ts';
import { Problem } from './problem.ts';

const WINDOW_MS = 60_000;

/** @param keyOf whose requests are counted together */
export function limitRate(
  perMinute: number,
  keyOf: (request: Parameters<RequestHandler>[0]) => string,
): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: perMinute,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    keyGenerator: keyOf,
    handler: (request, response) => {
      const detail = `At most ${perMinute} pushes a minute are taken. Wait as long as Retry-After says, then send the same request again.`;
      sendProblem(request, response, new Problem(429, 'RATE_LIMITED', detail));
    },
  });
}
