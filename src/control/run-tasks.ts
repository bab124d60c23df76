/**
 * POST /admin/api/v1/tasks/run: a manual run (ENG-4). Selectors that are given but blank, and bodies that cannot be read,
 * are an error, and nothing runs: a slip of the pen must not become a run of everything that is due.
 */
import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import { readParameters } from '../domain/job-parameters.ts';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import type { Engine } from '../tasks/engine.ts';
import { runTasks } from '../tasks/run-tasks.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { ROUTED_STAGES } from './refusals.ts';

const SELECTORS_MAX = 1_000;
const TARGET_LENGTH_MAX = 200;

const selector = (lengthMax: number) => z.string().trim().min(1, 'is blank').max(lengthMax);
const code = selector(160);
const businessKey = selector(400);
const some = <Item extends z.ZodType>(item: Item) =>
  z.array(item).min(1, 'is given, but names none').max(SELECTORS_MAX);

export const runTasksBody = z.strictObject({
  stage: z.enum(ROUTED_STAGES),
  maxTaskCount: z.int().optional(),
  taskCode: code.optional(),
  taskCodes: some(code).optional(),
  businessKey: businessKey.optional(),
  businessKeys: some(businessKey).optional(),
});

/** @param waitMaxMs how long ends are waited for */
export function runTasksRoute(engine: Engine, waitMaxMs?: number): RequestHandler {
  return async (request, response) => {
    const body = readParametersOf(request);
    const run = {
      stage: body.stage,
      taskCodes: merged(body.taskCode, body.taskCodes),
      businessKeys: merged(body.businessKey, body.businessKeys),
      ...(body.maxTaskCount === undefined ? {} : { maxTaskCount: body.maxTaskCount }),
    };
    const selectors = [...(run.taskCodes ?? []), ...(run.businessKeys ?? [])];
    await recordOperation(engine.store, {
      actor: operatorOf(request),
      action: 'TASK_RUN',
      target: [body.stage, ...selectors].join(' ').slice(0, TARGET_LENGTH_MAX),
      before: null,
      after: run,
      reason: null,
    });
    response.json(await runTasks(engine, run, waitMaxMs));
  };
}

/** LCK-7: plain, in `data`, or in `data` as a JSON text. @throws Problem 400 */
function readParametersOf(request: Request): z.infer<typeof runTasksBody> {
  const read = readParameters(request.body);
  if ('fault' in read) throw new Problem(400, 'MALFORMED_BODY', `Nothing was done. ${read.fault}`);
  return readBody({ body: read.parameters }, runTasksBody);
}

/** Null: none was given. */
function merged(one: string | undefined, many: readonly string[] | undefined): string[] | null {
  return one === undefined && many === undefined
    ? null
    : [...(one === undefined ? [] : [one]), ...(many ?? [])];
}
