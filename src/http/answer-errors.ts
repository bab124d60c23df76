/** The end of every route: what was thrown becomes a problem document, and what nobody answered a 404. */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { PROBLEM_TYPE, Problem, problemHead, toProblem } from './problem.ts';
import { traceIdOf } from './trace.ts';

export function sendProblem(request: Request, response: Response, problem: Problem): void {
  response
    .status(problem.status)
    .set(problem.headers)
    .set('Content-Type', PROBLEM_TYPE)
    .end(JSON.stringify(problemHead(problem, traceIdOf(request))));
}

export function answerUnknownRoutes(): RequestHandler {
  return (request) => {
    throw new Problem(
      404,
      'NO_SUCH_ROUTE',
      `There is no ${request.method} ${request.path.slice(0, 200)} here.`,
    );
  };
}

/** For the last handler of a path that has others: the method is wrong. */
export function refuseOtherMethods(allowed: readonly string[]): RequestHandler {
  const allow = allowed.join(', ');
  return (request) => {
    throw new Problem(405, 'METHOD_NOT_ALLOWED', `Use ${allow} here, not ${request.method}.`, {
      headers: { Allow: allow },
    });
  };
}

export function answerErrors(log: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const problem = toProblem(error);
    if (problem.status >= 500) {
      log.error({ err: error, code: problem.code, traceId: traceIdOf(request) }, 'request failed');
    }
    // Half an answer cannot become another one; a broken connection tells the client that it was half.
    if (response.headersSent) response.destroy();
    else sendProblem(request, response, problem);
  };
}
