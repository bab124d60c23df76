/** /admin/api/v1/payment-orders: looking at orders, results that come in about them, voiding, handing over (PAY-1, PAY-6, PAY-7). */
import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { AMOUNT_PATTERN, toDecimals } from '../domain/as-written.ts';
import { takesNoParameters } from '../http/query.ts';
import { handOverOrder } from '../payment/hand-over-order.ts';
import { noSuchOrder } from '../payment/refusals.ts';
import { takeAuditResult } from '../payment/take-audit-result.ts';
import { type PaymentResult, takePaymentResults } from '../payment/take-payment-results.ts';
import { voidOrder } from '../payment/void-order.ts';
import { isoInstant } from '../store/instant.ts';
import {
  findListedOrder,
  type ListedRow,
  listOrderBills,
  listOrders,
  listOrderVersions,
} from '../store/payment-lists.ts';
import type { Sql } from '../store/sql.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import { readBody } from './read-body.ts';
import { readPathId } from './refusals.ts';
import { readId, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';
import { instantOrNull } from './task-view.ts';

const RESULTS_MAX = 1000;
const BILLS_MAX = 1000;

type OrderRoute = RequestHandler<{ id: string }>;

export function paymentOrdersRouter(engine: Engine): Router {
  const router = Router({ caseSensitive: true });
  router.get('/', listRoute(engine.store));
  router.get('/:id', takesNoParameters(), showRoute(engine.store));
  router.get('/:id/bills', billsRoute(engine.store));
  router.post('/:id/audit-results', auditRoute(engine));
  router.post('/:id/payment-results', paymentRoute(engine));
  router.post('/:id/void', voidRoute(engine));
  router.post('/:id/creator', creatorRoute(engine));
  return router;
}

function listRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['partnerOrgId', 'status']);
    const filter = {
      partnerOrgId: readId(request, 'partnerOrgId'),
      status: readOneOf(request, 'status', ['OPEN', 'VOID'] as const),
    };
    const { items, nextCursor } = await listOrders(sql, filter, readPageWish(request));
    response.json({ items: items.map(orderView), nextCursor });
  };
}

function showRoute(sql: Sql): OrderRoute {
  return async (request, response) => {
    response.json(await showOrder(sql, readPathId(request.params.id, noSuchOrder)));
  };
}

async function showOrder(sql: Sql, id: string) {
  const order = await findListedOrder(sql, id);
  if (order === null) throw noSuchOrder(id);
  const versions = await listOrderVersions(sql, id);
  return {
    ...orderView(order),
    versions: versions.map((version) => ({
      ...version,
      publishedTime: instantOrNull(version.publishedTime),
      createTime: isoInstant(version.createTime),
    })),
  };
}

/** Of the published version, or of the one that is asked for; oldest first. */
function billsRoute(sql: Sql): OrderRoute {
  return async (request, response) => {
    refuseOtherFilters(request, ['paymentOrderVersionId']);
    const order = await showOrder(sql, readPathId(request.params.id, noSuchOrder));
    const asked = readId(request, 'paymentOrderVersionId');
    const version = order.versions.find((one) => {
      const { paymentOrderVersionId, targetDataVersion } = one as Record<string, unknown>;
      return asked === null
        ? targetDataVersion === (order as Record<string, unknown>).currentPublishVersion
        : paymentOrderVersionId === asked;
    });
    if (version === undefined) {
      response.json({ items: [], nextCursor: null });
      return;
    }
    const versionId = (version as Record<string, unknown>).paymentOrderVersionId as string;
    const { beforeId, limit } = readPageWish(request);
    const rows = await listOrderBills(sql, versionId, { afterId: beforeId ?? '0', limit: limit + 1 });
    const items = rows.slice(0, limit);
    response.json({
      paymentOrderVersionId: versionId,
      items: items.map((bill) => ({ ...bill, kept: bill.kept === 1 })),
      nextCursor: rows.length > limit ? items.at(-1)!.orderBillId : null,
    });
  };
}

export const auditResultBody = z.strictObject({
  eventId: fields.eventId,
  paymentOrderVersionId: fields.id,
  result: z.enum(['APPROVED', 'REJECTED']),
  unqualifiedBills: z
    .array(z.strictObject({ orderBillId: fields.id, reason: fields.reason }))
    .max(BILLS_MAX)
    .refine(
      (bills) => new Set(bills.map((bill) => bill.orderBillId)).size === bills.length,
      'names an order bill twice',
    )
    .default([]),
});

function auditRoute({ store, wake }: Engine): OrderRoute {
  return async (request, response) => {
    const paymentOrderId = readPathId(request.params.id, noSuchOrder);
    const audit = { ...readBody(request, auditResultBody), paymentOrderId };
    response.json(await takeAuditResult(store, audit, operatorOf(request), wake));
  };
}

const amount = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => AMOUNT_PATTERN.test(text), 'must be an amount with at most two decimals')
  .transform((text) => toDecimals(text, 2));
const paidTime = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .refine((text) => text >= '2000' && text < '2100', 'must lie between 2000 and 2100');

const resultSchema = z.discriminatedUnion('outcome', [
  z.strictObject({
    eventId: fields.eventId,
    outcome: z.literal('PAID'),
    orderBillId: fields.id,
    amount,
    paidTime,
  }),
  z.strictObject({ eventId: fields.eventId, outcome: z.literal('FAILED'), orderBillId: fields.id }),
  z.strictObject({
    eventId: fields.eventId,
    outcome: z.literal('REVERSED'),
    reversedEventId: fields.eventId,
    paidTime,
  }),
]);

export const paymentResultsBody = z.strictObject({
  /** The version that holds the locks of these bills now. */
  paymentOrderVersionId: fields.id,
  results: z
    .array(resultSchema)
    .min(1)
    .max(RESULTS_MAX)
    .refine(
      (results) => new Set(results.map((result) => result.eventId)).size === results.length,
      'names an event twice',
    ),
});

function paymentRoute({ store, wake }: Engine): OrderRoute {
  return async (request, response) => {
    const paymentOrderId = readPathId(request.params.id, noSuchOrder);
    const { paymentOrderVersionId, results } = readBody(request, paymentResultsBody);
    const asked = { paymentOrderId, paymentOrderVersionId, results: results as PaymentResult[] };
    const answers = await takePaymentResults(store, asked, operatorOf(request), wake);
    response.json({ paymentOrderId, paymentOrderVersionId, results: answers });
  };
}

export const voidOrderBody = z.strictObject({ reason: fields.reason });

function voidRoute({ store, wake }: Engine): OrderRoute {
  return async (request, response) => {
    const id = readPathId(request.params.id, noSuchOrder);
    const { reason } = readBody(request, voidOrderBody);
    await voidOrder(store, id, { actor: operatorOf(request), reason }, wake);
    response.json(await showOrder(store, id));
  };
}

export const orderCreatorBody = z.strictObject({ creatorUserId: fields.userId });

function creatorRoute({ store }: Engine): OrderRoute {
  return async (request, response) => {
    const id = readPathId(request.params.id, noSuchOrder);
    const { creatorUserId } = readBody(request, orderCreatorBody);
    await handOverOrder(store, id, creatorUserId, operatorOf(request));
    response.json(await showOrder(store, id));
  };
}

function orderView(row: ListedRow) {
  return { ...row, createTime: isoInstant(row.createTime), updateTime: isoInstant(row.updateTime) };
}
