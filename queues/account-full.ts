import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** All accounts of a partner, months up to a cut-off (ACC-14). One at a time: a second would go over the same accounts. */
export const accountFull: StageRoute = {
  stage: 'account-full',
  actor: 'account-shard',
  taskType: 'RESIDENT_INCOME_PAYMENT_STATUS_BULK_REFRESH',
  capDefault: 1,
  claimSizeMax: 1,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: ['bill-snapshot'],
};
