import type { RequestHandler } from 'express';
import type { Registry } from 'prom-client';

/** `GET /metrics` */
export function metricsHandler(registry: Registry): RequestHandler {
  return async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  };
}
