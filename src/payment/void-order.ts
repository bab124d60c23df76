/**
 * Voiding an order (PAY-7, DEC-13): nothing of it was ever paid, no submit of it is under way; then all its locks go, of
 * whichever version. A submit that failed, or bills that a revision removed, may hold some still, because their own
 * release failed or was cancelled.
 */

import { isUnpublished } from '../domain/payment-submit.ts';
import { BusyError } from '../errors.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { hasAnyPayment } from '../store/payment-facts.ts';
import {
  findOrder,
  listVersions,
  lockOrder,
  lockVersion,
  type OrderRow,
  type VersionRow,
  voidIfOpen,
} from '../store/payment-orders.ts';
import { holdsLiveLocks } from '../store/reservations.ts';
import { findSession } from '../store/sessions.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { noSuchOrder, refuse } from './refusals.ts';

interface VoidCommand {
  readonly actor: string;
  readonly reason: string;
}

/** @throws Problem 404, 409 `ORDER_NOT_OPEN`, `ORDER_PAID`, `SUBMIT_UNDER_WAY` */
export async function voidOrder(
  store: Store,
  orderId: string,
  command: VoidCommand,
  kick: Kick,
): Promise<void> {
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { order, versions } = await lockWithVersions(tx, orderId);
    if (order.orderStatus !== 'OPEN')
      throw refuse('ORDER_NOT_OPEN', `Order ${orderId} is ${order.orderStatus}.`);
    if (await hasAnyPayment(tx, orderId))
      throw refuse('ORDER_PAID', `Something was paid of order ${orderId}; it cannot be voided.`);
    await refuseUnderWay(tx, order, versions);
    await voidIfOpen(tx, orderId);
    await releaseAll(tx, versions, command, kick);
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

/** All its versions, ascending, before their order (ENG-17); one by one, each by its key, so that no other row is locked. */
async function lockWithVersions(
  tx: Transaction,
  orderId: string,
): Promise<{ order: OrderRow; versions: readonly VersionRow[] }> {
  if ((await findOrder(tx, orderId)) === null) throw noSuchOrder(orderId);
  const locked = new Set<string>();
  for (const { id } of await listVersions(tx, orderId)) {
    await lockVersion(tx, id);
    locked.add(id);
  }
  const order = await lockOrder(tx, orderId);
  if (order === null) throw noSuchOrder(orderId);
  // A version is made under the order's row: from here on these are all.
  const versions = await listVersions(tx, orderId);
  if (versions.some(({ id, versionBuildStatus }) => !locked.has(id) && !isUnpublished(versionBuildStatus)))
    throw new BusyError(`order ${orderId}, which was just submitted`);
  return { order, versions };
}

/** Locks that are still being made, or still bear another version's label, would be left behind. */
async function refuseUnderWay(
  tx: Transaction,
  order: OrderRow,
  versions: readonly VersionRow[],
): Promise<void> {
  const open = versions.find((version) => isUnpublished(version.versionBuildStatus));
  if (open !== undefined)
    throw refuse('SUBMIT_UNDER_WAY', `Session ${open.sessionId} submits order ${order.id}: cancel it first.`);
  const published = versions.find((version) => version.targetDataVersion === order.currentPublishVersion);
  const session = published === undefined ? null : await findSession(tx, published.sessionId);
  if (session?.status === 'PUBLISHED_LOCK_SYNCING')
    throw refuse('SUBMIT_UNDER_WAY', `The locks of order ${order.id} are being activated: try again soon.`);
}

/** Under the versions' rows nothing can reserve, relabel or release meanwhile: what is counted is what there is. */
async function releaseAll(
  tx: Transaction,
  versions: readonly VersionRow[],
  { actor }: VoidCommand,
  kick: Kick,
): Promise<void> {
  for (const version of versions) {
    if (!(await holdsLiveLocks(tx, version))) continue;
    const release = { paymentOrderVersionId: version.id, lockReleaseReason: 'ORDER_VOID', actor };
    await acceptLockRelease(tx, release, kick);
  }
}
