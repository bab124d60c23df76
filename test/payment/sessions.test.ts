/** Opening sessions and choosing bills, through HTTP (PAY-1, DEC-11). */
import { expect } from 'chai';
import { listAudit } from '../support/control-plane.ts';
import { makeBillLock } from '../support/factory.ts';
import {
  ask,
  FEBRUARY,
  JANUARY,
  makePaidRoofs,
  openPayments,
  openSession,
  type PaidRoofs,
  type Payments,
  submitAll,
  verify,
} from '../support/payments.ts';

describe('payment: sessions and their bills', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
    roofs = await makePaidRoofs(world, { stations: 3, months: [JANUARY, FEBRUARY] });
    await world.store.change('DELETE FROM operation_audit');
  });
  after(() => world.close());
  afterEach(async () => {
    await world.store.change('DELETE FROM fi_resident_income_payment_bill_lock');
    await world.store.change('DELETE FROM operation_audit');
  });

  const open = (body: object = {}) => openSession(world, roofs, body);
  const select = (id: string, body: object = {}) =>
    world.plane.ask('POST', `/payment-sessions/${id}/bills`, body);

  describe('opened', () => {
    it('PAY-1 for one partner, by whoever is named; and kept in the audit', async () => {
      const session = await open({ creatorUserId: 'lin' });
      expect(session).to.include({
        mode: 'NEW',
        status: 'SELECTING',
        creatorUserId: 'lin',
        paymentOrderId: null,
      });
      const [audit] = await listAudit(world.store);
      expect(audit).to.include({ action: 'PAYMENT_SESSION_OPEN', target: session.id });
      const { body } = await world.plane.ask('GET', `/payment-sessions/${session.id}`);
      expect(body.months).to.deep.equal([JANUARY, FEBRUARY]);
    });

    const refusals: readonly [string, () => object, number, string][] = [
      ['an unknown partner', () => ({ partnerOrgId: '999999999' }), 404, 'NO_SUCH_PARTNER'],
      ['no months', () => ({ months: [] }), 400, 'MALFORMED_BODY'],
      ['what is no month', () => ({ months: ['2026-13'] }), 400, 'MALFORMED_BODY'],
      ['an unknown field', () => ({ month: JANUARY }), 400, 'MALFORMED_BODY'],
      ['a REVISE of nothing', () => ({ mode: 'REVISE' }), 422, 'NO_ORDER_NAMED'],
      ['a NEW that names an order', () => ({ mode: 'NEW', paymentOrderId: '1' }), 422, 'NEW_NAMES_AN_ORDER'],
      [
        'a REVISE of an order that is not there',
        () => ({ mode: 'REVISE', paymentOrderId: '999999' }),
        404,
        'NO_SUCH_ORDER',
      ],
    ];
    for (const [title, change, status, code] of refusals)
      it(`PAY-1 refused for ${title}`, async () => {
        const body = { partnerOrgId: roofs.partnerOrgId, months: roofs.months, ...change() };
        const answer = await world.plane.ask('POST', '/payment-sessions', body);
        expect([answer.status, answer.body.code]).to.deep.equal([status, code]);
      });

    it('PAY-1 an order is revised by its creator, once published, by one session at a time', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const first = await submitAll(world, paid, { session: { creatorUserId: 'lin' } });
      const revise = (creatorUserId: string) =>
        world.plane.ask('POST', '/payment-sessions', {
          mode: 'REVISE',
          partnerOrgId: paid.partnerOrgId,
          months: paid.months,
          paymentOrderId: first.orderId,
          creatorUserId,
        });
      expect((await revise('lin')).body.code).to.equal('ORDER_NOT_PUBLISHED');
      await world.settle(paid.partnerOrgId);
      expect((await revise('wang')).body.code).to.equal('NOT_THE_CREATOR');
      expect((await revise('lin')).status).to.equal(201);
      const second = await revise('lin');
      expect([second.status, second.body.code]).to.deep.equal([409, 'REVISE_LIVE']);
    });

    it('PAY-1 an order of another partner cannot be revised', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const { orderId } = await submitAll(world, paid);
      await world.settle(paid.partnerOrgId);
      const wish = { mode: 'REVISE', partnerOrgId: roofs.partnerOrgId, months: roofs.months };
      const { status, body } = await world.plane.ask('POST', '/payment-sessions', {
        ...wish,
        paymentOrderId: orderId,
      });
      expect([status, body.code]).to.deep.equal([404, 'NO_SUCH_ORDER']);
    });

    it('PAY-1 a published REVISE makes room for another', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const { orderId } = await submitAll(world, paid);
      await world.settle(paid.partnerOrgId);
      const session = { mode: 'REVISE', paymentOrderId: orderId };
      const first = await submitAll(world, paid, { session });
      await world.settle(paid.partnerOrgId);
      const next = await openSession(world, paid, session);
      expect([next.status, next.id !== first.sessionId]).to.deep.equal(['SELECTING', true]);
    });

    it('PAY-1 a cancelled REVISE makes room for another', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const { orderId } = await submitAll(world, paid, { session: { creatorUserId: 'lin' } });
      await world.settle(paid.partnerOrgId);
      const wish = {
        mode: 'REVISE',
        partnerOrgId: paid.partnerOrgId,
        months: paid.months,
        paymentOrderId: orderId,
        creatorUserId: 'lin',
      };
      const first = await ask(world, '/payment-sessions', wish);
      await ask(world, `/payment-sessions/${first.id}/cancel`);
      expect((await ask(world, '/payment-sessions', wish)).status).to.equal('SELECTING');
    });
  });

  describe('bills', () => {
    it('DEC-11 a filter takes all that is selectable of its months', async () => {
      const session = await open();
      const all = await select(session.id);
      expect(all.body.selection).to.deep.equal({ chosen: 6, named: 0, dropped: [] });
      const january = await select(session.id, { months: [JANUARY] });
      expect(january.body.selection.chosen).to.equal(3);
    });

    it('DEC-11 names replace a filter', async () => {
      const session = await open();
      await select(session.id);
      const { body } = await select(session.id, {
        partnerBillIds: [roofs.bills[0]!.partnerBillId, roofs.bills[3]!.partnerBillId],
      });
      expect(body.selection).to.deep.equal({ chosen: 2, named: 2, dropped: [] });
    });

    it('DEC-11 months that the session is not about are refused', async () => {
      const session = await open({ months: [JANUARY] });
      const { status, body } = await select(session.id, { months: [FEBRUARY] });
      expect([status, body.code]).to.deep.equal([422, 'OTHER_MONTHS']);
    });

    it('DEC-11 DEC-12 what has a live lock of another order is left out, or refused by name with its owner', async () => {
      const { platformStationId, partnerBillId } = roofs.bills[0]!;
      await makeBillLock(world.store, { platformStationId, month: JANUARY }, { payment_order_id: '4711' });
      const session = await open();
      expect((await select(session.id)).body.selection.chosen).to.equal(5);
      const { status, body } = await select(session.id, { partnerBillIds: [partnerBillId] });
      expect([status, body.code]).to.deep.equal([422, 'BILLS_NOT_SELECTABLE']);
      expect(body.faults).to.deep.equal([{ partnerBillId, reason: 'LOCKED_BY_ORDER:4711' }]);
      const { body: after } = await world.plane.ask('GET', `/payment-sessions/${session.id}`);
      expect(after.selection.chosen, 'a refused choice leaves the one before').to.equal(5);
    });

    it('DEC-11 unverified, unqualified, failed and unknown bills are not selectable', async () => {
      const paid = await makePaidRoofs(world, { stations: 4, verified: false });
      await verify(world, paid.bills.slice(1, 2), 'UNQUALIFIED');
      await verify(world, paid.bills.slice(2));
      const session = await openSession(world, paid);
      await world.store.change(
        `UPDATE fi_resident_income_payment_bill_dimension_snapshot SET pre_rent_check_result = 'FAIL'
          WHERE partner_bill_id = ?`,
        [paid.bills[2]!.partnerBillId],
      );
      expect((await select(session.id)).body.selection.chosen).to.equal(1);
      const ids = [...paid.bills.map((bill) => bill.partnerBillId), roofs.bills[0]!.partnerBillId];
      const { body } = await select(session.id, { partnerBillIds: ids });
      expect(body.faults.map((fault: { reason: string }) => fault.reason)).to.deep.equal([
        'NOT_VERIFIED',
        'UNQUALIFIED',
        'PRE_RENT_FAILED',
        'NO_SNAPSHOT',
      ]);
    });

    /** One bill's row of the read model is otherwise than the five others: what a filter and what a name makes of it. */
    const rows: readonly [string, string, string | null][] = [
      ['paid in part', "payment_status = 'PARTIALLY_PAID'", null],
      ['paid', "payment_status = 'PAID'", 'PAID'],
      ['settled', "payment_status = 'SETTLED'", 'SETTLED'],
      ['not applicable', "payment_status = 'NOT_APPLICABLE'", 'NOT_APPLICABLE'],
      ['not verified, though PAYABLE still', "partner_query_status = 'NOT_VERIFIED'", 'NOT_VERIFIED'],
      ['unqualified, though PAYABLE still', "partner_query_status = 'UNQUALIFIED'", 'UNQUALIFIED'],
      ['without a verdict', 'partner_query_status = NULL', 'NOT_VERIFIED'],
      ['whose pre-rent check failed', "pre_rent_check_result = 'FAIL'", 'PRE_RENT_FAILED'],
      ['whose pre-rent check passed', "pre_rent_check_result = 'PASS'", null],
      ['whose pre-rent was not checked', 'pre_rent_check_result = NULL', null],
      ['without a partner bill', 'partner_bill_id = NULL', 'NO_SNAPSHOT'],
    ];
    for (const [what, change, reason] of rows)
      it(`DEC-11 a bill ${what} ${reason === null ? 'can' : 'cannot'} be chosen, by filter or by name`, async () => {
        const { partnerBillId } = roofs.bills[0]!;
        const SNAPSHOT = 'fi_resident_income_payment_bill_dimension_snapshot';
        const before = await world.store.one<Record<string, string | null>>(
          `SELECT id, payment_status, partner_query_status, pre_rent_check_result, partner_bill_id FROM ${SNAPSHOT} WHERE partner_bill_id = ?`,
          [partnerBillId],
        );
        const session = await open();
        await world.store.changeExactly(
          1,
          'changing a snapshot',
          `UPDATE ${SNAPSHOT} SET ${change} WHERE id = ?`,
          [before.id!],
        );
        try {
          const filtered = await select(session.id);
          expect(filtered.body.selection.chosen).to.equal(reason === null ? 6 : 5);
          const { status, body } = await select(session.id, { partnerBillIds: [partnerBillId] });
          expect([status, body.faults ?? body.selection.chosen]).to.deep.equal(
            reason === null ? [200, 1] : [422, [{ partnerBillId, reason }]],
          );
        } finally {
          await world.store.change(
            `UPDATE ${SNAPSHOT} SET payment_status = ?, partner_query_status = ?, pre_rent_check_result = ?, partner_bill_id = ? WHERE id = ?`,
            [
              before.payment_status!,
              before.partner_query_status!,
              before.pre_rent_check_result!,
              before.partner_bill_id!,
              before.id!,
            ],
          );
        }
      });

    it('DEC-11 a bill that was deleted cannot be named, whatever its snapshot says', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const session = await openSession(world, paid);
      const { partnerBillId } = paid.bills[0]!;
      await world.store.change('UPDATE fi_customer_bill_partner SET del_flag = 1 WHERE id = ?', [
        partnerBillId,
      ]);
      const { body } = await select(session.id, { partnerBillIds: [partnerBillId] });
      expect(body.faults).to.deep.equal([{ partnerBillId, reason: 'NO_SNAPSHOT' }]);
    });

    for (const [lockStatus, chosen] of [
      ['RESERVED', 5],
      ['ACTIVE', 5],
      ['RELEASED', 6],
    ] as const)
      it(`DEC-11 a lock that is ${lockStatus} ${chosen === 6 ? 'is in nobody’s way' : 'keeps its bill from being chosen'}`, async () => {
        const { platformStationId, partnerBillId } = roofs.bills[0]!;
        await makeBillLock(
          world.store,
          { platformStationId, month: JANUARY },
          { payment_order_id: '4711', lock_status: lockStatus },
        );
        const session = await open();
        expect((await select(session.id)).body.selection.chosen).to.equal(chosen);
        const named = await select(session.id, { partnerBillIds: [partnerBillId] });
        expect(named.status).to.equal(chosen === 6 ? 200 : 422);
      });

    it('DEC-11 a REVISE may choose what its published version holds, not what another version of its order does', async () => {
      const paid = await makePaidRoofs(world);
      const { orderId } = await submitAll(world, paid);
      await world.settle(paid.partnerOrgId);
      const session = await openSession(world, paid, { mode: 'REVISE', paymentOrderId: orderId });
      const [own, other] = paid.bills.map((one) => one.partnerBillId) as [string, string];
      await world.store.changeExactly(
        1,
        'relabelling a lock',
        'UPDATE fi_resident_income_payment_bill_lock SET data_version = 2 WHERE partner_bill_id = ?',
        [other],
      );
      expect((await select(session.id)).body.selection.chosen).to.equal(1);
      expect((await select(session.id, { partnerBillIds: [own] })).status).to.equal(200);
      const { body } = await select(session.id, { partnerBillIds: [own, other] });
      expect(body.faults).to.deep.equal([{ partnerBillId: other, reason: `LOCKED_BY_ORDER:${orderId}` }]);
    });

    it('DEC-10 once submitted they are fixed', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const { sessionId } = await submitAll(world, paid);
      const { status, body } = await select(sessionId);
      expect([status, body.code]).to.deep.equal([409, 'SESSION_NOT_OPEN']);
    });
  });

  describe('submitted', () => {
    it('PAY-2 nothing chosen, nothing submitted', async () => {
      const session = await open();
      const { status, body } = await world.plane.ask('POST', `/payment-sessions/${session.id}/submit`);
      expect([status, body.code]).to.deep.equal([409, 'NOTHING_CHOSEN']);
    });

    it('PAY-2 two submits at once: one begins', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const session = await openSession(world, paid);
      await ask(world, `/payment-sessions/${session.id}/bills`);
      const answers = await Promise.all(
        [1, 2, 3].map(() => world.plane.ask('POST', `/payment-sessions/${session.id}/submit`)),
      );
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([202, 409, 409]);
      const { n } = await world.store.one<{ n: string }>(
        'SELECT COUNT(*) n FROM fi_resident_income_payment_order_version WHERE session_id = ?',
        [session.id],
      );
      expect(Number(n)).to.equal(1);
    });

    it('PAY-2 numbers versions by order, attempts by session, and wakes the stage', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const first = await submitAll(world, paid);
      expect(world.wake.kicks.at(-1)).to.equal(`payment-submit/${paid.partnerOrgId}`);
      await world.settle(paid.partnerOrgId);
      const second = await submitAll(world, paid, {
        session: { mode: 'REVISE', paymentOrderId: first.orderId },
      });
      const versions = await world.store.many(
        `SELECT target_data_version number, submit_attempt attempt, session_id sessionId
           FROM fi_resident_income_payment_order_version WHERE payment_order_id = ? ORDER BY id`,
        [first.orderId],
      );
      expect(versions).to.deep.equal([
        { number: '1', attempt: 1, sessionId: first.sessionId },
        { number: '2', attempt: 1, sessionId: second.sessionId },
      ]);
    });

    it('PAY-2 a session that is under way, published or cancelled is not submitted again', async () => {
      const paid = await makePaidRoofs(world, { stations: 1 });
      const again = async (sessionId: string) =>
        (await world.plane.ask('POST', `/payment-sessions/${sessionId}/submit`)).body.code;
      const submit = await submitAll(world, paid);
      expect(await again(submit.sessionId), 'under way').to.equal('SESSION_NOT_OPEN');
      await world.settle(paid.partnerOrgId);
      expect(await again(submit.sessionId), 'published').to.equal('SESSION_NOT_OPEN');
      const given = await openSession(world, paid);
      await ask(world, `/payment-sessions/${given.id}/cancel`);
      expect(await again(given.id), 'cancelled').to.equal('SESSION_NOT_OPEN');
    });

    it('PAY-2 LCK-20 a session that was invalidated takes no bills and no submit', async () => {
      const session = await open();
      await select(session.id);
      await world.store.changeExactly(
        1,
        'invalidating a session',
        "UPDATE selection_session SET invalidated_flag = 1, invalidated_reason = 'INVALID_REVISE_SESSION' WHERE id = ?",
        [session.id],
      );
      const { status, body } = await world.plane.ask('POST', `/payment-sessions/${session.id}/submit`);
      expect([status, body.code]).to.deep.equal([409, 'SESSION_INVALIDATED']);
      expect((await select(session.id)).body.code).to.equal('SESSION_NOT_OPEN');
    });

    it('PAY-1 an unknown session is not found', async () => {
      for (const path of ['bills', 'submit', 'cancel'])
        expect((await world.plane.ask('POST', `/payment-sessions/999999/${path}`)).status, path).to.equal(
          404,
        );
    });
  });
});
