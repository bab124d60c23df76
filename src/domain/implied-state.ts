/** LCK-3: the state in which a reason for a release may be given. What a producer moves, it moves before it asks. */
import type { LockReleaseReason } from './lock-release.ts';
import { isInvalidRevise, type ReviseSession } from './revise.ts';

export interface SubmittingSession extends ReviseSession {
  readonly status: string;
  readonly activeSubmitId: string | null;
}

export interface ReleaseSubject {
  readonly versionId: string;
  readonly versionStatus: string;
  readonly failureCode: string | null;
  readonly targetDataVersion: string;
  readonly currentPublishVersion: string | null;
  /** Of the version in force: how far it has come to make its locks its own (PAY-5); null where nothing is published. */
  readonly currentActivation: string | null;
  readonly orderStatus: string;
  readonly paymentOrderId: string;
  readonly orderCreateUserId: string;
  readonly session: SubmittingSession | null;
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
      return faultOfOvertaken(subject);
    case 'COMPENSATION_RELEASE':
      return versionStatus === 'BUILDING' || versionStatus === 'BUILT'
        ? `the version is ${versionStatus}: its submit is under way`
        : null;
    default:
      return null;
  }
}

/**
 * DEC-27: only where a version was published before this one is there anything to revise. Its failure is persisted on
 * version and session first; that is also what its closeout will ask for (LCK-19).
 */
function faultOfInvalidRevise(subject: ReleaseSubject): string | null {
  const { versionId, versionStatus, session } = subject;
  if (versionStatus !== 'BUILD_FAILED') return `the version is ${versionStatus}, not BUILD_FAILED`;
  if (comparedWithPublished(subject) !== 'later') return 'the order had no published version before';
  if (session === null || session.status !== 'SUBMIT_FAILED' || session.activeSubmitId !== versionId)
    return 'the session is not in SUBMIT_FAILED over this version';
  if (!isInvalidRevise(subject)) return 'the session is a valid REVISE of its order';
  return null;
}

/** Until the later version has activated its locks, those that it keeps bear this one's label and would go with it. */
function faultOfOvertaken(subject: ReleaseSubject): string | null {
  if (comparedWithPublished(subject) !== 'earlier') return 'no later version of the order is published';
  if (subject.currentActivation !== 'DONE') return 'the later version has not activated its locks yet';
  return null;
}

/** Where the version stands, by its number, to the one in force. */
function comparedWithPublished({
  currentPublishVersion,
  targetDataVersion,
}: ReleaseSubject): 'earlier' | 'itself' | 'later' | null {
  if (currentPublishVersion === null) return null;
  const current = BigInt(currentPublishVersion);
  const own = BigInt(targetDataVersion);
  if (own === current) return 'itself';
  return own < current ? 'earlier' : 'later';
}
