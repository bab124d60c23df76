/** PAY-1: an order is handed to another creator; that makes its open REVISE sessions invalid (LCK-29). */
import { recordOperation } from '../store/operation-audit.ts';
import { lockOrder, setOrderCreator } from '../store/payment-orders.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import { noSuchOrder, refuse } from './refusals.ts';

/** @throws Problem 404, 409 `ORDER_NOT_OPEN` */
export async function handOverOrder(
  store: Store,
  orderId: string,
  creatorUserId: string,
  actor: string,
): Promise<void> {
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const order = await lockOrder(tx, orderId);
    if (order === null) throw noSuchOrder(orderId);
    if (order.orderStatus !== 'OPEN')
      throw refuse('ORDER_NOT_OPEN', `Order ${orderId} is ${order.orderStatus}.`);
    await setOrderCreator(tx, orderId, creatorUserId);
    await recordOperation(tx, {
      actor,
      action: 'PAYMENT_ORDER_HAND_OVER',
      target: orderId,
      before: { creatorUserId: order.createUserId },
      after: { creatorUserId },
      reason: null,
    });
  });
}
