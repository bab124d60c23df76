/** Giving up a submit, and voiding an order (PAY-7, DEC-13): the state first, then the release. */
import { expect } from 'chai';
import { listAudit } from '../support/control-plane.ts';
import {
  ask,
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  openSession,
  type PaidRoofs,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

describe('payment: cancelling and voiding', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    roofs = await makePaidRoofs(world);
  });

  const step = async (times: number) => {
    for (let taken = 0; taken < times; taken++) await world.step('payment-submit', roofs.partnerOrgId);
  };
  const cancel = (submit: Pick<OpenSubmit, 'sessionId'>) =>
    world.plane.ask('POST', `/payment-sessions/${submit.sessionId}/cancel`, { reason: 'not this month' });
  const voiding = (submit: OpenSubmit) =>
    world.plane.ask('POST', `/payment-orders/${submit.orderId}/void`, { reason: 'wrong account' });
  const published = async () => {
    const submit = await submitAll(world, roofs);
    await world.settle(roofs.partnerOrgId);
    return submit;
  };

  describe('cancelled', () => {
    it('PAY-7 before anything was submitted, a session just ends', async () => {
      const session = await openSession(world, roofs);
      const { status, body } = await cancel({ sessionId: session.id });
      expect([status, body.status]).to.deep.equal([200, 'CANCELLED']);
      expect((await cancel({ sessionId: session.id })).body.code).to.equal('SESSION_ENDED');
    });

    for (const [title, steps, locked] of [
      ['before the first batch', 0, 0],
      ['between two batches', 1, 1],
      ['after the last batch', 2, 2],
      ['when it is built', 3, 2],
    ] as const)
      it(`PAY-7 ${title}: the version is CANCELLED, its locks are released, nothing is published`, async () => {
        const submit = await submitAll(world, roofs, { batchSize: 1 });
        await step(steps);
        expect((await cancel(submit)).status).to.equal(200);
        expect(await stateOf(world.store, submit)).to.deep.include({
          session: 'CANCELLED',
          version: 'CANCELLED',
          locks: locked === 0 ? {} : { RESERVED: locked },
          releases: { SUBMIT_CANCEL: 0 },
        });
        await world.settle(roofs.partnerOrgId);
        const { version, locks, releases, published: pointer } = await stateOf(world.store, submit);
        expect([version, pointer, releases]).to.deep.equal(['CANCELLED', null, { SUBMIT_CANCEL: 2 }]);
        expect(locks).to.deep.equal(locked === 0 ? {} : { RELEASED: locked });
        expect(
          (await locksOf(world.store, submit.orderId)).every(
            (lock) => lock.releaseReason === 'SUBMIT_CANCEL',
          ),
        ).to.equal(true);
        // The bills are free again.
        const next = await submitAll(world, roofs);
        await world.settle(roofs.partnerOrgId);
        expect((await stateOf(world.store, next)).version).to.equal('PUBLISHED');
      });

    it('PAY-4 PAY-7 a published one is not cancelled any more', async () => {
      const submit = await submitAll(world, roofs);
      await step(3);
      expect((await stateOf(world.store, submit)).session).to.equal('PUBLISHED_LOCK_SYNCING');
      expect((await cancel(submit)).body.code).to.equal('ALREADY_PUBLISHED');
      await world.settle(roofs.partnerOrgId);
      expect((await cancel(submit)).body.code).to.equal('ALREADY_PUBLISHED');
      expect(await stateOf(world.store, submit)).to.deep.include({ locks: { ACTIVE: 2 }, releases: {} });
    });

    it('PAY-7 a failed one can be given up; its own release goes on', async () => {
      const submit = await submitAll(world, roofs);
      await world.store.change(
        "UPDATE fi_customer_bill_partner SET partner_query_status = 'UNQUALIFIED' WHERE partner_org_id = ?",
        [roofs.partnerOrgId],
      );
      await step(2);
      expect((await stateOf(world.store, submit)).session).to.equal('SUBMIT_FAILED');
      expect((await cancel(submit)).status).to.equal(200);
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        session: 'CANCELLED',
        version: 'BUILD_FAILED',
        releases: { BUILD_FAILED: 2 },
      });
    });

    it('PAY-7 a REVISE that is cancelled leaves the published version as it was', async () => {
      const first = await submitAll(world, roofs, {
        session: { creatorUserId: 'lin' },
        selection: { partnerBillIds: [roofs.bills[0]!.partnerBillId] },
      });
      await world.settle(roofs.partnerOrgId);
      const submit = await submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: first.orderId, creatorUserId: 'lin' },
      });
      await step(1);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 1, RESERVED: 1 });
      await cancel(submit);
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'CANCELLED',
        published: '1',
        locks: { ACTIVE: 1, RELEASED: 1 },
      });
    });
  });

  describe('voided', () => {
    it('PAY-7 all locks of the order go, with ORDER_VOID; who and why is kept', async () => {
      const submit = await published();
      const { status, body } = await voiding(submit);
      expect([status, body.orderStatus]).to.deep.equal([200, 'VOID']);
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        locks: { RELEASED: 2 },
        releases: { ORDER_VOID: 2 },
      });
      const audit = (await listAudit(world.store)).find((one) => one.action === 'PAYMENT_ORDER_VOID');
      expect(audit).to.include({ target: submit.orderId, reason: 'wrong account' });
      expect((await voiding(submit)).body.code).to.equal('ORDER_NOT_OPEN');
    });

    it('DEC-13 not with any payment, reversed or not', async () => {
      const submit = await published();
      const [lock] = await locksOf(world.store, submit.orderId);
      const results = `/payment-orders/${submit.orderId}/payment-results`;
      const common = { paymentOrderVersionId: submit.versionId };
      const paidTime = '2026-02-01T08:00:00Z';
      const paid = {
        eventId: `void-${submit.orderId}`,
        outcome: 'PAID',
        orderBillId: lock!.orderBillId,
        amount: '1.00',
        paidTime,
      };
      await ask(world, results, { ...common, results: [paid] });
      expect((await voiding(submit)).body.code).to.equal('ORDER_PAID');
      const back = {
        eventId: `back-${submit.orderId}`,
        outcome: 'REVERSED',
        reversedEventId: paid.eventId,
        paidTime,
      };
      await ask(world, results, { ...common, results: [back] });
      expect((await voiding(submit)).body.code).to.equal('ORDER_PAID');
    });

    it('DEC-26 a failed payment is none', async () => {
      const submit = await published();
      const [lock] = await locksOf(world.store, submit.orderId);
      await ask(world, `/payment-orders/${submit.orderId}/payment-results`, {
        paymentOrderVersionId: submit.versionId,
        results: [{ eventId: `fail-${submit.orderId}`, outcome: 'FAILED', orderBillId: lock!.orderBillId }],
      });
      expect((await voiding(submit)).status).to.equal(200);
    });

    it('PAY-7 not while a submit of it is under way or its locks are being activated', async () => {
      const submit = await submitAll(world, roofs);
      expect((await voiding(submit)).body.code).to.equal('SUBMIT_UNDER_WAY');
      await step(3);
      expect((await voiding(submit)).body.code).to.equal('SUBMIT_UNDER_WAY');
      await world.settle(roofs.partnerOrgId);
      expect((await voiding(submit)).status).to.equal(200);
    });

    it('PAY-7 a voided order takes no results, no REVISE, no other creator', async () => {
      const submit = await published();
      const [lock] = await locksOf(world.store, submit.orderId);
      await voiding(submit);
      const common = { paymentOrderVersionId: submit.versionId };
      const asked: readonly [string, object][] = [
        [
          `/payment-orders/${submit.orderId}/audit-results`,
          { ...common, eventId: `a-${submit.orderId}`, result: 'APPROVED' },
        ],
        [
          `/payment-orders/${submit.orderId}/payment-results`,
          {
            ...common,
            results: [{ eventId: `p-${submit.orderId}`, outcome: 'FAILED', orderBillId: lock!.orderBillId }],
          },
        ],
        [`/payment-orders/${submit.orderId}/creator`, { creatorUserId: 'wang' }],
        [
          '/payment-sessions',
          {
            mode: 'REVISE',
            partnerOrgId: roofs.partnerOrgId,
            months: roofs.months,
            paymentOrderId: submit.orderId,
          },
        ],
      ];
      for (const [path, body] of asked)
        expect((await world.plane.ask('POST', path, body)).body.code, path).to.equal('ORDER_NOT_OPEN');
    });

    it('PAY-7 an order that is not there is not found', async () => {
      for (const [path, body] of [
        ['void', { reason: 'x' }],
        ['creator', { creatorUserId: 'x' }],
      ] as const)
        expect((await world.plane.ask('POST', `/payment-orders/999999/${path}`, body)).status).to.equal(404);
    });
  });
});
