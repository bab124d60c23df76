import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** An invalidated REVISE session, cancelled once nothing of it is left (SES-1). */
export const sessionCleanup: StageRoute = {
  stage: 'session-cleanup',
  actor: 'session-cleanup',
  taskType: 'RESIDENT_INCOME_PAYMENT_SESSION_CLEANUP',
  capDefault: 1,
  claimSizeMax: 1,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: [],
};
