import { listFailedVersionsWithoutRelease } from '../store/invariants/failed-versions-without-release.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { ORDER_VERSIONS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const failedVersionWithoutRelease: InvariantRule = {
  code: 'FAILED_VERSION_WITHOUT_RELEASE',
  targetType: 'PAYMENT_ORDER_VERSION',
  title: 'A version that failed for good has its release',
  looksFor: 'Versions that are BUILD_FAILED or CANCELLED and of which no lock release was ever accepted',
  why: 'Failure and release are one transaction; without the release the reservations of the submit stay for ever',
  whatToDo: 'Accept the release that the way it failed implies, by POST /admin/api/v1/lock-releases',
  find: (reader) => walk(reader, ORDER_VERSIONS, listFailedVersionsWithoutRelease),
};
