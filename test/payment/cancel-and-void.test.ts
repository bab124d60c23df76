/** Giving up a submit, and voiding an order (PAY-7, DEC-13): the state first, then the release. */
import { expect } from 'chai';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { listAudit } from '../support/control-plane.ts';
import { eventually, holdRows, untilWaiting } from '../support/engine.ts';
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
      const kept = (await listAudit(world.store)).filter((one) => one.action === 'PAYMENT_SESSION_CANCEL');
      expect(kept.at(-1), 'who and why is kept').to.deep.include({
        target: session.id,
        before: { status: 'SELECTING' },
        after: { status: 'CANCELLED' },
        reason: 'not this month',
      });
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
          phases: {
            BUILD: steps === 3 ? 'DONE' : 'CANCELLED',
            PUBLISH: 'CANCELLED',
            LOCK_ACTIVATE: 'CANCELLED',
            AUDIT_PLAN: 'CANCELLED',
            LOCK_RELEASE: 'INIT',
          },
        });
        await world.settle(roofs.partnerOrgId);
        const { version, locks, releases, phases, published: pointer } = await stateOf(world.store, submit);
        expect(phases.LOCK_RELEASE).to.equal('DONE');
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

    describe('with locks that another version still holds', () => {
      const revise = (first: OpenSubmit, partnerBillId: string) =>
        submitAll(world, roofs, {
          session: { mode: 'REVISE', paymentOrderId: first.orderId },
          selection: { partnerBillIds: [partnerBillId] },
        });
      /** As an operator does it; whatever the task was to release stays locked. */
      const giveUp = (code: string) => ask(world, `/tasks/${code}/cancel`, { reason: 'by mistake' });
      const giveUpRelease = async (submit: OpenSubmit) => {
        const { code } = await world.store.one<{ code: string }>(
          "SELECT task_code code FROM fi_async_task WHERE business_key LIKE CONCAT('LOCK_RELEASE:', ?, ':%')",
          [submit.versionId],
        );
        await giveUp(code);
      };
      /** Version 1 still holds what version 2 has removed. */
      const makeRevised = async () => {
        const first = await published();
        const second = await revise(first, roofs.bills[1]!.partnerBillId);
        await world.turn('payment-submit', roofs.partnerOrgId);
        await giveUpRelease(first);
        expect((await stateOf(world.store, second)).session).to.equal('PUBLISHED');
        return { first, second };
      };

      it('PAY-7 what a revision removed, and its release left behind, goes too', async () => {
        const { first, second } = await makeRevised();
        expect((await locksOf(world.store, first.orderId)).map((lock) => lock.versionId)).to.deep.equal([
          first.versionId,
          second.versionId,
        ]);
        expect((await voiding(first)).status).to.equal(200);
        await world.settle(roofs.partnerOrgId);
        expect(await stateOf(world.store, first)).to.deep.include({
          locks: { RELEASED: 2 },
          releases: { REVISE_REMOVED: 4, ORDER_VOID: 2 },
        });
        expect((await stateOf(world.store, second)).releases).to.deep.equal({ ORDER_VOID: 2 });
      });

      it('PAY-7 what a submit that failed had reserved goes too, and who holds nothing is not asked for', async () => {
        const first = await submitAll(world, roofs, {
          selection: { partnerBillIds: [roofs.bills[0]!.partnerBillId] },
        });
        await world.settle(roofs.partnerOrgId);
        const empty = await revise(first, roofs.bills[1]!.partnerBillId);
        await ask(world, `/payment-sessions/${empty.sessionId}/cancel`);
        await world.settle(roofs.partnerOrgId);
        const failed = await revise(first, roofs.bills[1]!.partnerBillId);
        await step(1);
        await giveUp(`RIPPS:${failed.versionId}:BUILD`);
        await giveUpRelease(failed);
        expect(await stateOf(world.store, failed)).to.deep.include({
          version: 'BUILD_FAILED',
          locks: { ACTIVE: 1, RESERVED: 1 },
          releases: { BUILD_FAILED: 4 },
        });
        expect((await voiding(first)).status).to.equal(200);
        await world.settle(roofs.partnerOrgId);
        expect(await stateOf(world.store, failed)).to.deep.include({
          locks: { RELEASED: 2 },
          releases: { BUILD_FAILED: 4, ORDER_VOID: 2 },
        });
        expect((await stateOf(world.store, empty)).releases).to.deep.equal({ SUBMIT_CANCEL: 2 });
      });

      it('PAY-7 an order that was never published, too', async () => {
        const submit = await submitAll(world, roofs);
        await step(1);
        await giveUp(`RIPPS:${submit.versionId}:BUILD`);
        await giveUpRelease(submit);
        expect((await voiding(submit)).status).to.equal(200);
        await world.settle(roofs.partnerOrgId);
        expect(await stateOf(world.store, submit)).to.deep.include({
          published: null,
          locks: { RELEASED: 2 },
          releases: { BUILD_FAILED: 4, ORDER_VOID: 2 },
        });
      });

      it('ENG-17 PAY-7 locks the versions ascending, then the order', async () => {
        const { first, second } = await makeRevised();
        const VERSION = 'SELECT id FROM fi_resident_income_payment_order_version WHERE id = ? FOR UPDATE';
        const ORDER = 'SELECT id FROM fi_resident_income_payment_order WHERE id = ? FOR UPDATE';
        const isFree = async (statement: string, id: string) =>
          world.store
            .transaction(NEW_READ_COMMITTED, (tx) => tx.many(`${statement} NOWAIT`, [id]))
            .then(
              () => true,
              () => false,
            );
        const free = async () => [
          await isFree(VERSION, first.versionId),
          await isFree(VERSION, second.versionId),
          await isFree(ORDER, first.orderId),
        ];
        const holdsFirst = await holdRows(world.store, VERSION, [first.versionId]);
        const holdsSecond = await holdRows(world.store, VERSION, [second.versionId]);
        const voided = voiding(first);
        await untilWaiting(world.store);
        await holdsSecond.release();
        expect(await free(), 'it waits for the first').to.deep.equal([false, true, true]);
        const holdsAgain = await holdRows(world.store, VERSION, [second.versionId]);
        await holdsFirst.release();
        await eventually('it has the first', async () => !(await isFree(VERSION, first.versionId)));
        await untilWaiting(world.store);
        expect(await free(), 'it waits for the second').to.deep.equal([false, false, true]);
        const holdsOrder = await holdRows(world.store, ORDER, [first.orderId]);
        await holdsAgain.release();
        await eventually('it has the second', async () => !(await isFree(VERSION, second.versionId)));
        await holdsOrder.release();
        expect((await voided).status).to.equal(200);
      });

      for (const [title, cancelled, refusal] of [
        ['begins', false, [409, 'SUBMIT_UNDER_WAY']],
        ['begins and ends', true, [503, 'BUSY']],
      ] as const)
        it(`PAY-7 a submit that ${title} meanwhile is not passed over`, async () => {
          const submit = await published();
          const session = await openSession(world, roofs, { mode: 'REVISE', paymentOrderId: submit.orderId });
          await ask(world, `/payment-sessions/${session.id}/bills`, {
            partnerBillIds: [roofs.bills[1]!.partnerBillId],
          });
          const held = await holdRows(
            world.store,
            'SELECT id FROM fi_resident_income_payment_order_version WHERE id = ? FOR UPDATE',
            [submit.versionId],
          );
          const voided = voiding(submit);
          await untilWaiting(world.store);
          await ask(world, `/payment-sessions/${session.id}/submit`);
          if (cancelled) await ask(world, `/payment-sessions/${session.id}/cancel`);
          await held.release();
          const { status, body } = await voided;
          expect([status, body.code]).to.deep.equal(refusal);
          if (cancelled) expect((await voiding(submit)).status).to.equal(200);
        });
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
