/** GET /admin/api/v1/tasks: found by type, status, partner, code, business key, stage or push; newest first. */
import type { Request, RequestHandler } from 'express';
import { TaskStatus } from '../domain/task-status.ts';
import { readText } from '../http/query.ts';
import type { Sql } from '../store/sql.ts';
import { listTasks, type TaskFilter } from '../store/task-lists.ts';
import { ROUTED_STAGES } from './refusals.ts';
import { readId, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';
import { taskView } from './task-view.ts';

const PARAMETERS = ['type', 'status', 'partnerOrgId', 'code', 'businessKey', 'stage', 'pushId'];
const STATUS_NAMES = Object.keys(TaskStatus) as (keyof typeof TaskStatus)[];

export function listTasksRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, PARAMETERS);
    const { items, nextCursor } = await listTasks(
      sql,
      readFilter(request),
      readPageWish(request),
      ROUTED_STAGES,
    );
    response.json({ items: items.map(taskView), nextCursor });
  };
}

function readFilter(request: Request): TaskFilter {
  const status = readOneOf(request, 'status', STATUS_NAMES);
  return {
    taskType: readText(request, 'type'),
    status: status === null ? null : TaskStatus[status],
    partnerOrgId: readId(request, 'partnerOrgId'),
    taskCode: readText(request, 'code'),
    businessKey: readText(request, 'businessKey'),
    stage: readOneOf(request, 'stage', ROUTED_STAGES),
    pushId: readId(request, 'pushId'),
  };
}
