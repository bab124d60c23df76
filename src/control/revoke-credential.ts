/** POST /admin/api/v1/partners/{partnerOrgId}/credentials/{id}/revoke: at once and for good; twice is once. */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartnerKey, type PartnerKeyRow, revokeKeyIfLive } from '../store/partner-keys.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { credentialView } from './list-credentials.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, readPathId } from './refusals.ts';

export function revokeCredential(store: Store): RequestHandler<{ partnerOrgId: string; id: string }> {
  return async (request, response) => {
    readBody(request, z.strictObject({}));
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const id = readPathId(request.params.id, noSuchKey);
    const revoked = await store.transaction(NEW_READ_COMMITTED, (tx) =>
      revoke(tx, partnerOrgId, id, operatorOf(request)),
    );
    response.json(credentialView(revoked));
  };
}

async function revoke(
  tx: Transaction,
  partnerOrgId: string,
  id: string,
  actor: string,
): Promise<PartnerKeyRow> {
  const changed = await revokeKeyIfLive(tx, partnerOrgId, id);
  const key = await findPartnerKey(tx, partnerOrgId, id);
  if (key === null) throw noSuchKey(id);
  if (changed) {
    await recordOperation(tx, {
      actor,
      action: 'CREDENTIAL_REVOKE',
      target: partnerOrgId,
      before: { credentialId: id, label: key.label, live: true },
      after: { credentialId: id, label: key.label, live: false },
      reason: null,
    });
  }
  return key;
}

export function noSuchKey(id: string): Problem {
  return new Problem(404, 'NO_SUCH_CREDENTIAL', `This partner has no key with the id ${id.slice(0, 40)}.`);
}
