/** The control plane, mounted at `/admin`: what operators may see and do, all of it behind the sign-in. */
import { type RequestHandler, Router } from 'express';
import type { Waker } from '../../queues/wake.ts';
import { serveOpenApi } from '../http/openapi.ts';
import { takesNoParameters } from '../http/query.ts';
import type { SecretKey } from '../http/secret-box.ts';
import type { LeaseOptions } from '../leases/lease.ts';
import type { Engine } from '../tasks/engine.ts';
import { AdminToken } from './admin-token.ts';
import { askFullRefreshRoute } from './ask-full-refresh.ts';
import { authenticateOperator, refuseWithoutToken } from './authenticate.ts';
import { boardRouter } from './board.ts';
import { changePartner } from './change-partner.ts';
import { changePlatformBillsRoute } from './change-platform-bills.ts';
import { changeSigning } from './change-signing.ts';
import { createCredential } from './create-credential.ts';
import { createPartner } from './create-partner.ts';
import { createSnapshotsRoute } from './create-snapshots.ts';
import { type InspectionDesk, listFindingsRoute, showInspection, startInspection } from './inspections.ts';
import { listAnyPushesRoute } from './list-any-pushes.ts';
import { listCredentials } from './list-credentials.ts';
import { listGuardsRoute } from './list-guards.ts';
import { listLeasesRoute } from './list-leases.ts';
import {
  listAccountsRoute,
  listDifferencesRoute,
  listLocksRoute,
  listPlatformBillsRoute,
  listSnapshotsRoute,
} from './list-ledger.ts';
import { listOperationsRoute } from './list-operations.ts';
import { listPartnersRoute, showPartner } from './list-partners.ts';
import { listSlotsRoute } from './list-slots.ts';
import { listStagesRoute } from './list-stages.ts';
import { listStationMappingsRoute } from './list-station-mappings.ts';
import { listTasksRoute } from './list-tasks.ts';
import { loginRouter } from './login.ts';
import { logoutRouter } from './logout.ts';
import { BOARD_PATH } from './next-page.ts';
import { adminOpenApiDocument } from './openapi.ts';
import { pauseStage, resumeStage } from './pause-stage.ts';
import { paymentOrdersRouter } from './payment-orders.ts';
import { paymentSessionsRouter } from './payment-sessions.ts';
import { putStationMapping } from './put-station-mapping.ts';
import { parseJsonBodies } from './read-body.ts';
import { releaseLocksRoute } from './release-locks.ts';
import { pauseRetention, showRetention } from './retention.ts';
import { revokeCredential } from './revoke-credential.ts';
import { runTasksRoute } from './run-tasks.ts';
import { showTask } from './show-task.ts';
import { cancelTaskRoute, resumeTaskRoute, stopTaskRoute } from './steer-task.ts';
import { verifyBillsRoute } from './verify-bills.ts';

export interface ControlDependencies {
  readonly engine: Engine;
  /** Undefined: the control plane refuses everything. */
  readonly adminToken: string | undefined;
  /** Left out or none: no key with a signing secret can be made (ING-10). */
  readonly secretKeys?: readonly SecretKey[];
  /** Left out: leases are not shown. */
  readonly leases?: Pick<LeaseOptions, 'redis' | 'prefix'>;
  /** The queues of the stages, for the board. */
  readonly boardQueues: Waker['queues'];
  /** Where a sign-in leads that nobody was sent to; the board unless said otherwise. */
  readonly homePath?: string;
  /** How long a manual run waits for its ends (ENG-4); the engine's 30 s unless said otherwise. */
  readonly runWaitMaxMs?: number;
  /** Left out: nothing can be inspected by hand, and findings are not shown. */
  readonly inspection?: InspectionDesk;
}

