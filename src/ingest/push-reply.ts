/** The answers to a push (ING-5): accepted, accepted before, or judged without anything being stored. */
import type { Request, Response } from 'express';
import { centsText } from '../domain/as-written.ts';
import { type PushAmounts, type PushCode, type PushCounts, pushCode } from '../domain/push-outcome.ts';
import type { Receipt } from '../domain/receipt.ts';
import { PROBLEM_TYPE, Problem, problemHead } from '../http/problem.ts';
import { traceIdOf } from '../http/trace.ts';
import type { PushRow } from '../store/pushes.ts';
import type { ReadPush } from './check-rows.ts';
import { judgedReceipts } from './receipts.ts';
import { sendWithReceipts } from './send-receipts.ts';
import type { Verdicts } from './verdicts.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export interface PushSummary {
  readonly code: PushCode;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
}

export function summaryOf(push: ReadPush, verdicts: Verdicts): PushSummary {
  const requested = push.rows.length;
  const accepted = verdicts.acceptedCount;
  const counts = { requested, accepted, refused: requested - accepted };
  return {
    code: pushCode(counts),
    counts,
    amounts: {
      requested: centsText(push.cents),
      accepted: centsText(verdicts.acceptedCents),
      refused: centsText(push.cents - verdicts.acceptedCents),
    },
  };
}

export function pushLinks(pushId: string): { readonly self: string; readonly bills: string } {
  return { self: `/api/v1/pushes/${pushId}`, bills: `/api/v1/pushes/${pushId}/bills` };
}

/** 202, from what is stored; a replay tells `IDEMPOTENCY` instead of the first code (ING-2). */
export function replyAccepted(
  response: Response,
  accepted: PushRow,
  told: {
    readonly identity: string;
    readonly code: PushCode | 'IDEMPOTENCY';
    readonly receipts: AsyncIterable<readonly Receipt[]>;
  },
): Promise<void> {
  const { pushId, traceId, counts, amounts, ignoredFieldCount, expiresAt } = accepted;
  const { identity, code, receipts } = told;
  const links = pushLinks(pushId);
  return sendWithReceipts(response.set('Location', links.self), {
    status: 202,
    contentType: JSON_TYPE,
    head: { pushId, traceId, code, identity, counts, amounts, ignoredFieldCount, expiresAt },
    receipts,
    links: { ...links },
  });
}

/** 200, whatever the receipts (DEC-16). */
export function replyDryRun(
  request: Request,
  response: Response,
  push: ReadPush,
  verdicts: Verdicts,
): Promise<void> {
  return sendWithReceipts(response, {
    status: 200,
    contentType: JSON_TYPE,
    head: {
      traceId: traceIdOf(request),
      dryRun: true,
      ignoredFieldCount: push.ignoredFieldCount,
      ...summaryOf(push, verdicts),
    },
    receipts: judgedReceipts(push, verdicts),
    links: {},
  });
}

/** 422 with the receipts: a caller can correct and resend under the same identity, which is still free (ING-2). */
export function replyRejected(
  request: Request,
  response: Response,
  push: ReadPush,
  verdicts: Verdicts,
): Promise<void> {
  const { counts, amounts } = summaryOf(push, verdicts);
  const detail = 'No row was accepted and nothing was stored: see the receipts.';
  const members = { counts, amounts, ignoredFieldCount: push.ignoredFieldCount };
  const problem = new Problem(422, 'REJECTED', detail, { members });
  return sendWithReceipts(response, {
    status: problem.status,
    contentType: PROBLEM_TYPE,
    head: problemHead(problem, traceIdOf(request)),
    receipts: judgedReceipts(push, verdicts),
    links: {},
  });
}
