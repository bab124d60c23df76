/** The partner API: every route is behind the partner's key, and sees that partner's things only (ING-1). */
import { Router } from 'express';
import { getCompleteness } from '../coverage/get-completeness.ts';
import { getPush } from '../coverage/get-push.ts';
import { listBills } from '../coverage/list-bills.ts';
import { listOwnPushes } from '../ingest/list-pushes.ts';
import { type IngestDependencies, postPush } from '../ingest/post-push.ts';
import { refuseOtherMethods } from './answer-errors.ts';
import { authenticatePartner, partnerOf } from './authenticate.ts';
import { limitRate } from './rate-limit.ts';

export function partnerRouter(needs: IngestDependencies): Router {
  const router = Router({ caseSensitive: true });
  router.use(authenticatePartner(needs.store));
  router
    .route('/pushes')
    .get(listOwnPushes(needs.store))
    .post(
      limitRate(needs.limits.ratePerMinute, (request) => partnerOf(request).partnerOrgId),
      postPush(needs),
    )
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
