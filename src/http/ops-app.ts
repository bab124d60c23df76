/** What a process without the API role shows: health and metrics, nothing else. */
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { answerErrors, answerUnknownRoutes } from './answer-errors.ts';
import type { Mount } from './app.ts';
import { type HealthDependencies, healthRouter } from './health.ts';

export interface OpsDependencies extends HealthDependencies {
  readonly log: Logger;
  readonly mounts: readonly Mount[];
}

export function createOpsApp(needs: OpsDependencies): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(healthRouter(needs));
  for (const mount of needs.mounts) app.use(mount.path, mount.handler);
  app.use(answerUnknownRoutes());
  app.use(answerErrors(needs.log));
  return app;
}
