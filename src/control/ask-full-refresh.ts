/**
 * POST /admin/api/v1/full-refreshes: all accounts of a partner, months up to a cut-off, are refreshed anew (ACC-14). Older
 * wishes of the partner that still wait are replaced (DIF-14).
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { FIRST_BILL_MONTH, isMonth } from '../domain/month.ts';
import { Problem } from '../http/problem.ts';
import { type AskedFullRefresh, askFullRefresh, type FullRefreshWish } from '../payment/ask-full-refresh.ts';
import { lockPartner } from '../store/partners.ts';
import { findTaskByCode } from '../store/tasks.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, noSuchTask } from './refusals.ts';
import { taskView } from './task-view.ts';

export const fullRefreshBody = z.strictObject({
  partnerOrgId: fields.id,
  cutOffMonth: z
    .string()
    .refine((text) => isMonth(text) && text >= FIRST_BILL_MONTH, 'must be a month, YYYY-MM')
    .optional(),
  reason: fields.reason.optional(),
});

export function askFullRefreshRoute(engine: Engine): RequestHandler {
  return async (request, response) => {
    const { partnerOrgId, cutOffMonth, reason } = readBody(request, fullRefreshBody);
    const actor = operatorOf(request);
    const wish = { partnerOrgId, cutOffMonth: cutOffMonth ?? null, actor, reason: reason ?? null };
    const { taskCode, ...asked } = await ask(engine, wish);
    const task = await findTaskByCode(engine.store, taskCode);
    if (task === null) throw noSuchTask(taskCode);
    response.status(202).json({ ...taskView(task), ...asked });
  };
}

/** Wish, replacement and operation audit are one transaction. @throws Problem 404, 409 `PAYMENT_FLOW_UNRESOLVED` */
async function ask(engine: Engine, wish: FullRefreshWish): Promise<AskedFullRefresh> {
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const partner = await lockPartner(tx, wish.partnerOrgId);
    if (partner === null) throw noSuchPartner(wish.partnerOrgId);
    if (partner.paymentFlow === null) {
      const text =
        'Whether this partner takes part in payment is not decided; set its paymentFlow, which asks for the refresh by itself.';
      throw new Problem(409, 'PAYMENT_FLOW_UNRESOLVED', text);
    }
    return askFullRefresh(tx, wish, engine.wake);
  });
}
