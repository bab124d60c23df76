/**
 * Bull Board at /admin/board, behind the sign-in: the queues as BullMQ sees them. Jobs there are wakes (stage, partner,
 * slot) and no business data. It is for looking only: what one would want to do there (run, stop, hold) has commands of
 * its own that MySQL remembers, and a pause kept in Redis alone would be forgotten with it. Even so, no button there could
 * do harm: jobs may be lost, doubled or late (ENG-6).
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { type RequestHandler, Router } from 'express';
import type { Waker } from '../../queues/wake.ts';
import { Problem } from '../http/problem.ts';
import type { AdminToken } from './admin-token.ts';
import { authenticateOperator, findSignedIn } from './authenticate.ts';
import { BOARD_PATH, loginAddress } from './next-page.ts';

/** Bull Board's page wants styles of its own and a font from elsewhere; it gets the former. */
const CONTENT_SECURITY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ');

export function boardRouter(token: AdminToken, queues: Waker['queues']): Router {
  const router = Router({ caseSensitive: true });
  router.use(sendToLogin(token), authenticateOperator(token), onlyLook());
  router.use((_request, response, next) => {
    response.set('Content-Security-Policy', CONTENT_SECURITY);
    next();
  });
  router.use(bullBoard(queues));
  return router;
}

function bullBoard(queues: Waker['queues']): RequestHandler {
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath(BOARD_PATH);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter,
    options: {
      uiConfig: { boardTitle: 'Rooftally queues', miscLinks: [{ text: 'Sign out', url: '/admin/logout' }] },
    },
  });
  return serverAdapter.getRouter() as RequestHandler;
}

/** A browser that wants a page is sent to the sign-in; everything else gets the refusal that follows. */
function sendToLogin(token: AdminToken): RequestHandler {
  return (request, response, next) => {
    const wantsPage = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
    const isKnown = request.headers.authorization !== undefined || findSignedIn(token, request) !== null;
    if (wantsPage && !isKnown) response.redirect(303, loginAddress(request.originalUrl));
    else next();
  };
}

function onlyLook(): RequestHandler {
  return (request, _response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') return next();
    const detail = 'The board is for looking. Run, stop and hold tasks and stages through /admin/api/v1.';
    throw new Problem(405, 'BOARD_IS_READ_ONLY', detail, { headers: { Allow: 'GET, HEAD' } });
  };
}
