/** POST /admin/api/v1/snapshots: the read model's rows that are missing for a partner's months (SNP-3). */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { createSnapshots } from '../payment/create-snapshots.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartner } from '../store/partners.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner } from './refusals.ts';

export const newSnapshotsBody = z.strictObject({
  partnerOrgId: fields.id,
  months: fields.months,
  mode: z.literal('CREATE'),
});

export function createSnapshotsRoute({ store, wake }: Engine): RequestHandler {
  return async (request, response) => {
    const body = readBody(request, newSnapshotsBody);
    const { partnerOrgId, months } = body;
    if ((await findPartner(store, partnerOrgId)) === null) throw noSuchPartner(partnerOrgId);
    const operation = { actor: operatorOf(request), action: 'SNAPSHOT_CREATE', target: partnerOrgId };
    await recordOperation(store, { ...operation, before: null, after: body, reason: null });
    const stations = await createSnapshots(store, { partnerOrgId, months, source: 'OPERATOR' }, wake);
    response.status(202).json({ partnerOrgId, months, stations });
  };
}
