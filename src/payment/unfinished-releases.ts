/** Whether something of an order is still being released: what counts its locks then would count what is about to go (PAY-5). */
import { BusyError } from '../errors.ts';
import { countUnfinishedReleases } from '../store/order-releases.ts';
import { listVersions } from '../store/payment-orders.ts';
import type { Transaction } from '../store/transaction.ts';

/** @throws BusyError where a release of another version of this order has not ended */
export async function requireNoRelease(
  tx: Transaction,
  version: { readonly id: string; readonly paymentOrderId: string },
): Promise<void> {
  const others = (await listVersions(tx, version.paymentOrderId)).filter((other) => other.id !== version.id);
  const unfinished = await countUnfinishedReleases(
    tx,
    others.map((other) => other.id),
  );
  if (unfinished > 0)
    throw new BusyError(
      `${unfinished} releases of earlier versions of order ${version.paymentOrderId} have not ended`,
    );
}
