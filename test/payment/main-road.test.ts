/** The main road of a payment submit, through HTTP and the real stages: chosen, built, published, activated, planned. */
import { expect } from 'chai';
import {
  FEBRUARY,
  JANUARY,
  locksOf,
  makePaidRoofs,
  openPayments,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

describe('payment: the main road', () => {
  let world: Payments;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());

  it('PAY-2 PAY-3 PAY-4 PAY-5 a submit reserves, publishes, activates and plans its audit', async () => {
    const roofs = await makePaidRoofs(world, { stations: 3, months: [JANUARY, FEBRUARY] });
    const submit = await submitAll(world, roofs);
    expect(await stateOf(world.store, submit)).to.deep.equal({
      session: 'SUBMITTING',
      version: 'BUILDING',
      failureCode: null,
      published: null,
      phases: {
        BUILD: 'INIT',
        PUBLISH: 'INIT',
        LOCK_ACTIVATE: 'INIT',
        AUDIT_PLAN: 'INIT',
        LOCK_RELEASE: 'INIT',
      },
      locks: {},
      releases: {},
    });
    await world.settle(roofs.partnerOrgId);
    expect(await stateOf(world.store, submit)).to.deep.equal({
      session: 'PUBLISHED',
      version: 'PUBLISHED',
      failureCode: null,
      published: '1',
      phases: {
        BUILD: 'DONE',
        PUBLISH: 'DONE',
        LOCK_ACTIVATE: 'DONE',
        AUDIT_PLAN: 'DONE',
        LOCK_RELEASE: 'INIT',
      },
      locks: { ACTIVE: 6 },
      releases: {},
    });
    const [first] = await locksOf(world.store, submit.orderId);
    expect(first?.lockKey).to.equal(`${roofs.bills[0]?.platformStationId}:${JANUARY}`);
    const { body: order } = await world.plane.ask('GET', `/payment-orders/${submit.orderId}`);
    expect(order).to.include({ auditStatus: 'PENDING', currentPublishVersion: '1', orderStatus: 'OPEN' });
    const { body: bills } = await world.plane.ask('GET', `/payment-orders/${submit.orderId}/bills`);
    expect(bills.items).to.have.length(6);
    for (const bill of bills.items)
      expect(bill).to.include({ amount: '110.00', kept: false, lockStatus: 'ACTIVE', paidAmount: '0.00' });
  });
});