export function createControlRouter(needs: ControlDependencies): Router {
  const router = Router({ caseSensitive: true });
  const token = needs.adminToken === undefined ? null : new AdminToken(needs.adminToken);
  router.use(refuseWithoutToken(token));
  if (token === null) return router;
  const home = needs.homePath ?? BOARD_PATH;
  router.get('/', (_request, response) => response.redirect(303, home));
  router.use('/login', loginRouter({ token, sql: needs.engine.store, home }));
  router.use('/logout', logoutRouter(token));
  router.use('/board', boardRouter(token, needs.boardQueues));
  router.get('/openapi.json', authenticateOperator(token), serveOpenApi(adminOpenApiDocument()));
  router.use('/api/v1', authenticateOperator(token), neverStored(), parseJsonBodies(), apiRouter(needs));
  return router;
}

/** Answers speak of money and of keys: no cache on the way keeps them. */
function neverStored(): RequestHandler {
  return (_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  };
}

/** What a command is to do stands in its path and body, never in the query. */
function commandsAlone(alone: RequestHandler): RequestHandler {
  return (request, response, next) =>
    ['GET', 'HEAD'].includes(request.method) ? next() : alone(request, response, next);
}

function apiRouter(needs: ControlDependencies): Router {
  const { engine } = needs;
  const { store } = engine;
  const router = Router({ caseSensitive: true });
  const alone = takesNoParameters();
  router.use(commandsAlone(alone));
  router.get('/tasks', listTasksRoute(store));
  router.post('/tasks/run', runTasksRoute(engine, needs.runWaitMaxMs));
  router.get('/tasks/:code', alone, showTask(store));
  router.post('/tasks/:code/stop', stopTaskRoute(engine));
  router.post('/tasks/:code/resume', resumeTaskRoute(engine));
  router.post('/tasks/:code/cancel', cancelTaskRoute(engine));
  router.post('/lock-releases', releaseLocksRoute(engine));
  router.get('/stages', alone, listStagesRoute(store));
  router.post('/stages/:name/pause', pauseStage(engine));
  router.post('/stages/:name/resume', resumeStage(engine));
  router.get('/partners', listPartnersRoute(store));
  router.post('/partners', createPartner(engine));
  router.get('/partners/:partnerOrgId', alone, showPartner(store));
  router.put('/partners/:partnerOrgId', changePartner(engine));
  router.get('/partners/:partnerOrgId/credentials', alone, listCredentials(store));
  router.post('/partners/:partnerOrgId/credentials', createCredential(store, needs.secretKeys ?? []));
  router.post('/partners/:partnerOrgId/credentials/:id/signing', changeSigning(store));
  router.post('/partners/:partnerOrgId/credentials/:id/revoke', revokeCredential(store));
  router.get('/station-mappings', listStationMappingsRoute(store));
  router.post('/station-mappings', putStationMapping(store));
  router.get('/slots', listSlotsRoute(store));
  router.get('/guards', listGuardsRoute(store));
  if (needs.leases !== undefined) router.get('/leases', listLeasesRoute(needs.leases));
  router.get('/pushes', listAnyPushesRoute(store));
  router.get('/locks', listLocksRoute(store));
  router.get('/differences', listDifferencesRoute(store));
  router.get('/platform-bills', listPlatformBillsRoute(store));
  router.post('/platform-bills', changePlatformBillsRoute(engine));
  router.get('/accounts', listAccountsRoute(store));
  router.get('/snapshots', listSnapshotsRoute(store));
  router.post('/snapshots', createSnapshotsRoute(engine));
  router.post('/full-refreshes', askFullRefreshRoute(engine));
  router.post('/verifications', verifyBillsRoute(engine));
  router.use('/payment-sessions', paymentSessionsRouter(engine));
  router.use('/payment-orders', paymentOrdersRouter(engine));
  if (needs.inspection !== undefined) {
    router.post('/inspections', startInspection(store, needs.inspection));
    router.get('/inspections/:runId', alone, showInspection(store, needs.inspection));
    router.get('/findings', listFindingsRoute(store, needs.inspection));
  }
  router.get('/retention', alone, showRetention(store));
  router.post('/retention/pause', pauseRetention(store, true));
  router.post('/retention/resume', pauseRetention(store, false));
  router.get('/operations', listOperationsRoute(store));
  return router;
}
