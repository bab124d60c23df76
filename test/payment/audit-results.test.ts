/** Audit results, through HTTP (PAY-6, DEC-14). */
import { expect } from 'chai';
import { listAudit } from '../support/control-plane.ts';
import {
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  type PaidRoofs,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

describe('payment: results of audits', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  let submit: OpenSubmit;
  let orderBills: readonly string[];
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    roofs = await makePaidRoofs(world, { stations: 3 });
    submit = await submitAll(world, roofs);
    await world.settle(roofs.partnerOrgId);
    orderBills = (await locksOf(world.store, submit.orderId)).map((lock) => lock.orderBillId);
  });

  let lastEvent = 0;
  const send = (body: object, eventId = `audit-${++lastEvent}`) =>
    world.plane.ask('POST', `/payment-orders/${submit.orderId}/audit-results`, {
      eventId,
      paymentOrderVersionId: submit.versionId,
      result: 'APPROVED',
      ...body,
    });
  const unqualified = (index: number) => ({ orderBillId: orderBills[index]!, reason: 'wrong roof' });
  const auditStatus = async () =>
    (await world.plane.ask('GET', `/payment-orders/${submit.orderId}`)).body.auditStatus;

  it('DEC-14 an approval without faults releases nothing', async () => {
    expect((await send({})).status).to.equal(200);
    expect(await auditStatus()).to.equal('APPROVED');
    const kept = (await listAudit(world.store)).find((one) => one.action === 'PAYMENT_AUDIT_RESULT');
    expect([kept?.target, kept?.before.auditStatus]).to.deep.equal([submit.orderId, 'PENDING']);
    expect(await stateOf(world.store, submit)).to.deep.include({ locks: { ACTIVE: 3 }, releases: {} });
  });

  it('DEC-14 DEC-15 unqualified bills become so on bill and difference, are released, and no more payable', async () => {
    const { body } = await send({ unqualifiedBills: [unqualified(0)] });
    expect(body.unqualified).to.equal(1);
    const read = () =>
      world.store.one<Record<string, unknown>>(
        `SELECT b.partner_query_status bill, b.unqualified_flag flag, b.unqualified_reason reason,
                b.last_unqualified_time IS NOT NULL timed, d.partner_query_status difference, b.payment_status status,
                b.current_payable payable
           FROM fi_customer_bill_partner b JOIN fi_monthly_income_difference d ON d.partner_bill_id = b.id WHERE b.id = ?`,
        [roofs.bills[0]!.partnerBillId],
      );
    expect(await read()).to.include({
      bill: 'UNQUALIFIED',
      flag: 1,
      reason: 'wrong roof',
      difference: 'UNQUALIFIED',
    });
    await world.settle(roofs.partnerOrgId);
    expect(await read()).to.include({ status: 'UNQUALIFIED', payable: '0.00' });
    expect((await locksOf(world.store, submit.orderId)).map((lock) => lock.releaseReason)).to.deep.equal([
      'REVIEW_APPROVED_UNQUALIFIED',
      null,
      null,
    ]);
  });

  it('DEC-14 LCK-2 the release is audited under the event that asked for it', async () => {
    await send({ unqualifiedBills: [unqualified(0), unqualified(2)] }, 'audit-of-two');
    const audited = await world.store.many<{ eventId: string; detail: Record<string, unknown> }>(
      'SELECT event_id eventId, detail FROM fi_resident_income_payment_async_operation_log WHERE target_id = ?',
      [submit.versionId],
    );
    expect(audited.map((one) => one.eventId)).to.deep.equal([
      `LRA:${audited[0]!.detail.taskCode}:audit-of-two`,
    ]);
    expect(audited[0]!.detail).to.deep.include({
      lockReleaseReason: 'REVIEW_APPROVED_UNQUALIFIED',
      selection: { orderBillCount: 2 },
    });
  });

  it('LCK-3 DEC-14 an operator may ask for the release of what the audit found unqualified, and of no other bill', async () => {
    const release = async (indexes: readonly number[]) =>
      (
        await world.plane.ask('POST', '/lock-releases', {
          paymentOrderVersionId: submit.versionId,
          lockReleaseReason: 'REVIEW_APPROVED_UNQUALIFIED',
          selection: { orderBillIds: indexes.map((index) => orderBills[index]!) },
        })
      ).status;
    expect(await release([0])).to.equal(409);
    const { body } = await send({ unqualifiedBills: [unqualified(0), unqualified(1)] });
    expect(body.unqualifiedOrderBillIds).to.have.members([orderBills[0], orderBills[1]]);
    expect(await release([0])).to.equal(202);
    expect(await release([2])).to.equal(409);
    expect(await release([0, 2])).to.equal(409);
  });

  it('DEC-14 a rejection releases nothing and names no bills', async () => {
    const naming = await send({ result: 'REJECTED', unqualifiedBills: [unqualified(0)] });
    expect([naming.status, naming.body.code]).to.deep.equal([422, 'REJECTION_NAMES_BILLS']);
    expect((await send({ result: 'REJECTED' })).status).to.equal(200);
    expect(await auditStatus()).to.equal('REJECTED');
    expect(await stateOf(world.store, submit)).to.deep.include({ locks: { ACTIVE: 3 }, releases: {} });
  });

  it('PAY-6 a repeat gets its first answer; another content under its id, or a second result, is refused', async () => {
    const first = await send({ unqualifiedBills: [unqualified(0)] }, 'audit-again');
    await world.settle(roofs.partnerOrgId);
    expect((await send({ unqualifiedBills: [unqualified(0)] }, 'audit-again')).body).to.deep.equal(
      first.body,
    );
    expect((await send({}, 'audit-again')).body.code).to.equal('EVENT_CONFLICT');
    expect((await send({ result: 'REJECTED' })).body.code).to.equal('NO_OPEN_AUDIT');
  });

  it('DEC-14 a rejected order is revised, and audited again', async () => {
    await send({ result: 'REJECTED' });
    const again = await submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: submit.orderId },
    });
    await world.settle(roofs.partnerOrgId);
    expect(await auditStatus()).to.equal('PENDING');
    expect((await send({})).body.code, 'the earlier version is not the one in force').to.equal(
      'OTHER_VERSION',
    );
    expect((await send({ paymentOrderVersionId: again.versionId })).status).to.equal(200);
  });

  it('DEC-26 a bill without a live lock of the version is refused, and nothing taken', async () => {
    const { status, body } = await send({
      unqualifiedBills: [unqualified(0), { orderBillId: '999999', reason: 'x' }],
    });
    expect([status, body.code]).to.deep.equal([409, 'BILL_NOT_LOCKED']);
    expect(await auditStatus()).to.equal('PENDING');
  });
});
