/**
 * PAY-7: giving a session up. If its submit is under way, the version moves to its final state first, under its row and
 * by compare-and-set; then its locks are released with SUBMIT_CANCEL. A build that meets it finds a version that is not
 * BUILDING any more and leaves nothing behind.
 */
import { isUnpublished } from '../domain/payment-submit.ts';
import { assert, BusyError } from '../errors.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { lockVersion, moveVersionIf, type VersionRow } from '../store/payment-orders.ts';
import { cancelSession, findSession, lockSession, type SessionRow } from '../store/sessions.ts';
import { cancelOpenPhases } from '../store/submit-batches.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { INVALID_REVISE } from './fail-submit.ts';
import { noSuchSession, refuse } from './refusals.ts';

/** @throws Problem 404, 409 `SESSION_ENDED`, `ALREADY_PUBLISHED`, `SESSION_INVALIDATED` */
export async function cancelPaymentSession(
  store: Store,
  sessionId: string,
  command: { readonly actor: string; readonly reason: string | null },
  kick: Kick,
): Promise<void> {
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { session, version } = await lockForCancel(tx, sessionId);
    requireCancellable(session, version);
    if (version !== null && isUnpublished(version.versionBuildStatus))
      await giveUpVersion(tx, version, command.actor, kick);
    await cancelSession(tx, sessionId);
    await recordOperation(tx, {
      actor: command.actor,
      action: 'PAYMENT_SESSION_CANCEL',
      target: sessionId,
      before: { status: session.status },
      after: { status: 'CANCELLED' },
      reason: command.reason,
    });
  });
}

/** The version before its session (ENG-17). */
async function lockForCancel(
  tx: Transaction,
  sessionId: string,
): Promise<{ session: SessionRow; version: VersionRow | null }> {
  const seen = await findSession(tx, sessionId);
  if (seen === null) throw noSuchSession(sessionId);
  const version = seen.activeSubmitId === null ? null : await lockVersion(tx, seen.activeSubmitId);
  const session = await lockSession(tx, sessionId);
  if (session === null) throw noSuchSession(sessionId);
  if (session.activeSubmitId !== seen.activeSubmitId)
    throw new BusyError(`session ${sessionId}, which was just submitted`);
  return { session, version };
}

function requireCancellable(session: SessionRow, version: VersionRow | null): void {
  const { id, status } = session;
  if (status === 'CANCELLED') throw refuse('SESSION_ENDED', `Session ${id} is cancelled.`);
  if (status === 'PUBLISHED' || status === 'PUBLISHED_LOCK_SYNCING')
    throw refuse('ALREADY_PUBLISHED', `Session ${id} is ${status}: revise or void its order instead.`);
  // Its release closes it out, and its clean-up cancels it, once nothing of it is left (LCK-19, SES-1).
  if (session.invalidatedFlag === 1 || version?.failureCode === INVALID_REVISE)
    throw refuse('SESSION_INVALIDATED', `Session ${id} is invalid and is cleaned up by itself.`);
}

async function giveUpVersion(tx: Transaction, version: VersionRow, actor: string, kick: Kick): Promise<void> {
  const from = version.versionBuildStatus;
  const failure = { code: 'SUBMIT_CANCEL', phase: from, message: `Cancelled by ${actor}` };
  const moved = await moveVersionIf(tx, version, { from, to: 'CANCELLED', failure });
  assert(moved, `version ${version.id}, locked as ${from}, was not cancelled`);
  await cancelOpenPhases(tx, version.id);
  await acceptLockRelease(
    tx,
    { paymentOrderVersionId: version.id, lockReleaseReason: 'SUBMIT_CANCEL', actor },
    kick,
  );
}
