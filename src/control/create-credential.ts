/**
 * POST /admin/api/v1/partners/{partnerOrgId}/credentials: a key for the partner, shown in this answer and never again;
 * the database has its SHA-256. Two may be live at once, so that a partner can change over (ING-1). With `signing` it
 * comes with a secret to sign requests with, shown once as well and kept sealed (ING-10).
 */
import { createHash, randomBytes } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { type SecretKey, sealSecret } from '../http/secret-box.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { countLivePartnerKeys, insertPartnerKey } from '../store/partner-keys.ts';
import { lockPartner } from '../store/partners.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner, readPathId } from './refusals.ts';

const LIVE_KEYS_MAX = 2;
const KEY_BYTES = 32;
const SIGNING_SECRET_BYTES = 32;
const LABEL_LENGTH_MAX = 64;

export const newCredentialBody = z.strictObject({
  label: z.string().trim().max(LABEL_LENGTH_MAX).default(''),
  signing: z.enum(['NONE', 'OPTIONAL', 'REQUIRED']).default('NONE'),
});

export function createCredential(
  store: Store,
  secretKeys: readonly SecretKey[],
): RequestHandler<{ partnerOrgId: string }> {
  return async (request, response) => {
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const { label, signing } = readBody(request, newCredentialBody);
    const secret = signing === 'NONE' ? null : randomBytes(SIGNING_SECRET_BYTES);
    const key = `rt_${randomBytes(KEY_BYTES).toString('base64url')}`;
    const keyHash = createHash('sha256').update(key).digest('hex');
    const signingSecret = secret === null ? null : seal(secretKeys, secret, keyHash);
    const id = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      // The partner's row is locked, so that two who ask at once do not both find room for one more.
      if ((await lockPartner(tx, partnerOrgId)) === null) throw noSuchPartner(partnerOrgId);
      if ((await countLivePartnerKeys(tx, partnerOrgId)) >= LIVE_KEYS_MAX) throw noRoom();
      const made = await insertPartnerKey(tx, { partnerOrgId, keyHash, label, signing, signingSecret });
      await recordOperation(tx, {
        actor: operatorOf(request),
        action: 'CREDENTIAL_CREATE',
        target: partnerOrgId,
        before: null,
        after: { credentialId: made, label, signing },
        reason: null,
      });
      return made;
    });
    const shown = secret === null ? {} : { signingSecret: secret.toString('base64') };
    response.status(201).json({ id, partnerOrgId, label, signing, key, ...shown });
  };
}

/** Bound to the key's hash: moved to another row it opens no more. */
function seal(secretKeys: readonly SecretKey[], secret: Uint8Array, keyHash: string): string {
  const [first, ...others] = secretKeys;
  if (first === undefined)
    throw new Problem(
      409,
      'SIGNING_NOT_CONFIGURED',
      'Nothing is configured to keep signing secrets with: set ROOFTALLY_SECRET_KEYS and start again.',
    );
  return sealSecret([first, ...others], secret, keyHash);
}

function noRoom(): Problem {
  return new Problem(
    409,
    'TOO_MANY_KEYS',
    `${LIVE_KEYS_MAX} keys are live; revoke one of them before another is made.`,
  );
}
