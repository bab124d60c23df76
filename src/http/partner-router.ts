/** The partner API: every route is behind the partner's key, and sees that partner's things only (ING-1). */
import { Router } from 'express';
import { authenticatePartner, partnerOf } from '../ingest/authenticate.ts';
import { listOwnPushes } from '../ingest/list-pushes.ts';
import { type IngestDependencies, postPush } from '../ingest/post-push.ts';
import { refuseOtherMethods } from './answer-errors.ts';
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
  return router;
}
