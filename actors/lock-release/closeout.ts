/**
 * The end of an invalid REVISE (LCK-19): when all that it had reserved is free, its phases and its version are cancelled
 * and its session loses the submit. The session's own end is another task's (SES-1).
 */
import { isInvalidRevise } from '../../src/domain/revise.ts';
import { Failure } from '../../src/errors.ts';
import {
  cancelOpenBatches,
  cancelVersionIfBuildFailed,
  countLocks,
  detachSubmitIfFailed,
  lockReleaseSession,
} from '../../src/store/lock-releases.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { ReleaseContext } from './context.ts';

export const CLOSEOUT_REASON = 'INVALID_REVISE_SESSION';
export const CLOSEOUT_PHASE = 'AUTH_REVISE_INVARIANT_RESERVED_RELEASED';

/** Before the first batch: a submit with ACTIVE locks is not what the reason says. @throws Failure `ACTIVE_LOCKS_LEFT` */
export async function refuseActiveLocks(tx: Transaction, { scope, version }: ReleaseContext): Promise<void> {
  const active = await countLocks(tx, { ...scope, statuses: ['ACTIVE'] });
  if (active === 0) return;
  const text = `Version ${version.versionId} has ${active} ACTIVE locks; an invalid REVISE releases none of those`;
  throw new Failure('ACTIVE_LOCKS_LEFT', text);
}

/** The caller holds version, order and batch, and has found no RESERVED lock left. @throws Failure `CLOSEOUT_REFUSED` */
export async function closeOut(tx: Transaction, context: ReleaseContext): Promise<void> {
  const { version } = context;
  await refuseActiveLocks(tx, context);
  const session = await lockReleaseSession(tx, version.sessionId);
  const { paymentOrderId, orderCreateUserId } = version;
  if (!isInvalidRevise({ session, paymentOrderId, orderCreateUserId }))
    throw refused(`the REVISE of session ${version.sessionId} is valid`);
  await cancelOpenBatches(tx, version.versionId);
  const mark = { code: CLOSEOUT_REASON, reason: CLOSEOUT_REASON, phase: CLOSEOUT_PHASE };
  if (!(await cancelVersionIfBuildFailed(tx, version.versionId, mark)))
    throw refused(`version ${version.versionId} is ${version.versionStatus}, not BUILD_FAILED`);
  if (!(await detachSubmitIfFailed(tx, version.sessionId, version.versionId, mark)))
    throw refused(`session ${version.sessionId} is not in SUBMIT_FAILED over this submit`);
}

function refused(why: string): Failure {
  return new Failure('CLOSEOUT_REFUSED', `The invalid REVISE is not closed out: ${why}`);
}
