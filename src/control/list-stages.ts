/** GET /admin/api/v1/stages: the stages in their order, and which of them are held, since when and by whom. */
import type { RequestHandler } from 'express';
import { isoInstant } from '../store/instant.ts';
import type { Sql } from '../store/sql.ts';
import { listStagePauses } from '../store/stage-pauses.ts';
import { ROUTED_STAGES } from './refusals.ts';

export function listStagesRoute(sql: Sql): RequestHandler {
  return async (_request, response) => {
    const pauses = new Map((await listStagePauses(sql)).map((pause) => [pause.stage, pause]));
    const items = ROUTED_STAGES.map((stage) => {
      const known = pauses.get(stage);
      if (known === undefined) return { stage, paused: false, updatedBy: null, updateTime: null };
      const { updatedBy, updateTime } = known;
      return { stage, paused: known.paused === 1, updatedBy, updateTime: isoInstant(updateTime) };
    });
    response.json({ items, nextCursor: null });
  };
}
