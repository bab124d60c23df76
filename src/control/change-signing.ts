/**
 * POST /admin/api/v1/partners/{partnerOrgId}/credentials/{id}/signing: whether requests with this key may or must be signed
 * (ING-10). A partner tries it out while it is optional; then it is required.
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import type { Signing } from '../store/credentials.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { changeSigningIfLive, findPartnerKey } from '../store/partner-keys.ts';
import { lockPartner } from '../store/partners.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { credentialView } from './list-credentials.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, readPathId } from './refusals.ts';
import { noSuchKey } from './revoke-credential.ts';

export const signingBody = z.strictObject({ signing: z.enum(['OPTIONAL', 'REQUIRED']) });

interface Change {
  readonly partnerOrgId: string;
  readonly id: string;
  readonly signing: Exclude<Signing, 'NONE'>;
  readonly actor: string;
}

export function changeSigning(store: Store): RequestHandler<{ partnerOrgId: string; id: string }> {
  return async (request, response) => {
    const { signing } = readBody(request, signingBody);
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const id = readPathId(request.params.id, noSuchKey);
    const wanted = { partnerOrgId, id, signing, actor: operatorOf(request) };
    const changed = await store.transaction(NEW_READ_COMMITTED, (tx) => change(tx, wanted));
    response.json(credentialView(changed));
  };
}

/** The partner's row is locked, so that what was before is told as it was. */
async function change(tx: Transaction, { partnerOrgId, id, signing, actor }: Change) {
  if ((await lockPartner(tx, partnerOrgId)) === null) throw noSuchPartner(partnerOrgId);
  const key = await findPartnerKey(tx, partnerOrgId, id);
  if (key === null) throw noSuchKey(id);
  if (!(await changeSigningIfLive(tx, { partnerOrgId, id, signing }))) throw cannotSign(id);
  if (key.signing !== signing) {
    await recordOperation(tx, {
      actor,
      action: 'CREDENTIAL_SIGNING',
      target: partnerOrgId,
      before: { credentialId: id, label: key.label, signing: key.signing },
      after: { credentialId: id, label: key.label, signing },
      reason: null,
    });
  }
  return { ...key, signing };
}

function cannotSign(id: string): Problem {
  return new Problem(
    409,
    'NO_SIGNING_SECRET',
    `The key ${id} is not live or has no signing secret; make a new one with "signing".`,
  );
}
