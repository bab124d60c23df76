/** Payment results, through HTTP: facts, releases, refreshes, repeats, reversals and every refusal (PAY-6, DEC-13, DEC-26). */
import { expect } from 'chai';
import { listAudit } from '../support/control-plane.ts';
import {
  ask,
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  type PaidRoofs,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

const PAID_TIME = '2026-02-01T08:00:00.000Z';

describe('payment: results of payments', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  let submit: OpenSubmit;
  let orderBills: readonly string[];
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  const arrange = async () => {
    roofs = await makePaidRoofs(world, { stations: 3 });
    submit = await submitAll(world, roofs);
    await world.settle(roofs.partnerOrgId);
    orderBills = (await locksOf(world.store, submit.orderId)).map((lock) => lock.orderBillId);
  };

  let lastEvent = 0;
  const event = () => `event-${++lastEvent}`;
  const paid = (index: number, amount: string, eventId = event()) => ({
    eventId,
    outcome: 'PAID',
    orderBillId: orderBills[index]!,
    amount,
    paidTime: PAID_TIME,
  });
  const failed = (index: number, eventId = event()) => ({
    eventId,
    outcome: 'FAILED',
    orderBillId: orderBills[index]!,
  });
  const reversed = (reversedEventId: string, eventId = event()) => ({
    eventId,
    outcome: 'REVERSED',
    reversedEventId,
    paidTime: PAID_TIME,
  });
  const send = (results: readonly object[], versionId = submit.versionId, orderId = submit.orderId) =>
    world.plane.ask('POST', `/payment-orders/${orderId}/payment-results`, {
      paymentOrderVersionId: versionId,
      results,
    });
  const refused = async (answer: ReturnType<typeof send>, status: number, code: string) => {
    const { status: got, body } = await answer;
    expect([got, body.code]).to.deep.equal([status, code]);
  };
  const facts = () =>
    world.store.many<{ eventId: string; amount: string }>(
      'SELECT event_id eventId, amount FROM fi_resident_income_payment_fact WHERE payment_order_id = ? ORDER BY id',
      [submit.orderId],
    );
  /** All of a fact that says what it is about, and when. */
  const wholeFacts = () =>
    world.store.many(
      `SELECT event_id eventId, payment_order_version_id versionId, order_bill_id orderBillId,
              partner_bill_id partnerBillId, amount, reversed_event_id reversedEventId, CAST(paid_time AS CHAR) paidTime
         FROM fi_resident_income_payment_fact WHERE payment_order_id = ? ORDER BY id`,
      [submit.orderId],
    );
  const lockReasons = async () =>
    (await locksOf(world.store, submit.orderId)).map((lock) => lock.releaseReason ?? lock.lockStatus);
  /** On partner bill, platform bill and difference, and the totals of both accounts. */
  const projection = async (index: number) => {
    const { partnerBillId } = roofs.bills[index]!;
    const rows = await world.store.many<{ status: string; paid: string; payable: string }>(
      `SELECT b.payment_status status, b.paid_amount paid, b.current_payable payable FROM fi_customer_bill_partner b WHERE b.id = ?
       UNION ALL SELECT d.payment_status, d.paid_amount, d.current_payable FROM fi_monthly_income_difference d WHERE d.partner_bill_id = ?
       UNION ALL SELECT o.payment_status, o.paid_amount, o.current_payable FROM fi_customer_bill o
         JOIN fi_monthly_income_difference d ON d.platform_bill_id = o.id WHERE d.partner_bill_id = ?
       UNION ALL SELECT 'account', a.total_paid, a.total_payable FROM fi_customer_account_partner a
         JOIN fi_customer_bill_partner b ON b.customer_account_id = a.id WHERE b.id = ?
       UNION ALL SELECT s.payment_status, s.paid_amount, s.current_payable
         FROM fi_resident_income_payment_bill_dimension_snapshot s WHERE s.partner_bill_id = ?`,
      Array(5).fill(partnerBillId),
    );
    return rows.map(({ status, paid: sum, payable }) => `${status} ${sum} ${payable}`);
  };

  /** Published, of another partner, with one bill. */
  const otherOrder = async () => {
    const others = await makePaidRoofs(world, { stations: 1 });
    const other = await submitAll(world, others);
    await world.settle(others.partnerOrgId);
    const [lock] = await locksOf(world.store, other.orderId);
    return { ...other, orderBillId: lock!.orderBillId };
  };

  describe('taken', () => {
    beforeEach(arrange);

    it('DEC-13 in full, in part and failed: facts, one release a reason, one refresh; and what they lead to', async () => {
      const { status, body } = await send([paid(0, '110.00'), paid(1, '30.00'), failed(2)]);
      expect(status).to.equal(200);
      expect(body.results.map((one: { lockReleaseReason: string }) => one.lockReleaseReason)).to.deep.equal([
        'PAYMENT_SUCCESS',
        'PARTIAL_PAYMENT',
        'PAYMENT_FAIL',
      ]);
      expect((await facts()).map((fact) => fact.amount)).to.deep.equal(['110.00', '30.00']);
      const kept = (await listAudit(world.store)).filter((one) => one.action === 'PAYMENT_RESULTS');
      expect(kept.at(-1)?.after.results).to.have.length(3);
      expect((await stateOf(world.store, submit)).releases).to.deep.equal({
        PAYMENT_SUCCESS: 0,
        PARTIAL_PAYMENT: 0,
        PAYMENT_FAIL: 0,
      });
      await world.settle(roofs.partnerOrgId);
      expect(await lockReasons()).to.deep.equal(['PAYMENT_SUCCESS', 'PARTIAL_PAYMENT', 'PAYMENT_FAIL']);
      expect(await projection(0)).to.deep.equal([
        'PAID 110.00 0.00',
        'PAID 110.00 0.00',
        'PAID 110.00 0.00',
        'account 110.00 0.00',
        'PAID 110.00 0.00',
      ]);
      expect(await projection(1)).to.deep.equal([
        'PARTIALLY_PAID 30.00 80.00',
        'PARTIALLY_PAID 30.00 80.00',
        'PARTIALLY_PAID 30.00 80.00',
        'account 30.00 80.00',
        'PARTIALLY_PAID 30.00 80.00',
      ]);
    });

    it('DEC-13 each release names the order bills it is for', async () => {
      await send([paid(0, '110.00'), paid(1, '110.00')]);
      const { taskData } = await world.store.one<{ taskData: { orderBillIds: string[] } }>(
        "SELECT task_data taskData FROM fi_async_task WHERE stage = 'lock-release' AND partner_org_id = ?",
        [roofs.partnerOrgId],
      );
      expect(taskData.orderBillIds).to.deep.equal([orderBills[0], orderBills[1]]);
      await world.settle(roofs.partnerOrgId);
      expect(await lockReasons()).to.deep.equal(['PAYMENT_SUCCESS', 'PAYMENT_SUCCESS', 'ACTIVE']);
    });

    it('DEC-13 the remainder of one paid in part can be selected again, and paid', async () => {
      await send([paid(0, '30.00')]);
      await world.settle(roofs.partnerOrgId);
      const next = await submitAll(world, roofs, {
        selection: { partnerBillIds: [roofs.bills[0]!.partnerBillId] },
      });
      await world.settle(roofs.partnerOrgId);
      const [lock] = await locksOf(world.store, next.orderId);
      const rest = { ...paid(0, '80.00'), orderBillId: lock!.orderBillId };
      expect((await send([rest], next.versionId, next.orderId)).body.results[0]).to.include({
        lockReleaseReason: 'PAYMENT_SUCCESS',
        paidAmount: '80.00',
      });
      await world.settle(roofs.partnerOrgId);
      expect((await projection(0))[0]).to.equal('PAID 110.00 0.00');
    });

    it('DEC-13 only what has a fact is refreshed: a failed payment changes no amount', async () => {
      const refreshed = async () => {
        const { n } = await world.store.one<{ n: string }>(
          "SELECT COUNT(*) n FROM fi_async_task WHERE stage = 'account-shard' AND partner_org_id = ? AND status = 0",
          [roofs.partnerOrgId],
        );
        return Number(n);
      };
      await send([failed(0)]);
      expect(await refreshed()).to.equal(0);
      await send([failed(1), paid(2, '110.00')]);
      expect(await refreshed()).to.equal(1);
    });

    it('DEC-13 LCK-2 each release is audited under the events that asked for it', async () => {
      await send([paid(0, '110.00', 'one'), paid(1, '110.00', 'two'), failed(2, 'three')]);
      const audited = await world.store.many<{ event: string; reason: string }>(
        `SELECT SUBSTRING_INDEX(event_id, ':', -1) event, detail->>'$.lockReleaseReason' reason
           FROM fi_resident_income_payment_async_operation_log WHERE target_id = ? ORDER BY id`,
        [submit.versionId],
      );
      expect(audited).to.deep.equal([
        { event: 'one,two', reason: 'PAYMENT_SUCCESS' },
        { event: 'three', reason: 'PAYMENT_FAIL' },
      ]);
    });

    it('LCK-3 an operator may ask for the release of what results speak of, and of no other bill', async () => {
      const release = async (lockReleaseReason: string, indexes: readonly number[]) =>
        (
          await world.plane.ask('POST', '/lock-releases', {
            paymentOrderVersionId: submit.versionId,
            lockReleaseReason,
            selection: { orderBillIds: indexes.map((index) => orderBills[index]!) },
          })
        ).status;
      await send([failed(0)]);
      await send([failed(1)]);
      expect(await release('PAYMENT_FAIL', [0, 1, 2])).to.equal(409);
      expect(await release('PAYMENT_FAIL', [0, 1])).to.equal(202);
      const payment = paid(2, '110.00');
      await send([payment]);
      expect(await release('PAYMENT_FAIL', [2])).to.equal(409);
      expect(await release('PARTIAL_PAYMENT', [2])).to.equal(409);
      expect(await release('PAYMENT_SUCCESS', [2]), 'the payment asked for it itself').to.equal(200);
      await send([reversed(payment.eventId)]);
      expect(await release('PAYMENT_FAIL', [2]), 'taken back, not failed').to.equal(409);
    });

    it('DEC-20 a refresh that comes from a payment moves no pushed row and leaves the pre-rent result', async () => {
      const places = () =>
        world.store.many(
          'SELECT push_id, row_no, place, reason FROM pushed_row_place ORDER BY push_id, row_no',
        );
      const check = () =>
        world.store.many('SELECT id, pre_rent_check_result FROM fi_monthly_income_difference ORDER BY id');
      const before = [await places(), await check()];
      await send([paid(0, '110.00')]);
      await world.settle(roofs.partnerOrgId);
      expect([await places(), await check()]).to.deep.equal(before);
    });
  });

  describe('repeats', () => {
    beforeEach(arrange);

    it('DEC-26 a repeated event gets its first answer and does nothing again', async () => {
      const result = paid(0, '30.00');
      const first = await send([result]);
      await world.settle(roofs.partnerOrgId);
      const again = await send([result]);
      expect(again.body).to.deep.equal(first.body);
      expect(await facts()).to.have.length(1);
    });

    it('DEC-17 DEC-26 the amount of a repeat may be written otherwise, as text or as a number', async () => {
      const result = paid(0, '30.00');
      const first = await send([result]);
      for (const text of ['"30"', '"030.0"', '30', '30.0', '30.00']) {
        const body = JSON.stringify({
          paymentOrderVersionId: submit.versionId,
          results: [{ ...result, amount: 'HERE' }],
        });
        const path = `/payment-orders/${submit.orderId}/payment-results`;
        const again = await world.plane.ask('POST', path, body.replace('"HERE"', text));
        expect([again.status, again.body], text).to.deep.equal([200, first.body]);
      }
      expect(await facts()).to.have.length(1);
    });

    it('DEC-26 beside new ones only the new ones are taken', async () => {
      const result = paid(0, '30.00');
      const first = await send([result]);
      const both = await send([result, paid(1, '110.00')]);
      expect(both.body.results[0]).to.deep.equal(first.body.results[0]);
      expect((await facts()).map((fact) => fact.amount)).to.deep.equal(['30.00', '110.00']);
    });

    it('DEC-26 the same id with another content is refused', async () => {
      const result = paid(0, '30.00');
      await send([result]);
      await refused(send([{ ...result, amount: '31.00' }]), 409, 'EVENT_CONFLICT');
      await refused(send([{ ...result, orderBillId: orderBills[1] }]), 409, 'EVENT_CONFLICT');
    });

    it('DEC-26 the same id for another order is refused', async () => {
      const result = paid(0, '30.00');
      await send([result]);
      const other = await otherOrder();
      const elsewhere = { ...result, orderBillId: other.orderBillId };
      await refused(send([elsewhere], other.versionId, other.orderId), 409, 'EVENT_CONFLICT');
    });

    it('DEC-26 the same event sent ten times at once is one payment', async () => {
      const result = paid(0, '30.00');
      const answers = await Promise.all(Array.from({ length: 10 }, () => send([result])));
      expect(answers.map((answer) => answer.status)).to.deep.equal(Array(10).fill(200));
      for (const { body } of answers) expect(body).to.deep.equal(answers[0]!.body);
      expect(await facts()).to.have.length(1);
    });

    it('DEC-13 ten payments at once of one bill never exceed it', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => send([paid(0, '30.00')])));
      const taken = answers.filter((answer) => answer.status === 200).length;
      expect(taken).to.equal(3);
      expect(answers.filter((answer) => answer.body.code === 'MORE_THAN_THE_BILL')).to.have.length(7);
    });
  });

  describe('reversals', () => {
    beforeEach(arrange);

    it('DEC-13 a reversal is a negative fact, needs no lock, and makes the bill payable again', async () => {
      const payment = paid(0, '110.00');
      await send([payment]);
      await world.settle(roofs.partnerOrgId);
      const { status, body } = await send([reversed(payment.eventId)]);
      expect([status, body.results[0].amount]).to.deep.equal([200, '-110.00']);
      expect((await facts()).map((fact) => fact.amount)).to.deep.equal(['110.00', '-110.00']);
      await world.settle(roofs.partnerOrgId);
      expect((await projection(0))[0]).to.equal('PAYABLE 0.00 110.00');
    });

    it('DEC-26 a reversal needs no version in force: a payment of an earlier one is taken back', async () => {
      const payment = paid(0, '30.00');
      await send([payment]);
      await world.settle(roofs.partnerOrgId);
      const again = await submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: submit.orderId },
      });
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, again)).published).to.equal('2');
      expect((await send([reversed(payment.eventId)])).status).to.equal(200);
      expect((await facts()).map((fact) => fact.amount)).to.deep.equal(['30.00', '-30.00']);
    });

    it('DEC-13 a fact says event, version, bills, amount and time; its reversal the payment’s version and bills, and a time of its own', async () => {
      const payment = { ...paid(0, '30.00'), paidTime: '2026-02-01T23:59:59.123Z' };
      await send([payment]);
      await world.settle(roofs.partnerOrgId);
      const again = await submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: submit.orderId },
      });
      await world.settle(roofs.partnerOrgId);
      const back = { ...reversed(payment.eventId), paidTime: '2026-02-02T00:00:00.000Z' };
      expect((await send([back], again.versionId)).status).to.equal(200);
      const common = {
        versionId: submit.versionId,
        orderBillId: orderBills[0],
        partnerBillId: roofs.bills[0]!.partnerBillId,
      };
      expect(await wholeFacts()).to.deep.equal([
        {
          ...common,
          eventId: payment.eventId,
          amount: '30.00',
          reversedEventId: null,
          paidTime: '2026-02-01 23:59:59.123',
        },
        {
          ...common,
          eventId: back.eventId,
          amount: '-30.00',
          reversedEventId: payment.eventId,
          paidTime: '2026-02-02 00:00:00.000',
        },
      ]);
    });

    it('DEC-13 what was taken back is not paid any more: the same bill can be paid in full', async () => {
      const payment = paid(0, '110.00');
      await send([payment]);
      await send([reversed(payment.eventId)]);
      const { status, body } = await send([paid(0, '110.00')]);
      expect([status, body.results?.[0].paidAmount]).to.deep.equal([200, '110.00']);
      await refused(send([paid(0, '0.01')]), 422, 'MORE_THAN_THE_BILL');
    });

    it('DEC-13 once', async () => {
      const payment = paid(0, '30.00');
      await send([payment]);
      const back = reversed(payment.eventId);
      const first = await send([back]);
      expect((await send([back])).body).to.deep.equal(first.body);
      await refused(send([reversed(payment.eventId)]), 409, 'ALREADY_REVERSED');
    });

    it('DEC-13 of a payment of this order, and not of a reversal', async () => {
      await refused(send([reversed('never-came')]), 409, 'NO_SUCH_PAYMENT');
      const payment = paid(0, '30.00');
      await send([payment]);
      const other = await otherOrder();
      await refused(
        send([reversed(payment.eventId)], other.versionId, other.orderId),
        409,
        'NO_SUCH_PAYMENT',
      );
      const back = reversed(payment.eventId);
      await send([back]);
      await refused(send([reversed(back.eventId)]), 409, 'NO_SUCH_PAYMENT');
    });
  });

  describe('refused, and nothing taken', () => {
    before(arrange);

    afterEach(async () => {
      expect(await facts()).to.deep.equal([]);
    });

    it('DEC-13 more than the bill', () =>
      refused(send([paid(1, '1.00'), paid(0, '110.01')]), 422, 'MORE_THAN_THE_BILL'));
    it('DEC-13 nothing', () => refused(send([paid(0, '0.00')]), 422, 'AMOUNT_NOT_POSITIVE'));
    for (const text of [
      '"1e2"',
      '1e2',
      '" 1"',
      '"+1"',
      '"1."',
      '1.005',
      '0.1000000000000000055',
      '-1.00',
      '1E-2',
      'null',
    ])
      it(`DEC-17 what is no amount as it is written: ${text}`, async () => {
        const body = JSON.stringify({
          paymentOrderVersionId: submit.versionId,
          results: [{ ...paid(0, 'HERE'), amount: 'HERE' }],
        });
        const { status, body: answer } = await world.plane.ask(
          'POST',
          `/payment-orders/${submit.orderId}/payment-results`,
          body.replace('"HERE"', text),
        );
        expect([status, answer.code, answer.faults?.[0].pointer]).to.deep.equal([
          400,
          'MALFORMED_BODY',
          '/results/0/amount',
        ]);
      });
    it('DEC-13 a negative amount', () => refused(send([paid(0, '-1.00')]), 400, 'MALFORMED_BODY'));
    it('DEC-26 an order bill twice', () =>
      refused(send([paid(0, '1.00'), failed(0)]), 422, 'ORDER_BILL_TWICE'));
    it('DEC-26 an event twice', () =>
      refused(send([paid(0, '1.00', 'twice'), paid(1, '1.00', 'twice')]), 400, 'MALFORMED_BODY'));
    it('DEC-26 an order bill of another order', () =>
      refused(send([{ ...paid(0, '1.00'), orderBillId: '999999' }]), 409, 'OTHER_ORDER_BILL'));
    it('DEC-26 an order bill that is another order’s', async () => {
      const { orderBillId } = await otherOrder();
      await refused(send([{ ...paid(0, '1.00'), orderBillId }]), 409, 'OTHER_ORDER_BILL');
    });
    it('DEC-26 a version of another order', () =>
      refused(send([paid(0, '1.00')], '999999'), 409, 'OTHER_VERSION'));
    it('DEC-26 a version that is another order’s', async () => {
      const { versionId } = await otherOrder();
      await refused(send([paid(0, '1.00')], versionId), 409, 'OTHER_VERSION');
    });
    it('PAY-6 an order that is not there', () =>
      refused(send([paid(0, '1.00')], submit.versionId, '999999'), 404, 'NO_SUCH_ORDER'));

    it('DEC-26 a bill that no live lock of the version holds any more', async () => {
      await arrange();
      await send([failed(0)]);
      await world.settle(roofs.partnerOrgId);
      await refused(send([paid(0, '1.00')]), 409, 'BILL_NOT_LOCKED');
    });

    for (const column of ['session_id', 'submit_attempt', 'data_version'])
      it(`DEC-26 LCK-14 a bill whose lock is another submit’s by its ${column}`, async () => {
        await arrange();
        await world.store.change(
          `UPDATE fi_resident_income_payment_bill_lock SET ${column} = ${column} + 7 WHERE order_bill_id = ?`,
          [orderBills[0]!],
        );
        await refused(send([paid(0, '1.00')]), 409, 'BILL_NOT_LOCKED');
      });

    it('DEC-13 the earlier version once a later one is published', async () => {
      await arrange();
      const again = await submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: submit.orderId },
      });
      await world.settle(roofs.partnerOrgId);
      await refused(send([paid(0, '1.00')]), 409, 'OTHER_VERSION');
      await refused(send([paid(0, '1.00')], again.versionId), 409, 'BILL_NOT_LOCKED');
    });

    it('DEC-13 a version that is not published yet', async () => {
      const other = await makePaidRoofs(world, { stations: 1 });
      const open = await submitAll(world, other);
      await world.step('payment-submit', other.partnerOrgId);
      const [lock] = await locksOf(world.store, open.orderId);
      const result = { ...paid(0, '1.00'), orderBillId: lock!.orderBillId };
      await refused(send([result], open.versionId, open.orderId), 409, 'OTHER_VERSION');
    });
  });

  it('PAY-5 DEC-13 a payment between build and publish of a REVISE leaves no lock that was counted twice', async () => {
    await arrange();
    const again = await submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: submit.orderId },
    });
    await world.step('payment-submit', roofs.partnerOrgId);
    await world.step('payment-submit', roofs.partnerOrgId);
    expect((await stateOf(world.store, again)).version).to.equal('BUILT');
    await send([paid(0, '110.00')]);
    // Publishing waits for the release, then finds one bill less than it had built.
    await world.turn('payment-submit', roofs.partnerOrgId);
    expect((await stateOf(world.store, again)).version).to.equal('BUILT');
    await world.turn('lock-release', roofs.partnerOrgId);
    await world.store.change(
      'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND status = 0',
      [roofs.partnerOrgId],
    );
    await world.settle(roofs.partnerOrgId);
    expect(await stateOf(world.store, again)).to.deep.include({
      version: 'BUILD_FAILED',
      failureCode: 'RESERVED_LOCK_INCOMPLETE',
      published: '1',
    });
    expect(await lockReasons()).to.deep.equal(['PAYMENT_SUCCESS', 'ACTIVE', 'ACTIVE']);
  });

  it('PAY-6 what was paid is shown with the order', async () => {
    await arrange();
    await ask(world, `/payment-orders/${submit.orderId}/payment-results`, {
      paymentOrderVersionId: submit.versionId,
      results: [paid(0, '30.00')],
    });
    const { body } = await world.plane.ask('GET', `/payment-orders/${submit.orderId}/bills?limit=1`);
    expect(body.items[0]).to.include({ orderBillId: orderBills[0], paidAmount: '30.00' });
    const { body: next } = await world.plane.ask(
      'GET',
      `/payment-orders/${submit.orderId}/bills?cursor=${body.nextCursor}`,
    );
    expect(next.items.map((item: { orderBillId: string }) => item.orderBillId)).to.deep.equal(
      orderBills.slice(1),
    );
  });
});
