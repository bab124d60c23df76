/**
 * POST /admin/api/v1/inspections: an inspection by hand, answered when it has ended. GET /admin/api/v1/inspections/{id}:
 * a run and its results. GET /admin/api/v1/findings: what the latest run found, or another that is named, by rule.
 */
import type { RequestHandler } from 'express';
import { isClean, type RuleOutcome, type RuleResult, type RuleText } from '../domain/inspection.ts';
import { Problem } from '../http/problem.ts';
import {
  findInspection,
  findLatestInspection,
  type InspectionRunRow,
  listFindings,
  listInspectionResults,
} from '../store/inspections.ts';
import { isoInstant } from '../store/instant.ts';
import { recordOperation } from '../store/operation-audit.ts';
import type { Sql } from '../store/sql.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { readPathId } from './refusals.ts';
import { readId, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';
import { emptyBody } from './steer-task.ts';
import { instantOrNull } from './task-view.ts';

/** The inspection as the control plane needs it. */
export interface InspectionDesk {
  readonly rules: readonly RuleText[];
  inspectByHand(): Promise<{ readonly runId: string; readonly results: readonly RuleResult[] }>;
}

export function startInspection(sql: Sql, desk: InspectionDesk): RequestHandler {
  return async (request, response) => {
    readBody(request, emptyBody);
    const { runId, results } = await desk.inspectByHand();
    await recordOperation(sql, {
      actor: operatorOf(request),
      action: 'INSPECT',
      target: runId,
      before: null,
      after: { clean: isClean(results), findings: countFindings(results) },
      reason: null,
    });
    response.status(201).json(await viewRun(sql, desk, (await findInspection(sql, runId))!));
  };
}

export function showInspection(sql: Sql, desk: InspectionDesk): RequestHandler<{ runId: string }> {
  return async (request, response) => {
    const run = await findInspection(sql, readPathId(request.params.runId, noSuchRun));
    if (run === null) throw noSuchRun(request.params.runId);
    response.json(await viewRun(sql, desk, run));
  };
}

/** Keyset paged, newest first; each finding with its rule's text, so that whoever reads it knows what to do. */
export function listFindingsRoute(sql: Sql, desk: InspectionDesk): RequestHandler {
  const textOf = new Map(desk.rules.map((rule) => [rule.code, textFields(rule)]));
  return async (request, response) => {
    refuseOtherFilters(request, ['runId', 'rule']);
    const ruleCode = readOneOf(
      request,
      'rule',
      desk.rules.map((rule) => rule.code),
    );
    const run = await findRun(sql, readId(request, 'runId'));
    const page = readPageWish(request);
    const { items, nextCursor } =
      run === null
        ? { items: [], nextCursor: null }
        : await listFindings(sql, { runId: run.id, ruleCode }, page);
    response.json({
      run: run === null ? null : runFields(run),
      items: items.map((finding) => ({
        ...finding,
        createTime: isoInstant(finding.createTime),
        rule: textOf.get(finding.ruleCode) ?? null,
      })),
      nextCursor,
    });
  };
}

/** @throws Problem 404 for a run that is named and is not there */
async function findRun(sql: Sql, runId: string | null): Promise<InspectionRunRow | null> {
  if (runId === null) return findLatestInspection(sql);
  const run = await findInspection(sql, runId);
  if (run === null) throw noSuchRun(runId);
  return run;
}

async function viewRun(sql: Sql, desk: InspectionDesk, run: InspectionRunRow) {
  const byCode = new Map((await listInspectionResults(sql, run.id)).map((result) => [result.code, result]));
  const results = desk.rules.flatMap((rule) => {
    const result = byCode.get(rule.code);
    return result === undefined ? [] : [{ ...result, rule: textFields(rule) }];
  });
  return { ...runFields(run), verdict: verdictOf(run, results), results };
}

function verdictOf(run: InspectionRunRow, results: readonly { readonly outcome: RuleOutcome }[]) {
  if (run.endedTime === null) return null;
  return results.every((result) => result.outcome === 'OK') ? 'VERIFIED' : 'NOT_VERIFIED';
}

function runFields(run: InspectionRunRow) {
  return {
    runId: run.id,
    trigger: run.trigger,
    startedTime: isoInstant(run.startedTime),
    endedTime: instantOrNull(run.endedTime),
  };
}

function textFields({ title, looksFor, why, whatToDo }: RuleText) {
  return { title, looksFor, why, whatToDo };
}

function countFindings(results: readonly RuleResult[]): number {
  return results.reduce((sum, result) => sum + result.findingCount, 0);
}

function noSuchRun(runId: string): Problem {
  return new Problem(404, 'NO_SUCH_INSPECTION', `There is no inspection ${runId.slice(0, 40)}.`);
}
