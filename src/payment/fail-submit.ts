/**
 * A submit that fails for good (LCK-3): the failure of version and session is persisted, then the release of its locks
 * submitted, in the transaction in which the phase's own task ends. A build that may still be retried releases nothing.
 */
import type { SubmitPhase } from '../domain/payment-submit.ts';
import { assert } from '../errors.ts';
import { lockOrder, lockVersion, moveVersionIf, type VersionRow } from '../store/payment-orders.ts';
import { failSubmitIf, lockSession } from '../store/sessions.ts';
import { lockBatch } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import type { Ending } from '../tasks/stage-handler.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { STATUS_OF_PHASE, type Submit } from './submit-context.ts';

export const INVALID_REVISE = 'INVALID_REVISE_SESSION';

interface SubmitFailure {
  readonly phase: SubmitPhase;
  readonly code: string;
  readonly message: string;
  readonly reason: 'BUILD_FAILED' | 'INVALID_REVISE_SESSION';
  /** The task whose failure it is. */
  readonly actor: string;
}

/** The phase's task will not go on by itself. Nothing if the version is past it, or was given up otherwise. */
export async function failSubmitOf(
  tx: Transaction,
  halted: { phase: SubmitPhase; versionId: string; reason: string; actor: string },
  kick: Kick,
): Promise<void> {
  const { phase, versionId } = halted;
  const version = await lockVersion(tx, versionId);
  if (version === null || version.versionBuildStatus !== STATUS_OF_PHASE[phase]) return;
  if (version.versionBuildStatus === 'PUBLISHED') return;
  await lockOrder(tx, version.paymentOrderId);
  await lockSession(tx, version.sessionId);
  const batch = await lockBatch(tx, versionId, phase);
  const told = batch?.lastErrorCode === halted.reason.slice(0, 40) ? batch.lastErrorMessage : null;
  const message = told ?? `The task of ${phase} ended: ${halted.reason}`;
  await persistFailure(
    tx,
    version,
    { phase, code: halted.reason, message, reason: 'BUILD_FAILED', actor: halted.actor },
    kick,
  );
}

/** LCK-3, LCK-29: an unpublished REVISE that may not speak for its order any more. Its task ends for good. */
export async function endInvalidRevise(
  tx: Transaction,
  phase: SubmitPhase,
  submit: Submit,
  actor: string,
  kick: Kick,
): Promise<Ending> {
  const message = `Session ${submit.session.id} is no valid REVISE of order ${submit.order.id} by its creator ${submit.order.createUserId}`;
  await persistFailure(
    tx,
    submit.version,
    { phase, code: INVALID_REVISE, message, reason: INVALID_REVISE, actor },
    kick,
  );
  return { kind: 'cancelled', code: INVALID_REVISE, message };
}

async function persistFailure(
  tx: Transaction,
  version: VersionRow,
  failure: SubmitFailure,
  kick: Kick,
): Promise<void> {
  const { phase, code, message, reason, actor } = failure;
  const from = version.versionBuildStatus;
  const moved = await moveVersionIf(tx, version, {
    from,
    to: 'BUILD_FAILED',
    failure: { code, phase, message },
  });
  assert(moved, `version ${version.id}, locked as ${from}, did not take its failure`);
  const submit = { sessionId: version.sessionId, versionId: version.id };
  const failed = await failSubmitIf(tx, submit, { phase, reason: `${code}: ${message}` });
  assert(failed, `session ${version.sessionId} is not at the submit of version ${version.id}`);
  await acceptLockRelease(tx, { paymentOrderVersionId: version.id, lockReleaseReason: reason, actor }, kick);
}
