/** The partner API: every route is behind the partner's key, and sees that partner's things only (ING-1). */
import { type Request, Router } from 'express';
import { getCompleteness } from '../coverage/get-completeness.ts';
import { getPush } from '../coverage/get-push.ts';
import { listBills } from '../coverage/list-bills.ts';
import { listOwnPushes } from '../ingest/list-pushes.ts';
import { type IngestDependencies, postPush } from '../ingest/post-push.ts';
import { refuseOtherMethods } from './answer-errors.ts';
import { authenticatePartner, partnerOf } from './authenticate.ts';
import { limitConcurrency } from './concurrency-limit.ts';
import { limitRate } from './rate-limit.ts';
import { type SigningSettings, verifySignature } from './verify-signature.ts';

/** Of one partner, in this process. */
const PUSHES_AT_ONCE_MAX = 32;

export interface PartnerApiDependencies extends IngestDependencies {
  readonly signing: SigningSettings;
}

export function partnerRouter(needs: PartnerApiDependencies): Router {
  const router = Router({ caseSensitive: true });
  const partnerKey = (request: Request): string => partnerOf(request).partnerOrgId;
  router.use(authenticatePartner(needs.store));
  // Before the signature, which spends its nonce: what is refused for its number may be sent again as it is.
  router.post(
    '/pushes',
    limitRate(needs.limits.ratePerMinute, partnerKey),
    limitConcurrency(PUSHES_AT_ONCE_MAX, partnerKey),
  );
  router.use(verifySignature(needs.store, needs.signing));
  router
    .route('/pushes')
    .get(listOwnPushes(needs.store))
    .post(postPush(needs))
    .all(refuseOtherMethods(['GET', 'POST']));
  router
    .route('/pushes/:pushId')
    .get(getPush(needs.store))
    .all(refuseOtherMethods(['GET']));
  router
    .route('/pushes/:pushId/bills')
    .get(listBills(needs.store))
    .all(refuseOtherMethods(['GET']));
  router
    .route('/completeness')
    .get(getCompleteness(needs.store))
    .all(refuseOtherMethods(['GET']));
  return router;
}
