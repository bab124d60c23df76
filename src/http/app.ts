/** The HTTP side of the process: what surrounds every route, the partner API, and places for what others mount. */
import express, { type Express, type RequestHandler, type Router } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { IngestDependencies } from '../ingest/post-push.ts';
import { answerErrors, answerUnknownRoutes } from './answer-errors.ts';
import { docsRouter } from './docs-router.ts';
import { healthRouter, type Pingable } from './health.ts';
import { lingerAfterEarlyAnswers } from './linger.ts';
import { openApiDocument, serveOpenApi } from './openapi.ts';
import { partnerRouter } from './partner-router.ts';
import { logRequests } from './request-log.ts';
import type { SigningSettings } from './verify-signature.ts';

export interface AppDependencies extends IngestDependencies {
  readonly log: Logger;
  readonly redis: Pingable;
  readonly signing: SigningSettings;
  /** Mounted in this order before the partner API: admin, board, metrics, console. A path of its own for each. */
  readonly mounts?: readonly Mount[];
}

export interface Mount {
  readonly path: string;
  readonly handler: Router | RequestHandler;
}

export function createApp(needs: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(logRequests(needs.log), lingerAfterEarlyAnswers(), helmet());
  app.use(healthRouter(needs));
  app.get('/openapi.json', serveOpenApi(openApiDocument()));
  app.use('/docs', docsRouter());
  for (const mount of needs.mounts ?? []) app.use(mount.path, mount.handler);
  const onTrouble = (where: string, error: unknown) => needs.log.warn({ err: error, where }, 'trouble');
  app.use('/api/v1', partnerRouter({ onTrouble, ...needs }));
  app.use(answerUnknownRoutes());
  app.use(answerErrors(needs.log));
  return app;
}
