/** GET /admin/api/v1/tasks/{code}: a task with its data, its result and, at the account stage, each account's outcome. */
import type { RequestHandler } from 'express';
import { parentTraceOf } from '../domain/parent-trace.ts';
import { isoInstant } from '../store/instant.ts';
import type { Sql } from '../store/sql.ts';
import { isStopRequested, listAccountOutcomes } from '../store/task-lists.ts';
import { findTaskByCode } from '../store/tasks.ts';
import { noSuchTask } from './refusals.ts';
import { taskView } from './task-view.ts';

/** A refresh has at most 25 accounts (ACC-1); some attempts of them are shown. */
const OUTCOMES_MAX = 500;

export function showTask(sql: Sql): RequestHandler<{ code: string }> {
  return async (request, response) => {
    const task = await findTaskByCode(sql, request.params.code);
    if (task === null) throw noSuchTask(request.params.code);
    const outcomes = await listAccountOutcomes(sql, task.id, OUTCOMES_MAX);
    response.json({
      ...taskView(task),
      parentTraceId: parentTraceOf(task.taskData),
      taskData: task.taskData,
      result: task.result,
      stopRequested: await isStopRequested(sql, task.id),
      ...(outcomes.length === 0
        ? {}
        : {
            accountOutcomes: outcomes.map((row) => ({ ...row, createTime: isoInstant(row.createTime) })),
          }),
    });
  };
}
