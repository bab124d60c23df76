/** Looking at sessions and orders, page by page (PAY-1, PAY-6). */
import { expect } from 'chai';
import {
  makePaidRoofs,
  openPayments,
  openSession,
  type PaidRoofs,
  type Payments,
  submitAll,
} from '../support/payments.ts';

describe('payment: lists', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
    roofs = await makePaidRoofs(world);
  });
  after(() => world.close());

  const get = (path: string) => world.plane.ask('GET', path);
  const idsOf = (body: { items: { id: string }[] }) => body.items.map((item) => item.id);

  it('PAY-1 sessions by partner and status, newest first, a page at a time', async () => {
    const first = await openSession(world, roofs);
    const second = await openSession(world, roofs);
    await world.plane.ask('POST', `/payment-sessions/${first.id}/cancel`);
    const path = `/payment-sessions?partnerOrgId=${roofs.partnerOrgId}`;
    expect(idsOf((await get(path)).body)).to.deep.equal([second.id, first.id]);
    expect(idsOf((await get(`${path}&status=CANCELLED`)).body)).to.deep.equal([first.id]);
    const page = await get(`${path}&limit=1`);
    expect(idsOf(page.body)).to.deep.equal([second.id]);
    expect(idsOf((await get(`${path}&limit=1&cursor=${page.body.nextCursor}`)).body)).to.deep.equal([
      first.id,
    ]);
  });

  it('PAY-6 orders with their versions; a failed version says why', async () => {
    const submit = await submitAll(world, roofs);
    await world.store.change('UPDATE fi_customer_bill_partner SET del_flag = 1 WHERE partner_org_id = ?', [
      roofs.partnerOrgId,
    ]);
    await world.settle(roofs.partnerOrgId);
    const { body } = await get(`/payment-orders?partnerOrgId=${roofs.partnerOrgId}&status=OPEN`);
    expect(idsOf(body)).to.deep.equal([submit.orderId]);
    const { body: order } = await get(`/payment-orders/${submit.orderId}`);
    expect(order.versions[0]).to.include({
      paymentOrderVersionId: submit.versionId,
      versionBuildStatus: 'BUILD_FAILED',
      failureCode: 'NOTHING_TO_PAY',
      failurePhase: 'BUILD',
    });
    expect((await get(`/payment-orders/${submit.orderId}/bills`)).body.items).to.deep.equal([]);
  });

  it('PAY-6 what is not known is refused or not found, not guessed', async () => {
    expect((await get('/payment-sessions?state=OPEN')).status).to.equal(400);
    expect((await get('/payment-orders?status=PAID')).status).to.equal(400);
    for (const path of ['/payment-orders/999999', '/payment-orders/x', '/payment-sessions/999999'])
      expect((await get(path)).status, path).to.equal(404);
  });
});
