/**
 * POST /api/v1/pushes: a partner's bills are received, checked and accepted (ING-2 to ING-9).
 * Reads: identities, mappings, bill locks. Writes (in one transaction): identity, push, rows with places, station tasks.
 * Hands on to: the stage `bill-station`. Guarded by: the locked identity row.
 */
import type { Request, RequestHandler, Response } from 'express';
import { shanghaiMonth } from '../domain/month.ts';
import { shownIdentity } from '../domain/request-identity.ts';
import { partnerOf, stillPartnerOf } from '../http/authenticate.ts';
import { traceIdOf } from '../http/trace.ts';
import { findPush, type PushRow } from '../store/pushes.ts';
import type { Store } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { AcceptGate } from './accept-gate.ts';
import { acceptPush } from './accept-push.ts';
import { checkRows, type ReadPush } from './check-rows.ts';
import { checkTotals } from './check-totals.ts';
import { earlierPush, findEarlierPush, type RequestedIdentity, refuseWhileRunning } from './earlier-push.ts';
import { judgeRows } from './judge-rows.ts';
import type { IngestLimits } from './limits.ts';
import { databaseLockCheck, type PaymentLockCheck, reportingTrouble } from './payment-lock-check.ts';
import { type PushOptions, readPushOptions } from './push-options.ts';
import { replyAccepted, replyDryRun, replyRejected, summaryOf } from './push-reply.ts';
import { judgedReceipts, storedReceipts } from './receipts.ts';
import { receiveBody } from './receive-body.ts';
import { orderRows, type RowOrder } from './row-order.ts';
import type { Verdicts } from './verdicts.ts';

/** Of one partner, in this process; a fraction of its database connections. */
const ACCEPTED_AT_ONCE_MAX = 4;
/** Of a spooled body, read at a time. */
const PIECE_BYTES = 64 * 1024;

export interface IngestDependencies {
  readonly store: Store;
  readonly kick: Kick;
  readonly limits: IngestLimits;
  /** Left out: the bill locks in the database. */
  readonly lockCheck?: PaymentLockCheck;
  /** Told of what was answered for, but not well. */
  readonly onTrouble?: (where: string, error: unknown) => void;
}

interface Ingest extends IngestDependencies {
  readonly lockCheck: PaymentLockCheck;
  readonly gate: AcceptGate;
}

interface Judged {
  /** Of the request; the push's, and the parent of all that follows (ING-8). */
  readonly traceId: string;
  readonly push: ReadPush;
  readonly order: RowOrder;
  readonly verdicts: Verdicts;
}

export function postPush(needs: IngestDependencies): RequestHandler {
  const ingest: Ingest = {
    ...needs,
    lockCheck: reportingTrouble(needs.lockCheck ?? databaseLockCheck(needs.store), needs.onTrouble),
    gate: new AcceptGate(ACCEPTED_AT_ONCE_MAX),
  };
  return async (request: Request, response: Response) => {
    const options = readPushOptions(request);
    await using push = await readPush(request, options, ingest);
    const wanted = { ...partnerOf(request), key: options.identityKey, contentDigest: push.contentDigest };
    const earlier = options.dryRun ? null : await findEarlierPush(ingest.store, wanted);
    if (earlier !== null) return await replay(response, ingest, wanted, earlier);

    checkTotals(push);
    const { order, verdicts } = await judge(push, wanted, ingest);
    if (options.dryRun) return await replyDryRun(request, response, push, verdicts);
    if (push.rows.length > 0 && verdicts.acceptedCount === 0) {
      return await replyRejected(request, response, push, verdicts);
    }
    await acceptAndReply(response, ingest, wanted, { traceId: traceIdOf(request), push, order, verdicts });
  };
}

/** The whole body is received before anything is looked at, and checked before anything is looked up. */
async function readPush(
  request: Request,
  options: PushOptions,
  { store, limits }: Ingest,
): Promise<ReadPush> {
  await using spool = await receiveBody(request, options.encoding, limits);
  const partner = await stillPartnerOf(store, request);
  const rules = {
    strict: options.strict,
    versioned: partner.versioned,
    currentMonth: shanghaiMonth(partner.nowMs),
  };
  return await checkRows(spool.chunks(PIECE_BYTES), options, rules, limits);
}

async function judge(
  push: ReadPush,
  wanted: RequestedIdentity,
  ingest: Ingest,
): Promise<Omit<Judged, 'traceId'>> {
  const order = orderRows(push);
  const verdicts = await judgeRows(push, order, {
    sql: ingest.store,
    partnerOrgId: wanted.partnerOrgId,
    lockCheck: ingest.lockCheck,
  });
  return { push, order, verdicts };
}

async function acceptAndReply(
  response: Response,
  ingest: Ingest,
  wanted: RequestedIdentity,
  judged: Judged,
): Promise<void> {
  const outcome = await refuseWhileRunning(wanted, () => accept(ingest, wanted, judged));
  if (outcome.kind === 'earlier') {
    return replay(response, ingest, wanted, await earlierPush(ingest.store, wanted, outcome.identity));
  }
  const accepted = await findPush(ingest.store, wanted.partnerOrgId, outcome.pushId);
  if (accepted === null) throw new Error(`Broken assumption: push ${outcome.pushId} is gone`);
  return replyAccepted(response, accepted, {
    identity: shownIdentity(wanted.orgCode, wanted.key),
    code: accepted.code,
    receipts: judgedReceipts(judged.push, judged.verdicts),
  });
}

function accept(ingest: Ingest, wanted: RequestedIdentity, judged: Judged) {
  return ingest.gate.run(wanted.partnerOrgId, () =>
    acceptPush(ingest.store, ingest.kick, {
      partnerOrgId: wanted.partnerOrgId,
      idempotencyKey: wanted.key,
      identityDays: ingest.limits.identityDays,
      ...judged,
      ...summaryOf(judged.push, judged.verdicts),
    }),
  );
}

function replay(
  response: Response,
  ingest: Ingest,
  wanted: RequestedIdentity,
  earlier: PushRow,
): Promise<void> {
  return replyAccepted(response.set('Idempotency-Replayed', 'true'), earlier, {
    identity: shownIdentity(wanted.orgCode, wanted.key),
    code: 'IDEMPOTENCY',
    receipts: storedReceipts(ingest.store, earlier.pushId),
  });
}
