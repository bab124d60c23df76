/**
 * What every phase locks first, in the one order (ENG-17): the version, its order, its session, its batch. The version's
 * row is the boundary: reserving, publishing, cancelling and releasing lock it, so none can pass another.
 */
import type { SubmitPhase, SubmitTaskData, VersionStatus } from '../domain/payment-submit.ts';
import { isInvalidRevise } from '../domain/revise.ts';
import { Failure } from '../errors.ts';
import { lockOrder, lockVersion, type OrderRow, type VersionRow } from '../store/payment-orders.ts';
import { lockSession, type SessionRow } from '../store/sessions.ts';
import { lockBatch, type SubmitBatchRow } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';

export interface Submit {
  readonly version: VersionRow;
  readonly order: OrderRow;
  readonly session: SessionRow;
  readonly batch: SubmitBatchRow;
  readonly partnerOrgId: string;
}

/** The state of a version in which a phase has work to do. */
export const STATUS_OF_PHASE: Readonly<Record<SubmitPhase, VersionStatus>> = {
  BUILD: 'BUILDING',
  PUBLISH: 'BUILT',
  LOCK_ACTIVATE: 'PUBLISHED',
  AUDIT_PLAN: 'PUBLISHED',
};

export function submitDataOf(task: { readonly taskData: unknown }): SubmitTaskData {
  return task.taskData as SubmitTaskData;
}

/** @throws Failure `SUBMIT_CONTEXT_MISSING` */
export async function lockSubmit(tx: Transaction, task: ClaimedTask): Promise<Submit> {
  const { paymentOrderVersionId, phase } = submitDataOf(task);
  const version = there(await lockVersion(tx, paymentOrderVersionId), `version ${paymentOrderVersionId}`);
  const order = there(await lockOrder(tx, version.paymentOrderId), `order ${version.paymentOrderId}`);
  const session = there(await lockSession(tx, version.sessionId), `session ${version.sessionId}`);
  const batch = there(await lockBatch(tx, version.id, phase), `batch ${phase} of version ${version.id}`);
  return { version, order, session, batch, partnerOrgId: order.partnerOrgId };
}

function there<T>(found: T | null, what: string): T {
  if (found !== null) return found;
  throw new Failure('SUBMIT_CONTEXT_MISSING', `There is no ${what}`, { retryable: false });
}

/** Null while the phase has work to do; else the submit was given up, or is another attempt's by now. */
export function endIfGivenUp(task: ClaimedTask, { version }: Submit): Ending | null {
  const { phase, submitAttempt, submitToken } = submitDataOf(task);
  const own = version.submitAttempt === submitAttempt && version.submitToken === submitToken;
  if (own && version.versionBuildStatus === STATUS_OF_PHASE[phase]) return null;
  return {
    kind: 'cancelled',
    code: 'SUBMIT_GIVEN_UP',
    message: `Version ${version.id} is ${version.versionBuildStatus} and not this task's to ${phase}`,
  };
}

/** LCK-29, DEC-27: only where a version was published before is there anything to revise. */
export function isInvalid({ version, order, session }: Submit): boolean {
  if (version.versionBuildStatus === 'PUBLISHED' || order.currentPublishVersion === null) return false;
  return isInvalidRevise({
    session,
    paymentOrderId: version.paymentOrderId,
    orderCreateUserId: order.createUserId,
  });
}
