/** PAY-1: opening a session, of one partner; a REVISE names its order, by the order's creator, one at a time. */
import { reviseKey, type SessionMode } from '../domain/payment-submit.ts';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartner } from '../store/partners.ts';
import { lockOrder, type OrderRow } from '../store/payment-orders.ts';
import { insertSessionIfFree } from '../store/sessions.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { createSnapshots } from './create-snapshots.ts';
import { noSuchOrder, noSuchPartnerOrg, refuse } from './refusals.ts';

export interface OpenSession {
  readonly mode: SessionMode;
  readonly partnerOrgId: string;
  readonly months: readonly string[];
  readonly creatorUserId: string;
  /** Of a REVISE. */
  readonly paymentOrderId: string | null;
}

export interface OpenedSession {
  readonly sessionId: string;
  /** Stations whose missing snapshots were asked for. */
  readonly snapshotStations: number;
}

/** @throws Problem 404, 409 `REVISE_LIVE`, `ORDER_NOT_PUBLISHED`, `NOT_THE_CREATOR`, 422 */
export async function openSession(
  store: Store,
  wish: OpenSession,
  actor: string,
  kick: Kick,
): Promise<OpenedSession> {
  const sessionId = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const id = await insert(tx, wish);
    await recordOperation(tx, {
      actor,
      action: 'PAYMENT_SESSION_OPEN',
      target: id,
      before: null,
      after: wish,
      reason: null,
    });
    return id;
  });
  const { partnerOrgId, months } = wish;
  const snapshotStations = await createSnapshots(
    store,
    { partnerOrgId, months, source: 'PAYMENT_SESSION' },
    kick,
  );
  return { sessionId, snapshotStations };
}

async function insert(tx: Transaction, wish: OpenSession): Promise<string> {
  const { mode, partnerOrgId, months, creatorUserId, paymentOrderId } = wish;
  if ((await findPartner(tx, partnerOrgId)) === null) throw noSuchPartnerOrg(partnerOrgId);
  if (mode === 'REVISE') await requireRevisable(tx, wish);
  else if (paymentOrderId !== null) throw namesAnOrder(paymentOrderId);
  const id = await insertSessionIfFree(tx, {
    partnerOrgId,
    mode,
    months,
    creatorUserId,
    targetPaymentOrderId: paymentOrderId,
    activeReviseKey: mode === 'REVISE' ? reviseKey(paymentOrderId!) : null,
  });
  if (id !== null) return id;
  throw refuse('REVISE_LIVE', `Order ${paymentOrderId} is being revised by another session.`);
}

function namesAnOrder(paymentOrderId: string): Problem {
  const detail = `A NEW session makes an order of its own; for order ${paymentOrderId} ask for the mode REVISE.`;
  return new Problem(422, 'NEW_NAMES_AN_ORDER', detail);
}

async function requireRevisable(tx: Transaction, wish: OpenSession): Promise<OrderRow> {
  const { paymentOrderId, partnerOrgId, creatorUserId } = wish;
  if (paymentOrderId === null)
    throw new Problem(422, 'NO_ORDER_NAMED', 'A REVISE names the paymentOrderId that it revises.');
  const order = await lockOrder(tx, paymentOrderId);
  if (order === null || order.partnerOrgId !== partnerOrgId) throw noSuchOrder(paymentOrderId);
  if (order.orderStatus !== 'OPEN')
    throw refuse('ORDER_NOT_OPEN', `Order ${order.id} is ${order.orderStatus}.`);
  if (order.currentPublishVersion === null)
    throw refuse('ORDER_NOT_PUBLISHED', `Order ${order.id} has no published version to revise.`);
  if (order.createUserId !== creatorUserId)
    throw refuse('NOT_THE_CREATOR', `Order ${order.id} is revised by its creator, ${order.createUserId}.`);
  return order;
}
