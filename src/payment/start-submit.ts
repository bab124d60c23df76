/**
 * PAY-2: a submit begins: a version with the order's next number and the session's next attempt, all its batches as
 * INIT, the session SUBMITTING, and a build task; one transaction.
 */
import { randomUUID } from 'node:crypto';
import { takesSelection } from '../domain/payment-submit.ts';
import { isInvalidRevise } from '../domain/revise.ts';
import { assert } from '../errors.ts';
import { recordOperation } from '../store/operation-audit.ts';
import {
  findVersion,
  insertNextVersion,
  insertOrder,
  lockOrder,
  type OrderRow,
} from '../store/payment-orders.ts';
import { countSelection, forgetDrops } from '../store/session-bills.ts';
import { findSession, lockSession, type SessionRow, startSubmit } from '../store/sessions.ts';
import { insertSubmitBatches } from '../store/submit-batches.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { noSuchOrder, noSuchSession, refuse } from './refusals.ts';
import { acceptPhase } from './submit-task.ts';

export interface StartedSubmit {
  readonly paymentOrderId: string;
  readonly paymentOrderVersionId: string;
  readonly taskCode: string;
}

/** @throws Problem 404, 409 `SESSION_NOT_OPEN`, `SESSION_INVALIDATED`, `NOTHING_CHOSEN`, `ORDER_NOT_OPEN`, `NOT_THE_CREATOR` */
export async function submitSession(
  store: Store,
  sessionId: string,
  actor: string,
  kick: Kick,
  options: { readonly batchSize?: number } = {},
): Promise<StartedSubmit> {
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { session, order } = await lockForSubmit(tx, sessionId);
    await requireSubmittable(tx, session, order);
    const paymentOrderId = order?.id ?? (await makeOrder(tx, session));
    const submitToken = randomUUID();
    const versionId = await insertNextVersion(tx, { paymentOrderId, sessionId, submitToken });
    const version = await findVersion(tx, versionId);
    assert(version !== null, `version ${versionId} was just made`);
    await startSubmit(tx, sessionId, { paymentOrderId, versionId });
    await insertSubmitBatches(tx, { versionId, sessionId, batchSize: options.batchSize ?? null });
    await forgetDrops(tx, sessionId);
    const { partnerOrgId } = session;
    const taskCode = await acceptPhase(tx, 'BUILD', { version, partnerOrgId }, kick);
    const started = { paymentOrderId, paymentOrderVersionId: versionId, taskCode };
    await recordOperation(tx, {
      actor,
      action: 'PAYMENT_SESSION_SUBMIT',
      target: sessionId,
      before: { status: session.status },
      after: started,
      reason: null,
    });
    return started;
  });
}

/** The order before its session (ENG-17); which order it is, the session says, and never says otherwise again. */
async function lockForSubmit(
  tx: Transaction,
  sessionId: string,
): Promise<{ session: SessionRow; order: OrderRow | null }> {
  const seen = await findSession(tx, sessionId);
  if (seen === null) throw noSuchSession(sessionId);
  const { targetPaymentOrderId } = seen;
  const order = targetPaymentOrderId === null ? null : await lockOrder(tx, targetPaymentOrderId);
  if (targetPaymentOrderId !== null && order === null) throw noSuchOrder(targetPaymentOrderId);
  const session = await lockSession(tx, sessionId);
  if (session === null) throw noSuchSession(sessionId);
  if (session.targetPaymentOrderId !== targetPaymentOrderId) throw notOpen(session);
  return { session, order };
}

async function requireSubmittable(
  tx: Transaction,
  session: SessionRow,
  order: OrderRow | null,
): Promise<void> {
  if (session.invalidatedFlag === 1)
    throw refuse('SESSION_INVALIDATED', `Session ${session.id} is invalid: ${session.invalidatedReason}.`);
  if (!takesSelection(session.status)) throw notOpen(session);
  if (order !== null && order.orderStatus !== 'OPEN')
    throw refuse('ORDER_NOT_OPEN', `Order ${order.id} is ${order.orderStatus}.`);
  if (session.mode === 'REVISE' && order !== null) {
    const revise = { session, paymentOrderId: order.id, orderCreateUserId: order.createUserId };
    if (isInvalidRevise(revise))
      throw refuse('NOT_THE_CREATOR', `Order ${order.id} was handed over to ${order.createUserId}.`);
  }
  if ((await countChosen(tx, session.id)) === 0)
    throw refuse('NOTHING_CHOSEN', `Session ${session.id} has no bills to submit.`);
}

/** Dropped ones too: they are tried again. */
async function countChosen(tx: Transaction, sessionId: string): Promise<number> {
  const { chosen, dropped } = await countSelection(tx, sessionId);
  return dropped.reduce((sum, { bills }) => sum + bills, chosen);
}

function makeOrder(tx: Transaction, { id, partnerOrgId, creatorUserId }: SessionRow): Promise<string> {
  return insertOrder(tx, { orderNo: `RIPO-${id}`, partnerOrgId, createUserId: creatorUserId });
}

function notOpen(session: SessionRow) {
  return refuse('SESSION_NOT_OPEN', `Session ${session.id} is ${session.status} and cannot be submitted.`);
}
