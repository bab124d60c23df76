/** Scene 5: what audit and bank say of the published order, and which locks go for it (PAY-6, DEC-13, DEC-14). */
import { grouped } from '../figures.ts';
import { type SceneBill, waitForStatuses } from './payment-bills.ts';
import { listBills, locksText, PLANE, type Submitted, waitFor } from './payment-plane.ts';
import type { Scene } from './payment-scene.ts';

/** Why a lock is let go, for people. */
const REASON_WORDS: Readonly<Record<string, string>> = {
  PAYMENT_SUCCESS: 'paid in full',
  PAYMENT_FAIL: 'the payment failed',
  REVIEW_APPROVED_UNQUALIFIED: 'the audit found it unqualified',
};

export async function takeResults(scene: Scene, order: Submitted) {
  const { world, say, partnerOrgId, bills } = scene;
  const [first, second, third, fourth] = await orderBillsOf(scene, order, bills.slice(1, 5));
  const orderPath = `${PLANE}/payment-orders/${order.orderId}`;
  const named = { paymentOrderVersionId: order.versionId };
  say(
    `\n5. The audit approves the order, except roof ${fourth!.platformStationId}: its meter was read wrongly.`,
  );
  await world.admin.post(`${orderPath}/audit-results`, {
    ...named,
    eventId: `demo-${order.versionId}-audit`,
    result: 'APPROVED',
    unqualifiedBills: [{ orderBillId: fourth!.orderBillId, reason: 'meter read wrongly' }],
  });
  say(
    `   The bank has paid ${grouped(first!.amount)} and ${grouped(second!.amount)} CNY; ${grouped(third!.amount)} CNY came back: the account is closed.`,
  );
  const paidTime = new Date().toISOString();
  const paid = [first!, second!].map(({ orderBillId, amount }) => ({
    ...{ eventId: `demo-${order.versionId}-${orderBillId}`, outcome: 'PAID', orderBillId, amount, paidTime },
  }));
  const { orderBillId } = third!;
  const back = { eventId: `demo-${order.versionId}-${orderBillId}`, outcome: 'FAILED', orderBillId };
  await world.admin.post(`${orderPath}/payment-results`, { ...named, results: [...paid, back] });
  const end = await waitFor(
    'the settled bills to be let go',
    () => listBills(world.admin, order),
    (all) => all.every(({ lockStatus }) => lockStatus === 'RELEASED'),
  );
  const statuses = ['PAYABLE', 'PAID', 'PAID', 'PAYABLE', 'UNQUALIFIED', 'PAYABLE'];
  await waitForStatuses(world.admin, partnerOrgId, bills, statuses);
  for (const bill of end)
    say(
      `   roof ${bill.platformStationId}: let go, ${REASON_WORDS[bill.releaseReason ?? '']} (${bill.releaseReason})`,
    );
  say('   Both bills that were paid read PAID now; the one that came back can be chosen again.');
  return { locks: locksText(end) };
}

async function orderBillsOf({ world }: Scene, order: Submitted, bills: readonly SceneBill[]) {
  const own = new Map((await listBills(world.admin, order)).map((bill) => [bill.partnerBillId, bill]));
  return bills.map((bill) => own.get(bill.partnerBillId)!);
}
