/** What an interrupted run left of its payment scenes is given up, so that the pushes of this one meet no lock of them. */
import { ApiError } from '../api-client.ts';
import {
  CLERKS,
  HELD_FOR_REVISION,
  listAll,
  listBills,
  type OrderBill,
  type OrderView,
  PLANE,
  type SessionView,
  showOrder,
  waitFor,
} from './payment-plane.ts';
import type { Telling } from './telling.ts';

/** A session that can still be given up; a cancelled or published one needs nothing. */
const OPEN_STATUSES = ['SELECTING', 'SUBMITTING', 'SUBMIT_FAILED', 'PUBLISHING'];

/** Of the demo's own clerks alone. Nothing happens where the run before came to its end. */
export async function clearLeftovers(telling: Telling): Promise<void> {
  const { world, say } = telling;
  await world.admin.post(`${PLANE}/stages/${HELD_FOR_REVISION}/resume`);
  const query = `partnerOrgId=${world.example.partners[0]!.partnerOrgId}`;
  for (const session of await listAll<SessionView>(world.admin, `payment-sessions?${query}`)) {
    if (!CLERKS.includes(session.creatorUserId) || !OPEN_STATUSES.includes(session.status)) continue;
    const ended = await isDone(world.admin.post(`${PLANE}/payment-sessions/${session.id}/cancel`));
    if (ended) say(`Session ${session.id} of an interrupted run is given up.`);
  }
  for (const order of await listAll<OrderView>(world.admin, `payment-orders?${query}&status=OPEN`))
    if (CLERKS.includes(order.creatorUserId)) await clearOrder(telling, order.id);
}

/** Every version: a release of a failed or cancelled one may still be on its way. */
async function clearOrder(telling: Telling, orderId: string): Promise<void> {
  const { world } = telling;
  const { versions } = await showOrder(world.admin, orderId);
  for (const { paymentOrderVersionId: versionId, versionBuildStatus } of versions) {
    const look = () => listBills(world.admin, { orderId, versionId });
    const held = (await look()).filter(isLive);
    if (held.length === 0) continue;
    if (versionBuildStatus === 'PUBLISHED') await giveBack(telling, orderId, versionId, held);
    await waitFor('the locks of an interrupted run to be released', look, (own) => !own.some(isLive));
  }
}

/** An order of which something was paid cannot be voided: then the bank sends the rest back. */
async function giveBack(
  { world, say }: Telling,
  orderId: string,
  paymentOrderVersionId: string,
  held: readonly OrderBill[],
): Promise<void> {
  const path = `${PLANE}/payment-orders/${orderId}`;
  say(`Order ${orderId} of an interrupted run gives its ${held.length} bill(s) back.`);
  if (await isDone(world.admin.post(`${path}/void`, { reason: 'of an interrupted demo' }))) return;
  const results = held.map(({ orderBillId }) => ({
    ...{ eventId: `demo-${paymentOrderVersionId}-${orderBillId}-back`, outcome: 'FAILED', orderBillId },
  }));
  await isDone(world.admin.post(`${path}/payment-results`, { paymentOrderVersionId, results }));
}

function isLive({ lockStatus }: OrderBill): boolean {
  return lockStatus === 'RESERVED' || lockStatus === 'ACTIVE';
}

/** False: refused, since it is past that already. */
async function isDone(act: Promise<unknown>): Promise<boolean> {
  try {
    await act;
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return false;
    throw error;
  }
}
