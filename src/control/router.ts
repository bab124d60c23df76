/** The control plane, mounted at `/admin`: what operators may see and do, all of it behind the sign-in. */
import { Router } from 'express';
import type { Engine } from '../tasks/engine.ts';
import { AdminToken } from './admin-token.ts';
import { authenticateOperator, refuseWithoutToken } from './authenticate.ts';
import { listStagesRoute } from './list-stages.ts';
import { listTasksRoute } from './list-tasks.ts';
import { pauseStage, resumeStage } from './pause-stage.ts';
import { parseJsonBodies } from './read-body.ts';
import { runTasksRoute } from './run-tasks.ts';
import { showTask } from './show-task.ts';

export interface ControlDependencies {
  readonly engine: Engine;
  /** Undefined: the control plane refuses everything. */
  readonly adminToken: string | undefined;
  /** How long a manual run waits for its ends (ENG-4); the engine's 30 s unless said otherwise. */
  readonly runWaitMaxMs?: number;
}

export function createControlRouter(needs: ControlDependencies): Router {
  const router = Router({ caseSensitive: true });
  const token = needs.adminToken === undefined ? null : new AdminToken(needs.adminToken);
  router.use(refuseWithoutToken(token));
  if (token !== null) {
    router.use('/api/v1', authenticateOperator(token), parseJsonBodies(), apiRouter(needs));
  }
  return router;
}

function apiRouter(needs: ControlDependencies): Router {
  const { engine } = needs;
  const { store } = engine;
  const router = Router({ caseSensitive: true });
  router.get('/tasks', listTasksRoute(store));
  router.post('/tasks/run', runTasksRoute(engine, needs.runWaitMaxMs));
  router.get('/tasks/:code', showTask(store));
  router.get('/stages', listStagesRoute(store));
  router.post('/stages/:name/pause', pauseStage(engine));
  router.post('/stages/:name/resume', resumeStage(engine));
  return router;
}
