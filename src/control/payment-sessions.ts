/** /admin/api/v1/payment-sessions: opening, choosing bills, submitting and cancelling (PAY-1, PAY-2, PAY-7, DEC-11). */
import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { SESSION_STATUSES } from '../domain/payment-submit.ts';
import { takesNoParameters } from '../http/query.ts';
import { cancelPaymentSession } from '../payment/cancel-session.ts';
import { openSession } from '../payment/open-session.ts';
import { noSuchSession } from '../payment/refusals.ts';
import { selectBills } from '../payment/select-bills.ts';
import { submitSession } from '../payment/start-submit.ts';
import { isoInstant } from '../store/instant.ts';
import { findListedSession, type ListedRow, listSessions } from '../store/payment-lists.ts';
import { countMissingSnapshots, countSelection } from '../store/session-bills.ts';
import type { Sql } from '../store/sql.ts';
import { listBatches } from '../store/submit-batches.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import { readBody } from './read-body.ts';
import { readPathId } from './refusals.ts';
import { readId, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';

const BILL_IDS_MAX = 5000;
const BATCH_SIZE_MAX = 5000;

type SessionRoute = RequestHandler<{ id: string }>;

export function paymentSessionsRouter(engine: Engine): Router {
  const router = Router({ caseSensitive: true });
  router.get('/', listRoute(engine.store));
  router.post('/', openRoute(engine));
  router.get('/:id', takesNoParameters(), showRoute(engine.store));
  router.post('/:id/bills', selectRoute(engine));
  router.post('/:id/submit', submitRoute(engine));
  router.post('/:id/cancel', cancelRoute(engine));
  return router;
}

function listRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['partnerOrgId', 'status']);
    const filter = {
      partnerOrgId: readId(request, 'partnerOrgId'),
      status: readOneOf(request, 'status', SESSION_STATUSES),
    };
    const { items, nextCursor } = await listSessions(sql, filter, readPageWish(request));
    response.json({ items: items.map(sessionView), nextCursor });
  };
}

export const openSessionBody = z.strictObject({
  mode: z.enum(['NEW', 'REVISE']).default('NEW'),
  partnerOrgId: fields.id,
  months: fields.months,
  /** Who is responsible for it; whoever signed in, unless it is said. */
  creatorUserId: fields.userId.optional(),
  paymentOrderId: fields.id.optional(),
});

function openRoute({ store, wake }: Engine): RequestHandler {
  return async (request, response) => {
    const body = readBody(request, openSessionBody);
    const actor = operatorOf(request);
    const wish = {
      ...body,
      creatorUserId: body.creatorUserId ?? actor.slice(0, 64),
      paymentOrderId: body.paymentOrderId ?? null,
    };
    const { sessionId, snapshotStations } = await openSession(store, wish, actor, wake);
    response.status(201).json({ ...(await showSession(store, sessionId)), snapshotStations });
  };
}

function showRoute(sql: Sql): SessionRoute {
  return async (request, response) => {
    response.json(await showSession(sql, readPathId(request.params.id, noSuchSession)));
  };
}

export const selectBillsBody = z.union([
  z.strictObject({ partnerBillIds: z.array(fields.id).min(1).max(BILL_IDS_MAX) }),
  z.strictObject({ months: fields.months.optional() }).transform((body) => ({ months: body.months ?? null })),
]);

function selectRoute({ store }: Engine): SessionRoute {
  return async (request, response) => {
    const id = readPathId(request.params.id, noSuchSession);
    await selectBills(store, id, readBody(request, selectBillsBody), operatorOf(request));
    response.json(await showSession(store, id));
  };
}

export const submitSessionBody = z.strictObject({ batchSize: z.int().min(1).max(BATCH_SIZE_MAX).optional() });

function submitRoute({ store, wake }: Engine): SessionRoute {
  return async (request, response) => {
    const id = readPathId(request.params.id, noSuchSession);
    const { batchSize } = readBody(request, submitSessionBody);
    const options = batchSize === undefined ? {} : { batchSize };
    response.status(202).json(await submitSession(store, id, operatorOf(request), wake, options));
  };
}

export const cancelSessionBody = z.strictObject({ reason: fields.reason.optional() });

function cancelRoute({ store, wake }: Engine): SessionRoute {
  return async (request, response) => {
    const id = readPathId(request.params.id, noSuchSession);
    const { reason } = readBody(request, cancelSessionBody);
    await cancelPaymentSession(store, id, { actor: operatorOf(request), reason: reason ?? null }, wake);
    response.json(await showSession(store, id));
  };
}

async function showSession(sql: Sql, id: string) {
  const session = await findListedSession(sql, id);
  if (session === null) throw noSuchSession(id);
  const versionId = session.paymentOrderVersionId as string | null;
  return {
    ...sessionView(session),
    selection: await countSelection(sql, id),
    /** Differences of its months that the read model does not have yet. */
    missingSnapshots: await countMissingSnapshots(
      sql,
      session.partnerOrgId as string,
      session.months as string[],
    ),
    phases: versionId === null ? [] : await listBatches(sql, versionId),
  };
}

function sessionView(row: ListedRow) {
  return {
    ...row,
    invalidatedFlag: row.invalidatedFlag === 1,
    createTime: isoInstant(row.createTime),
    updateTime: isoInstant(row.updateTime),
  };
}
