/** Voiding an order (PAY-7, DEC-13): nothing of it was ever paid, no submit of it is under way; then all its locks go. */

import { isUnpublished } from '../domain/payment-submit.ts';
import { BusyError } from '../errors.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { hasAnyPayment } from '../store/payment-facts.ts';
import {
  findOrder,
  findVersionByNumber,
  listVersions,
  lockOrder,
  lockVersion,
  type OrderRow,
  type VersionRow,
  voidIfOpen,
} from '../store/payment-orders.ts';
import { findSession } from '../store/sessions.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { noSuchOrder, refuse } from './refusals.ts';

/** @throws Problem 404, 409 `ORDER_NOT_OPEN`, `ORDER_PAID`, `SUBMIT_UNDER_WAY` */
export async function voidOrder(
  store: Store,
  orderId: string,
  command: { readonly actor: string; readonly reason: string },
  kick: Kick,
): Promise<void> {
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { order, published } = await lockWithPublished(tx, orderId);
    if (order.orderStatus !== 'OPEN')
      throw refuse('ORDER_NOT_OPEN', `Order ${orderId} is ${order.orderStatus}.`);
    if (await hasAnyPayment(tx, orderId))
      throw refuse('ORDER_PAID', `Something was paid of order ${orderId}; it cannot be voided.`);
    await refuseUnderWay(tx, order, published);
    await voidIfOpen(tx, orderId);
    if (published !== null)
      await acceptLockRelease(
        tx,
        { paymentOrderVersionId: published.id, lockReleaseReason: 'ORDER_VOID', actor: command.actor },
        kick,
      );
    await recordOperation(tx, {
      actor: command.actor,
      action: 'PAYMENT_ORDER_VOID',
      target: orderId,
      before: { orderStatus: order.orderStatus },
      after: { orderStatus: 'VOID' },
      reason: command.reason,
    });
  });
}

/** The published version before its order (ENG-17). */
async function lockWithPublished(
  tx: Transaction,
  orderId: string,
): Promise<{ order: OrderRow; published: VersionRow | null }> {
  const seen = await findOrder(tx, orderId);
  if (seen === null) throw noSuchOrder(orderId);
  const current = seen.currentPublishVersion;
  const named = current === null ? null : await findVersionByNumber(tx, orderId, current);
  const published = named === null ? null : await lockVersion(tx, named.id);
  const order = await lockOrder(tx, orderId);
  if (order === null) throw noSuchOrder(orderId);
  if (order.currentPublishVersion !== current)
    throw new BusyError(`order ${orderId}, which was just published`);
  return { order, published };
}

/** Locks that are still being made, or still bear another version's label, would be left behind. */
async function refuseUnderWay(tx: Transaction, order: OrderRow, published: VersionRow | null): Promise<void> {
  const open = (await listVersions(tx, order.id)).find((version) =>
    isUnpublished(version.versionBuildStatus),
  );
  if (open !== undefined)
    throw refuse('SUBMIT_UNDER_WAY', `Session ${open.sessionId} submits order ${order.id}: cancel it first.`);
  const session = published === null ? null : await findSession(tx, published.sessionId);
  if (session?.status === 'PUBLISHED_LOCK_SYNCING')
    throw refuse('SUBMIT_UNDER_WAY', `The locks of order ${order.id} are being activated: try again soon.`);
}
