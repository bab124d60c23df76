/** POST /admin/api/v1/tasks/{code}/stop, /resume and /cancel (ENG-14). */
import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { findTaskByCode } from '../store/tasks.ts';
import type { Engine } from '../tasks/engine.ts';
import { cancelTask, resumeTask, type SteerOutcome, stopTask } from '../tasks/steer-task.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { noSuchTask } from './refusals.ts';
import { taskView } from './task-view.ts';

const REASON_LENGTH_MAX = 500;

export const emptyBody = z.strictObject({});
export const cancelTaskBody = z.strictObject({
  reason: z.string().trim().min(1, 'is blank').max(REASON_LENGTH_MAX),
});

type TaskCommand = RequestHandler<{ code: string }>;

/** 202 where the worker that has it stops it at its next boundary. */
export function stopTaskRoute(engine: Engine): TaskCommand {
  return async (request, response) => {
    readBody(request, emptyBody);
    const { code: taskCode } = request.params;
    const outcome = await stopTask(engine, { taskCode, actor: operatorOf(request) });
    await reply(engine, response, taskCode, outcome, 'STOPPED');
  };
}

export function resumeTaskRoute(engine: Engine): TaskCommand {
  return async (request, response) => {
    readBody(request, emptyBody);
    const { code: taskCode } = request.params;
    const outcome = await resumeTask(engine, { taskCode, actor: operatorOf(request) });
    await reply(engine, response, taskCode, outcome, 'RESUMED');
  };
}

export function cancelTaskRoute(engine: Engine): TaskCommand {
  return async (request, response) => {
    const { reason } = readBody(request, cancelTaskBody);
    const { code: taskCode } = request.params;
    const outcome = await cancelTask(engine, { taskCode, actor: operatorOf(request), reason });
    await reply(engine, response, taskCode, outcome, 'CANCELLED');
  };
}

/** @throws Problem 404, 409 */
async function reply(
  engine: Engine,
  response: Response,
  taskCode: string,
  outcome: SteerOutcome,
  done: 'STOPPED' | 'RESUMED' | 'CANCELLED',
): Promise<void> {
  if (outcome.kind === 'not-found') throw noSuchTask(taskCode);
  if (outcome.kind === 'refused') throw new Problem(409, 'TASK_STATE', `${outcome.reason}.`);
  const task = await findTaskByCode(engine.store, taskCode);
  if (task === null) throw noSuchTask(taskCode);
  const requested = outcome.kind === 'requested';
  response
    .status(requested ? 202 : 200)
    .json({ outcome: requested ? 'STOP_REQUESTED' : done, task: taskView(task) });
}
