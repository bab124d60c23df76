/** What a release works on, locked in the one order: version and order, session, batch (LCK-12, ENG-17). */
import { type LockReleaseIdentity, releasedStatuses } from '../../src/domain/lock-release.ts';
import { Failure } from '../../src/errors.ts';
import {
  findReleaseSession,
  type LockedVersion,
  lockReleaseBatch,
  lockVersion,
  type ReleaseBatch,
  type ReleaseScope,
  type ReleaseSession,
} from '../../src/store/lock-releases.ts';
import type { Transaction } from '../../src/store/transaction.ts';

/** A version whose order is there. */
export type VersionWithOrder = LockedVersion & { readonly orderCreateUserId: string };

export interface ReleaseContext {
  readonly identity: LockReleaseIdentity;
  readonly version: VersionWithOrder;
  /** Read without a lock; whoever writes it locks it first. */
  readonly session: ReleaseSession;
  readonly batch: ReleaseBatch;
  /** Which locks this reason is about. */
  readonly scope: ReleaseScope;
}

/** @throws Failure `RELEASE_CONTEXT_MISSING`: nothing of it is made up here */
export async function lockContext(tx: Transaction, identity: LockReleaseIdentity): Promise<ReleaseContext> {
  const { paymentOrderVersionId: versionId, orderBillIds, lockReleaseReason } = identity;
  const version = await lockVersion(tx, versionId);
  if (version === null) throw missing(`payment order version ${versionId}`);
  if (!hasOrder(version)) throw missing(`payment order ${version.paymentOrderId}`);
  const session = await findReleaseSession(tx, version.sessionId);
  if (session === null) throw missing(`session ${version.sessionId}`);
  const batch = await lockReleaseBatch(tx, versionId);
  if (batch === null) throw missing(`batch LOCK_RELEASE of version ${versionId}`);
  const scope = { version, statuses: releasedStatuses(lockReleaseReason), orderBillIds };
  return { identity, version, session, batch, scope };
}

function hasOrder(version: LockedVersion): version is VersionWithOrder {
  return version.orderId !== null && version.orderCreateUserId !== null;
}

function missing(what: string): Failure {
  return new Failure('RELEASE_CONTEXT_MISSING', `There is no ${what}`);
}
