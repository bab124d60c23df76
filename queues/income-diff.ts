import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** A difference message: both sides compared, facts, account tasks (DIF rules). */
export const incomeDiff: StageRoute = {
  stage: 'income-diff',
  actor: 'diff',
  taskType: 'UPDATE_FI_MONTHLY_INCOME_DIFF',
  capDefault: 4,
  claimSizeMax: 1,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: ['account-shard', 'bill-snapshot'],
};
