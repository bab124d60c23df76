import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** At most 25 accounts of a partner: totals, three tables, snapshot requests (ACC rules). */
export const accountShard: StageRoute = {
  stage: 'account-shard',
  actor: 'account-shard',
  taskType: 'RESIDENT_INCOME_PAYMENT_STATUS_BULK_REFRESH',
  capDefault: 4,
  claimSizeMax: 1,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: ['bill-snapshot'],
};
