/** One line per request when its answer is over; never bodies, keys or query strings. */
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { monotonicMs } from '../clock.ts';
import { traceIdOf } from './trace.ts';

/** Asked every few seconds by whoever watches the process. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export function logRequests(log: Logger): RequestHandler {
  return (request, response, next) => {
    const startedMs = monotonicMs();
    const { method, path } = request;
    response.set('X-Trace-Id', traceIdOf(request));
    response.on('close', () => {
      log[PROBES.has(path) ? 'debug' : 'info'](
        {
          method,
          path: path.slice(0, 200),
          status: response.statusCode,
          complete: response.writableFinished,
          durationMs: Math.round(monotonicMs() - startedMs),
          traceId: traceIdOf(request),
        },
        'request',
      );
    });
    next();
  };
}
