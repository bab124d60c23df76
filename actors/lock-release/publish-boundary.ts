/**
 * The publish boundary (LCK-13): nothing of a published version is released because a submit failed. It is checked at
 * three places, each of which holds alone: before anything is touched, again in the release of each batch, and in the
 * UPDATE itself. Here is what a refusal leaves behind (LCK-20, LCK-23).
 */
import { stopsAtPublishBoundary } from '../../src/domain/lock-release.ts';
import { lockReleaseSession, markPublishIncident } from '../../src/store/lock-releases.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { Ending } from '../../src/tasks/stage-handler.ts';
import type { ReleaseContext, VersionWithOrder } from './context.ts';
import { countsText, type ReleaseProgress } from './progress.ts';

export const INCIDENT_REASON = 'INVALID_REVISE_SESSION_PUBLISHED_INCIDENT';
export const INCIDENT_PHASE = 'AUTH_REVISE_INVARIANT_LOCK_RELEASE_AFTER_PUBLISH_REJECTED';

/** The first place: by what the transaction has locked. */
export function isBeyondBoundary({ identity, version }: ReleaseContext): boolean {
  return (
    stopsAtPublishBoundary(identity.lockReleaseReason) && (isPointedAt(version) || saysPublished(version))
  );
}

/** Cancelled for good, for NEW and REVISE alike; a REVISE's session is marked, whatever the reason was (DEC-27). */
export async function refuseAtBoundary(
  tx: Transaction,
  { identity, version, session }: ReleaseContext,
  progress: ReleaseProgress,
): Promise<Ending> {
  if (session.mode === 'REVISE') {
    await lockReleaseSession(tx, session.id);
    await markPublishIncident(tx, session.id, {
      reason: INCIDENT_REASON,
      phase: INCIDENT_PHASE,
      continueCloseout: isPointedAt(version) && saysPublished(version),
    });
  }
  const begun = progress.batchCount > 0;
  const before = begun ? `; before that: ${countsText(progress)}` : '; nothing was released';
  return {
    kind: 'cancelled',
    code: begun ? 'PUBLISHED_AFTER_RELEASE' : 'PUBLISHED',
    message: `Version ${version.versionId} is published: ${identity.lockReleaseReason} releases nothing of it${before}`,
  };
}

function isPointedAt(version: VersionWithOrder): boolean {
  return version.currentPublishVersion === version.targetDataVersion;
}

function saysPublished(version: VersionWithOrder): boolean {
  return version.versionStatus === 'PUBLISHED';
}
