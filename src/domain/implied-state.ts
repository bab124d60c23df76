/** LCK-3: the state in which a reason for a release may be given. What a producer moves, it moves before it asks. */
import type { LockReleaseReason } from './lock-release.ts';
import { isInvalidRevise, type ReviseSession } from './revise.ts';

export interface ReleaseSubject {
  readonly versionStatus: string;
  readonly failureCode: string | null;
  readonly targetDataVersion: string;
  readonly currentPublishVersion: string | null;
  readonly orderStatus: string;
  readonly paymentOrderId: string;
  readonly orderCreateUserId: string;
  readonly session: ReviseSession | null;
}

/** Null, or why the reason does not fit what is there. Payments and audits say themselves what they have found. */
export function faultOfState(reason: LockReleaseReason, subject: ReleaseSubject): string | null {
  const { versionStatus } = subject;
  switch (reason) {
    case 'BUILD_FAILED':
    case 'REVISE_FAILED':
      return versionStatus === 'BUILD_FAILED' ? null : `the version is ${versionStatus}, not BUILD_FAILED`;
    case 'INVALID_REVISE_SESSION':
      return faultOfInvalidRevise(subject);
    case 'SUBMIT_CANCEL':
      return versionStatus === 'CANCELLED' && subject.failureCode !== 'INVALID_REVISE_SESSION'
        ? null
        : `the version is ${versionStatus}, and no cancel made it so`;
    case 'ORDER_VOID':
      return subject.orderStatus === 'VOID' ? null : `the order is ${subject.orderStatus}, not VOID`;
    case 'REVISE_REMOVED':
    case 'RESUBMIT_REFRESH':
      return isOvertaken(subject) ? null : 'no later version of the order is published';
    case 'COMPENSATION_RELEASE':
      return versionStatus === 'BUILDING' || versionStatus === 'BUILT'
        ? `the version is ${versionStatus}: its submit is under way`
        : null;
    default:
      return null;
  }
}

/** DEC-27: only where a version was published before this one is there anything to revise. */
function faultOfInvalidRevise(subject: ReleaseSubject): string | null {
  if (subject.versionStatus !== 'BUILD_FAILED')
    return `the version is ${subject.versionStatus}, not BUILD_FAILED`;
  if (subject.currentPublishVersion === null) return 'the order had no published version before';
  if (!isInvalidRevise(subject)) return 'the session is a valid REVISE of its order';
  return null;
}

function isOvertaken({ currentPublishVersion, targetDataVersion }: ReleaseSubject): boolean {
  return currentPublishVersion !== null && BigInt(currentPublishVersion) > BigInt(targetDataVersion);
}
