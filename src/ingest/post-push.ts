/**
 * POST /api/v1/pushes: a partner's bills are received, checked and accepted (ING-2 to ING-9).
 * Reads: identities, mappings, bill locks. Writes (in one transaction): identity, push, rows with places, station tasks.
 * Hands on to: the stage `bill-station`. Guarded by: the locked identity row.
 */
import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { centsText } from '../domain/as-written.ts';
import { shanghaiMonth } from '../domain/month.ts';
import { pushCode } from '../domain/push-outcome.ts';
import { shownIdentity } from '../domain/request-identity.ts';
import { partnerOf } from '../http/authenticate.ts';
import { PROBLEM_TYPE, Problem, problemHead } from '../http/problem.ts';
import { traceIdOf } from '../http/trace.ts';
import { findPush, type PushRow } from '../store/pushes.ts';
import type { Store } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptPush } from './accept-push.ts';
import { checkRows, type ReadPush } from './check-rows.ts';
import { checkTotals } from './check-totals.ts';
import { earlierPush, findEarlierPush, type RequestedIdentity, refuseWhileRunning } from './earlier-push.ts';
import { judgeRows } from './judge-rows.ts';
import type { IngestLimits } from './limits.ts';
import { databaseLockCheck, type PaymentLockCheck } from './payment-lock-check.ts';
import { type PushOptions, readPushOptions } from './push-options.ts';
import { pushLinks, sendWithReceipts } from './push-reply.ts';
import { judgedReceipts, storedReceipts } from './receipts.ts';
import { receiveBody } from './receive-body.ts';
import { orderRows, type RowOrder } from './row-order.ts';
import type { Verdicts } from './verdicts.ts';

export interface IngestDependencies {
  readonly store: Store;
  readonly kick: Kick;
  readonly limits: IngestLimits;
  /** Left out: the bill locks in the database. */
  readonly lockCheck?: PaymentLockCheck;
}

export function postPush(needs: IngestDependencies): RequestHandler {
  return async (request: Request, response: Response) => {
    const options = readPushOptions(request);
    await using push = await readPush(request, options, needs.limits);
    const wanted = { ...partnerOf(request), key: options.identityKey, contentDigest: push.contentDigest };
    const earlier = options.dryRun ? null : await findEarlierPush(needs.store, wanted);
    if (earlier !== null) return await replay(response, needs, wanted, earlier);

    checkTotals(push);
    const order = orderRows(push);
    const verdicts = await judge(push, order, wanted, needs);
    if (options.dryRun) return await replyJudged(request, response, push, verdicts, 200);
    if (push.rows.length > 0 && verdicts.acceptedCount === 0) {
      return await replyJudged(request, response, push, verdicts, 422);
    }
    await acceptAndReply(response, needs, wanted, { push, order, verdicts });
  };
}

/** The whole body is received before anything is looked at, and checked before anything is looked up. */
async function readPush(request: Request, options: PushOptions, limits: IngestLimits): Promise<ReadPush> {
  const partner = partnerOf(request);
  await using spool = await receiveBody(request, limits);
  const rules = {
    strict: options.strict,
    versioned: partner.versioned,
    currentMonth: shanghaiMonth(partner.nowMs),
  };
  return await checkRows(options.source, spool, rules, limits);
}

function judge(
  push: ReadPush,
  order: RowOrder,
  wanted: RequestedIdentity,
  needs: IngestDependencies,
): Promise<Verdicts> {
  return judgeRows(push, order, {
    sql: needs.store,
    partnerOrgId: wanted.partnerOrgId,
    lockCheck: needs.lockCheck ?? databaseLockCheck(needs.store),
  });
}

async function acceptAndReply(
  response: Response,
  needs: IngestDependencies,
  wanted: RequestedIdentity,
  judged: { readonly push: ReadPush; readonly order: RowOrder; readonly verdicts: Verdicts },
): Promise<void> {
  const { push, verdicts } = judged;
  const outcome = await refuseWhileRunning(wanted, () =>
    acceptPush(needs.store, needs.kick, {
      partnerOrgId: wanted.partnerOrgId,
      idempotencyKey: wanted.key,
      identityDays: needs.limits.identityDays,
      traceId: randomBytes(16).toString('hex'),
      ...judged,
      ...summaryOf(push, verdicts),
    }),
  );
  if (outcome.kind === 'earlier') {
    return replay(response, needs, wanted, await earlierPush(needs.store, wanted, outcome.identity));
  }
  const accepted = await findPush(needs.store, wanted.partnerOrgId, outcome.pushId);
  if (accepted === null) throw new Error(`Broken assumption: push ${outcome.pushId} is gone`);
  return replyAccepted(response, wanted, accepted, judgedReceipts(push, verdicts), accepted.code);
}

function replay(
  response: Response,
  needs: IngestDependencies,
  wanted: RequestedIdentity,
  earlier: PushRow,
): Promise<void> {
  response.set('Idempotency-Replayed', 'true');
  return replyAccepted(response, wanted, earlier, storedReceipts(needs.store, earlier.pushId), 'IDEMPOTENCY');
}

function replyAccepted(
  response: Response,
  wanted: RequestedIdentity,
  accepted: PushRow,
  receipts: ReturnType<typeof storedReceipts>,
  code: PushRow['code'] | 'IDEMPOTENCY',
): Promise<void> {
  const { pushId, traceId, counts, amounts, ignoredFieldCount, expiresAt } = accepted;
  const identity = shownIdentity(wanted.orgCode, wanted.key);
  return sendWithReceipts(response.set('Location', pushLinks(pushId).self!), {
    status: 202,
    contentType: 'application/json; charset=utf-8',
    head: { pushId, traceId, code, identity, counts, amounts, ignoredFieldCount, expiresAt },
    receipts,
    links: pushLinks(pushId),
  });
}

/** Nothing is stored: the answer of a dry run (200), or of a push of which no row was accepted (422, ING-5). */
function replyJudged(
  request: Request,
  response: Response,
  push: ReadPush,
  verdicts: Verdicts,
  status: 200 | 422,
): Promise<void> {
  const { code, counts, amounts } = summaryOf(push, verdicts);
  const { ignoredFieldCount } = push;
  const common = { counts, amounts, ignoredFieldCount };
  const rejected = new Problem(
    422,
    'REJECTED',
    'No row was accepted and nothing was stored: see the receipts.',
    {
      members: common,
    },
  );
  return sendWithReceipts(response, {
    status,
    contentType: status === 422 ? PROBLEM_TYPE : 'application/json; charset=utf-8',
    head:
      status === 422
        ? problemHead(rejected, traceIdOf(request))
        : { traceId: traceIdOf(request), code, dryRun: true, ...common },
    receipts: judgedReceipts(push, verdicts),
    links: {},
  });
}

function summaryOf(push: ReadPush, verdicts: Verdicts) {
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
