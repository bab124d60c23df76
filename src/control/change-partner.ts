/**
 * PUT /admin/api/v1/partners/{partnerOrgId}: pause, caps, payment flow, tolerance; what is not named stays as it is. A
 * lowered cap retires slots, whose holders finish what they have in hand (ENG-5). A payment flow that is decided anew asks
 * for a full refresh in the same transaction (DIF-6); one that is made undecided does not, since nothing can be projected
 * by it: the decision that follows will.
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { askFullRefresh } from '../payment/ask-full-refresh.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartner, lockPartner, type PartnerSettings, updatePartnerSettings } from '../store/partners.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import { ensureSlots } from '../tasks/ensure-slots.ts';
import { operatorOf } from './authenticate.ts';
import { kickDueWork } from './kick-due-work.ts';
import * as fields from './partner-fields.ts';
import { partnerView, settingsOf } from './partner-view.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, readPathId } from './refusals.ts';

export const changePartnerBody = z
  .strictObject({
    paused: z.boolean().optional(),
    caps: fields.caps.optional(),
    paymentFlow: fields.paymentFlow.optional(),
    tolerance: fields.tolerance.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'names nothing to change');
type Change = z.infer<typeof changePartnerBody>;

export function changePartner(engine: Engine): RequestHandler<{ partnerOrgId: string }> {
  return async (request, response) => {
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const change = readBody(request, changePartnerBody);
    const actor = operatorOf(request);
    await engine.store.transaction(NEW_READ_COMMITTED, (tx) =>
      apply(tx, engine, partnerOrgId, change, actor),
    );
    if (change.paused === false) await kickDueWork(engine, (slot) => slot.partnerOrgId === partnerOrgId);
    const partner = await findPartner(engine.store, partnerOrgId);
    if (partner === null) throw noSuchPartner(partnerOrgId);
    response.json(partnerView(partner));
  };
}

async function apply(
  tx: Transaction,
  engine: Engine,
  partnerOrgId: string,
  change: Change,
  actor: string,
): Promise<void> {
  const before = await lockPartner(tx, partnerOrgId);
  if (before === null) throw noSuchPartner(partnerOrgId);
  const after: PartnerSettings = {
    paused: change.paused ?? before.paused,
    caps: change.caps === undefined ? before.caps : fields.mergeCaps(before.caps, change.caps),
    paymentFlow: change.paymentFlow === undefined ? before.paymentFlow : change.paymentFlow,
    tolerance: change.tolerance ?? before.tolerance,
  };
  await updatePartnerSettings(tx, partnerOrgId, after);
  if (change.caps !== undefined) await ensureSlots(tx, partnerOrgId, after.caps);
  await recordOperation(tx, {
    actor,
    action: 'PARTNER_CHANGE',
    target: partnerOrgId,
    before: settingsOf(before),
    after,
    reason: null,
  });
  if (after.paymentFlow === before.paymentFlow || after.paymentFlow === null) return;
  const reason = `The payment flow is ${after.paymentFlow}, it was ${before.paymentFlow ?? 'not decided'}`;
  await askFullRefresh(tx, { partnerOrgId, cutOffMonth: null, actor, reason }, engine.wake);
}
