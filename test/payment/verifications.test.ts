/** Verification, through HTTP: verdicts, what follows from them, every refusal (DEC-8, DEC-15, DEC-20, DEC-25). */
import { expect } from 'chai';
import { listAudit } from '../support/control-plane.ts';
import { holdRows, untilWaiting } from '../support/engine.ts';
import {
  JANUARY,
  makePaidRoofs,
  openPayments,
  type PaidRoofs,
  type Payments,
  verify,
} from '../support/payments.ts';
import { acceptPush, bill } from '../support/stages.ts';

describe('payment: verification', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    roofs = await makePaidRoofs(world, { verified: false });
    await world.store.change('DELETE FROM operation_audit');
  });

  const verdictOf = (index: number, change: object = {}) => {
    const { partnerBillId, acceptNo } = roofs.bills[index]!;
    return { partnerBillId, acceptNo, partnerQueryStatus: 'VERIFIED', ...change };
  };
  const send = (...verifications: object[]) => world.plane.ask('POST', '/verifications', { verifications });
  const stored = (index: number) =>
    world.store.one<Record<string, unknown>>(
      `SELECT b.partner_query_status bill, d.partner_query_status difference, d.financial_version version,
              b.unqualified_flag flag, b.unqualified_reason reason,
              b.last_unqualified_time > NOW(3) - INTERVAL 1 HOUR timed, b.reverify_flag reverify, d.payment_status status, d.current_payable payable
         FROM fi_customer_bill_partner b JOIN fi_monthly_income_difference d ON d.partner_bill_id = b.id WHERE b.id = ?`,
      [roofs.bills[index]!.partnerBillId],
    );
  const refused = async (answer: ReturnType<typeof send>, status: number, code: string) => {
    const { status: got, body } = await answer;
    expect([got, body.code]).to.deep.equal([status, code]);
    expect(await listAudit(world.store)).to.deep.equal([]);
  };

  it('DEC-8 ACC-15 bill and difference carry it at once, with one version more; the account stage makes it payable', async () => {
    const before = await stored(0);
    const { status, body } = await send(verdictOf(0));
    expect([status, body.verified, body.taskCodes.length]).to.deep.equal([200, 1, 1]);
    expect(await stored(0)).to.include({
      bill: 'VERIFIED',
      difference: 'VERIFIED',
      version: Number(before.version) + 1,
      reverify: 0,
      status: 'NOT_VERIFIED',
    });
    await world.settle(roofs.partnerOrgId);
    expect(await stored(0)).to.include({ status: 'PAYABLE', payable: '110.00' });
    expect((await stored(1)).status).to.equal('NOT_VERIFIED');
  });

  it('DEC-8 one as a body of its own', async () => {
    expect((await world.plane.ask('POST', '/verifications', verdictOf(0))).body.verified).to.equal(1);
  });

  it('DEC-20 its account task carries no push: no row moves, no pre-rent result changes', async () => {
    const rows = () =>
      world.store.many('SELECT push_id, row_no, place FROM pushed_row_place ORDER BY push_id, row_no');
    const checks = () =>
      world.store.many('SELECT id, pre_rent_check_result r FROM fi_monthly_income_difference ORDER BY id');
    const before = [await rows(), await checks()];
    const { body } = await send(verdictOf(0), verdictOf(1));
    const task = await world.store.one<{ push: string; data: { acceptNo: string } }>(
      'SELECT push_id push, task_data data FROM fi_async_task WHERE task_code = ?',
      body.taskCodes,
    );
    expect([task.push, task.data.acceptNo]).to.deep.equal(['0', '0']);
    await world.settle(roofs.partnerOrgId);
    expect([await rows(), await checks()]).to.deep.equal(before);
    expect((await stored(0)).status).to.equal('PAYABLE');
  });

  it('DEC-15 the same verdict again writes nothing', async () => {
    await send(verdictOf(0));
    const { version } = await stored(0);
    const { body } = await send(verdictOf(0));
    expect(body).to.deep.equal({ verified: 0, unchanged: 1, taskCodes: [] });
    expect((await stored(0)).version).to.equal(version);
  });

  it('DEC-15 UNQUALIFIED for another reason is another verdict', async () => {
    const unqualify = (reason: string) => send(verdictOf(0, { partnerQueryStatus: 'UNQUALIFIED', reason }));
    await unqualify('wrong roof');
    const { version } = await stored(0);
    expect((await unqualify('wrong roof')).body).to.include({ verified: 0, unchanged: 1 });
    expect((await unqualify('wrong month')).body).to.include({ verified: 1, unchanged: 0 });
    expect(await stored(0)).to.include({ reason: 'wrong month', version: Number(version) + 1 });
  });

  it('DEC-8 UNQUALIFIED sets flag, reason and time; VERIFIED, for whatever reason, clears flag and reason', async () => {
    expect(await stored(0)).to.include({ flag: 0, reason: null, timed: null });
    await send(verdictOf(0, { partnerQueryStatus: 'UNQUALIFIED', reason: 'wrong roof' }));
    expect(await stored(0)).to.include({
      bill: 'UNQUALIFIED',
      difference: 'UNQUALIFIED',
      flag: 1,
      reason: 'wrong roof',
      timed: '1',
    });
    await send(verdictOf(0, { reason: 'looked at again' }));
    expect(await stored(0)).to.include({
      bill: 'VERIFIED',
      difference: 'VERIFIED',
      flag: 0,
      reason: null,
      timed: '1',
    });
  });

  it('DEC-8 who, what and why is kept', async () => {
    await send(verdictOf(0, { partnerQueryStatus: 'UNQUALIFIED', reason: 'wrong roof' }));
    const [audit] = await listAudit(world.store);
    expect(audit).to.include({
      action: 'BILL_VERIFICATION',
      target: roofs.bills[0]!.partnerBillId,
      reason: 'wrong roof',
    });
  });

  describe('refused', () => {
    it('DEC-8 a bill that was pushed again since, and with it all others', async () => {
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY, { rent: '90.00' })] },
      ]);
      await world.turn('bill-station', roofs.partnerOrgId);
      await refused(send(verdictOf(0), verdictOf(1)), 409, 'PUSHED_AGAIN');
      expect((await stored(1)).bill).to.equal('NOT_VERIFIED');
    });

    it('DEC-8 a bill that was deleted', async () => {
      await world.store.change('UPDATE fi_customer_bill_partner SET del_flag = 1 WHERE id = ?', [
        roofs.bills[0]!.partnerBillId,
      ]);
      await refused(send(verdictOf(0)), 404, 'NO_SUCH_BILL');
    });

    it('DEC-8 a bill whose difference speaks of an earlier push', async () => {
      const push = await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY)] },
      ]);
      await world.turn('bill-station', roofs.partnerOrgId);
      await refused(send(verdictOf(0, { acceptNo: push.acceptNo })), 409, 'DIFFERENCE_BEHIND');
    });

    it('DEC-25 a mismatch without a reason; with one it stands', async () => {
      await world.store.change(
        "UPDATE fi_monthly_income_difference SET status = 'MISMATCHED' WHERE partner_bill_id = ?",
        [roofs.bills[0]!.partnerBillId],
      );
      await refused(send(verdictOf(0)), 422, 'REASON_NEEDED');
      expect((await send(verdictOf(0, { reason: 'seen on site' }))).status).to.equal(200);
    });

    it('DEC-25 a bill without difference', async () => {
      await world.store.change('DELETE FROM fi_monthly_income_difference WHERE partner_bill_id = ?', [
        roofs.bills[0]!.partnerBillId,
      ]);
      await refused(send(verdictOf(0)), 409, 'NO_DIFFERENCE');
    });

    it('DEC-25 a disabled partner', async () => {
      await world.store.change("UPDATE partner SET payment_flow = 'DISABLED' WHERE partner_org_id = ?", [
        roofs.partnerOrgId,
      ]);
      await refused(send(verdictOf(0)), 409, 'PAYMENT_NOT_ENABLED');
    });

    it('DEC-25 a bill that is not there, or named twice, or no verdict', async () => {
      await refused(send(verdictOf(0, { partnerBillId: '999999' })), 404, 'NO_SUCH_BILL');
      await refused(send(verdictOf(0), verdictOf(0)), 400, 'MALFORMED_BODY');
      await refused(send(verdictOf(0, { partnerQueryStatus: 'NOT_VERIFIED' })), 400, 'MALFORMED_BODY');
    });
  });

  it('ENG-16 DEC-8 a verdict that waited for a station to commit sees the push that it committed', async () => {
    await acceptPush(world.store, roofs.partnerOrgId, [
      { mapping: roofs.mappings[0]!, bills: [bill(JANUARY, { rent: '90.00' })] },
    ]);
    const { platformStationId } = roofs.bills[0]!;
    const another = await world.stages.testStore.openAnother();
    // Someone is at work on the station; the station stage and the verdict queue behind it, in this order.
    const held = await holdRows(
      another,
      'SELECT * FROM station_guard WHERE kind = 2 AND platform_station_id = ? FOR UPDATE',
      [platformStationId],
    );
    const station = world.turn('bill-station', roofs.partnerOrgId);
    await untilWaiting(world.store, 1);
    const verdict = send(verdictOf(0));
    await untilWaiting(world.store, 2);
    await held.release();
    await station;
    expect((await verdict).body.code).to.equal('PUSHED_AGAIN');
    expect((await stored(0)).bill).to.equal('NOT_VERIFIED');
  });

  it('DEC-8 UNQUALIFIED makes a bill payable no more', async () => {
    await verify(world, roofs.bills);
    await verify(world, roofs.bills.slice(0, 1), 'UNQUALIFIED');
    expect(await stored(0)).to.include({ status: 'UNQUALIFIED', payable: '0.00' });
  });
});
