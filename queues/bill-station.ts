import { exponentialBackOff } from '../src/domain/back-off.ts';
import type { StageRoute } from './stage-route.ts';

/** A station of a push: its account and bills, written and handed over (STA rules). */
export const billStation: StageRoute = {
  stage: 'bill-station',
  actor: 'station',
  taskType: 'PARTNER_STATION_BILL',
  capDefault: 4,
  claimSizeMax: 50,
  attemptsMax: 8,
  backOff: exponentialBackOff,
  wakes: ['income-diff'],
};
