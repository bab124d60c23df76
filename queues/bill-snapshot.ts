import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** The read model of a platform station's months, by request generation (SNP rules). */
export const billSnapshot: StageRoute = {
  stage: 'bill-snapshot',
  actor: 'snapshot',
  taskType: 'RESIDENT_INCOME_PAYMENT_BILL_SNAPSHOT',
  capDefault: 4,
  claimSizeMax: 50,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: [],
};
