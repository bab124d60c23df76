/**
 * POST /admin/api/v1/partners/{partnerOrgId}/credentials: a key for the partner, shown in this answer and never again;
 * the database has its SHA-256. Two may be live at once, so that a partner can change over (ING-1).
 */
import { createHash, randomBytes } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { countLivePartnerKeys, insertPartnerKey } from '../store/partner-keys.ts';
import { lockPartner } from '../store/partners.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, readPathId } from './refusals.ts';

const LIVE_KEYS_MAX = 2;
const KEY_BYTES = 32;
const LABEL_LENGTH_MAX = 64;

const bodySchema = z.strictObject({ label: z.string().trim().max(LABEL_LENGTH_MAX).default('') });

export function createCredential(store: Store): RequestHandler<{ partnerOrgId: string }> {
  return async (request, response) => {
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const { label } = readBody(request, bodySchema);
    const key = `rt_${randomBytes(KEY_BYTES).toString('base64url')}`;
    const keyHash = createHash('sha256').update(key).digest('hex');
    const id = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      // The partner's row is locked, so that two who ask at once do not both find room for one more.
      if ((await lockPartner(tx, partnerOrgId)) === null) throw noSuchPartner(partnerOrgId);
      if ((await countLivePartnerKeys(tx, partnerOrgId)) >= LIVE_KEYS_MAX) throw noRoom();
      const made = await insertPartnerKey(tx, { partnerOrgId, keyHash, label });
      await recordOperation(tx, {
        actor: operatorOf(request),
        action: 'CREDENTIAL_CREATE',
        target: partnerOrgId,
        before: null,
        after: { credentialId: made, label },
        reason: null,
      });
      return made;
    });
    response.status(201).json({ id, partnerOrgId, label, key });
  };
}

function noRoom(): Problem {
  return new Problem(
    409,
    'TOO_MANY_KEYS',
    `${LIVE_KEYS_MAX} keys are live; revoke one of them before another is made.`,
  );
}
