/** `/healthz`: the process answers. `/readyz`: it can also work, since database and Redis answer in time. */
import { type RequestHandler, Router } from 'express';
import type { Sql } from '../store/sql.ts';

const CHECK_TIMEOUT_MS = 2_000;

/** As much of Redis as readiness needs. */
export interface Pingable {
  ping(): Promise<unknown>;
}

export interface HealthDependencies {
  readonly store: Sql;
  readonly redis: Pingable;
}

type CheckResult = 'ok' | 'unreachable';

export function healthRouter(needs: HealthDependencies): Router {
  const router = Router();
  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/readyz', readiness(needs));
  return router;
}

function readiness(needs: HealthDependencies): RequestHandler {
  return async (_request, response) => {
    const [database, redis] = await Promise.all([
      check(() => needs.store.many('SELECT 1 alive')),
      check(() => needs.redis.ping()),
    ]);
    const ready = database === 'ok' && redis === 'ok';
    response
      .status(ready ? 200 : 503)
      .json({ status: ready ? 'ready' : 'not ready', checks: { database, redis } });
  };
}

async function check(ask: () => Promise<unknown>): Promise<CheckResult> {
  const timeout = Promise.withResolvers<CheckResult>();
  const timer = setTimeout(() => timeout.resolve('unreachable'), CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([
      ask().then(
        () => 'ok' as const,
        () => 'unreachable' as const,
      ),
      timeout.promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}
