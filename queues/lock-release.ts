import { lockReleaseBackOff } from '../src/domain/back-off.ts';
import { LOCK_RELEASE_ATTEMPTS_MAX, LOCK_RELEASE_TASK_TYPE } from '../src/domain/lock-release.ts';
import type { StageRoute } from './stage-route.ts';

/** The bill locks of one submit that is over, in batches (LCK rules). One task a claim: each is many transactions. */
export const lockRelease: StageRoute = {
  stage: 'lock-release',
  actor: 'lock-release',
  taskType: LOCK_RELEASE_TASK_TYPE,
  capDefault: 4,
  claimSizeMax: 1,
  attemptsMax: LOCK_RELEASE_ATTEMPTS_MAX,
  backOff: lockReleaseBackOff,
  wakes: ['session-cleanup'],
};
