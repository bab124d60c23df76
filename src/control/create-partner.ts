/** POST /admin/api/v1/partners: a partner, with its slots at every stage; its keys are a command of their own. */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartner, insertPartnerIfNew, type NewPartner } from '../store/partners.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import { ensureSlots } from '../tasks/ensure-slots.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './partner-fields.ts';
import { partnerView } from './partner-view.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner } from './refusals.ts';

export const newPartnerBody = z.strictObject({
  partnerOrgId: fields.partnerOrgId,
  orgCode: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, _ or -'),
  name: z.string().trim().min(1, 'is blank').max(120),
  /** Unresolved unless it is said: nothing is paid by mistake (DIF-6). */
  paymentFlow: fields.paymentFlow.default(null),
  versioned: z.boolean().default(false),
  tolerance: fields.tolerance.default('0.00'),
  caps: fields.caps.default({}),
});

export function createPartner(engine: Engine): RequestHandler {
  return async (request, response) => {
    const { caps, ...given } = readBody(request, newPartnerBody);
    const partner: NewPartner = { ...given, caps: fields.mergeCaps({}, caps) };
    await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
      if (!(await insertPartnerIfNew(tx, partner))) throw alreadyThere(partner);
      await ensureSlots(tx, partner.partnerOrgId, partner.caps);
      const operation = { action: 'PARTNER_CREATE', target: partner.partnerOrgId, reason: null };
      await recordOperation(tx, {
        ...operation,
        actor: operatorOf(request),
        before: null,
        after: partner,
      });
    });
    const made = await findPartner(engine.store, partner.partnerOrgId);
    if (made === null) throw noSuchPartner(partner.partnerOrgId);
    response.status(201).json(partnerView(made));
  };
}

function alreadyThere({ partnerOrgId, orgCode }: NewPartner): Problem {
  const detail = `There is a partner with the id ${partnerOrgId} or the organisation code ${orgCode} already.`;
  return new Problem(409, 'PARTNER_EXISTS', detail);
}
