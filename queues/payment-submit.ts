import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** A payment submit, phase by phase: build, publish, activate its locks, plan its audit; each phase is a task (PAY rules). */
export const paymentSubmit: StageRoute = {
  stage: 'payment-submit',
  actor: 'payment-submit',
  taskType: 'RESIDENT_INCOME_PAYMENT_SUBMIT',
  capDefault: 4,
  claimSizeMax: 1,
  attemptsMax: 3,
  backOff: exponentialBackOff,
  wakes: ['lock-release'],
};
