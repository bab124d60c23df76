/**
 * POST /admin/api/v1/stages/{name}/pause and /resume: whether work of a stage is claimed (ENG-14). The pause is a row in
 * MySQL that every claim looks at: effective at the next claim, and an emptied Redis does not forget it.
 */
import type { RequestHandler } from 'express';
import type { StageName } from '../domain/stage.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { setStagePaused } from '../store/stage-control.ts';
import { lockStagePaused } from '../store/stage-pauses.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import { kickDueWork } from './kick-due-work.ts';
import { readBody } from './read-body.ts';
import { requireStage } from './refusals.ts';
import { emptyBody } from './steer-task.ts';

export function pauseStage(engine: Engine): RequestHandler<{ name: string }> {
  return async (request, response) => {
    readBody(request, emptyBody);
    const stage = requireStage(request.params.name);
    await setPaused(engine, stage, true, operatorOf(request));
    response.json({ stage, paused: true });
  };
}

export function resumeStage(engine: Engine): RequestHandler<{ name: string }> {
  return async (request, response) => {
    readBody(request, emptyBody);
    const stage = requireStage(request.params.name);
    await setPaused(engine, stage, false, operatorOf(request));
    await kickDueWork(engine, (slot) => slot.stage === stage);
    response.json({ stage, paused: false });
  };
}

async function setPaused(engine: Engine, stage: StageName, paused: boolean, actor: string): Promise<void> {
  await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const before = await lockStagePaused(tx, stage);
    await setStagePaused(tx, stage, paused, actor);
    await recordOperation(tx, {
      actor,
      action: paused ? 'STAGE_PAUSE' : 'STAGE_RESUME',
      target: stage,
      before: { paused: before },
      after: { paused },
      reason: null,
    });
  });
}
