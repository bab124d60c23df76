/** Our own bills, through HTTP: what a request writes at once, what it refuses, and that the same again writes nothing. */
import { expect } from 'chai';
import type { DifferenceMessage, PlatformEntry } from '../../src/domain/difference-message.ts';
import { listAudit } from '../support/control-plane.ts';
import { holdRows, untilWaiting } from '../support/engine.ts';
import {
  makeBillLock,
  makePartner,
  makePlatformAccount,
  makePropStation,
  releaseBillLock,
} from '../support/factory.ts';
import { openPayments, type Payments, submitAll } from '../support/payments.ts';
import { EQUAL, makePlatformWorld, type PlatformWorld } from '../support/platform-bills.ts';
import { acceptPush, bill } from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

const JANUARY = '2026-01';
const FEBRUARY = '2026-02';

describe('control: platform bills', () => {
  let world: Payments;
  let own: PlatformWorld;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    own = await makePlatformWorld(world, 2);
    await world.store.change('DELETE FROM operation_audit');
  });

  const storedBills = () =>
    world.store.many<Record<string, unknown>>(
      `SELECT b.id, b.small_station_id station, b.bill_year_month month, b.rent, b.pre_rent preRent, b.del_flag deleted,
              a.bill_count billCount, a.total_rent totalRent
         FROM fi_customer_bill b JOIN fi_customer_account a ON a.id = b.customer_account_id
        WHERE b.partner_org_id = ? ORDER BY b.small_station_id, b.bill_year_month`,
      [own.partnerOrgId],
    );
  const messages = () =>
    world.store.many<{ code: string; push: string; data: DifferenceMessage<PlatformEntry> }>(
      `SELECT task_code code, push_id push, task_data data FROM fi_async_task
        WHERE partner_org_id = ? AND stage = 'income-diff' AND push_id = 0 ORDER BY id`,
      [own.partnerOrgId],
    );
  const ledger = () =>
    world.store.many<Record<string, unknown>>(
      `SELECT status, platform_rent rent, financial_version version, partner_query_status verdict, payment_status payment,
              current_payable payable, both_sides_ready ready
         FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id, share_month`,
      [own.partnerOrgId],
    );
  /** The partner's own bill of every station, through the whole chain. */
  async function pushed(months: readonly string[] = [JANUARY]): Promise<void> {
    await acceptPush(
      world.store,
      own.partnerOrgId,
      own.stations.map((mapping) => ({ mapping, bills: months.map((month) => bill(month)) })),
    );
    await world.stages.turnsUpTo('bill-snapshot', own.partnerOrgId);
  }
  const verdicts = () =>
    world.store.many<Record<string, unknown>>(
      `SELECT partner_query_status status, unqualified_flag flag, unqualified_reason reason,
              last_unqualified_time time, reverify_flag reverify
         FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY id`,
      [own.partnerOrgId],
    );
  async function judge(partnerQueryStatus: 'VERIFIED' | 'UNQUALIFIED'): Promise<void> {
    const bills = await world.store.many<{ partnerBillId: string; acceptNo: string }>(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [own.partnerOrgId],
    );
    const verifications = bills.map((one) => ({ ...one, partnerQueryStatus, reason: 'seen on site' }));
    const answer = await world.plane.ask('POST', '/verifications', { verifications });
    expect(answer.status, answer.text).to.equal(200);
    await world.settle(own.partnerOrgId);
  }

  describe('what a request writes', () => {
    it('DEC-15 the first bill creates the account, of the station’s number; the next one finds it', async () => {
      const { status, body } = await own.send({ bills: [own.bill(0, JANUARY)] });
      expect([status, body.created, body.changed, body.deleted, body.unchanged]).to.deep.equal([
        200, 1, 0, 0, 0,
      ]);
      await own.send({ bills: [own.bill(0, FEBRUARY)] });
      const accounts = await world.store.many(
        `SELECT small_station_id station, small_station_no no, bill_count bills, total_rent rent, first_bill_month first,
                last_bill_month last FROM fi_customer_account WHERE partner_org_id = ?`,
        [own.partnerOrgId],
      );
      const station = own.stations[0]!.platformStationId;
      expect(accounts).to.deep.equal([
        { station, no: `P${station}`, bills: 2, rent: '240.00', first: JANUARY, last: FEBRUARY },
      ]);
    });

    it('DEC-15 it stays when its bills are deleted, and has them again when they come again', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      const [first] = await storedBills();
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      expect((await storedBills())[0]).to.include({ deleted: 1, billCount: 0, totalRent: '0.00' });
      await world.store.change(
        "UPDATE fi_customer_bill SET payment_status = 'PAYABLE', current_payable = 5 WHERE id = ?",
        [first!.id as string],
      );
      const { body } = await own.send({ bills: [own.bill(0, JANUARY, { rent: '7' })] });
      expect(body.bills).to.deep.equal([{ pointer: '/bills/0', outcome: 'CREATED', billId: first!.id }]);
      expect(await storedBills()).to.deep.equal([
        { ...first, rent: '7.00', preRent: null, billCount: 1, totalRent: '7.00' },
      ]);
      const anew = await world.store.one(
        'SELECT payment_status status, current_payable payable FROM fi_customer_bill WHERE id = ?',
        [first!.id as string],
      );
      expect(anew, 'nothing of the deleted one').to.deep.equal({ status: 'NOT_VERIFIED', payable: '0.00' });
    });

    it('DIF-1 DIF-4 many bills and deletions at once: a message for each entry, which names them and what asked for it', async () => {
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      const traceId = 'a'.repeat(32);
      const before = (await messages()).length;
      const answer = await world.plane.ask(
        'POST',
        '/platform-bills',
        {
          partnerOrgId: own.partnerOrgId,
          bills: [own.bill(1, FEBRUARY), own.bill(0, FEBRUARY), own.bill(0, JANUARY, { rent: '1.00' })],
          deletions: [own.deletion(1, JANUARY)],
        },
        {
          headers: {
            authorization: 'Bearer test-admin-token-0123456789',
            traceparent: `00-${traceId}-${'b'.repeat(16)}-01`,
          },
        },
      );
      expect(answer.body).to.include({ created: 2, changed: 1, deleted: 1, unchanged: 0 });
      const [changed, deleted, ...others] = (await messages()).slice(before);
      expect(others).to.deep.equal([]);
      expect(answer.body.taskCodes).to.deep.equal([changed!.code, deleted!.code]);
      const [first, second] = own.stations.map((station) => station.platformStationId);
      const ids = new Map((await storedBills()).map((row) => [`${row.station}/${row.month}`, row.id]));
      const months = (station: string, ...named: string[]) => ({
        platformStationId: station,
        bills: named.map((billYearMonth) => ({
          billId: ids.get(`${station}/${billYearMonth}`),
          billYearMonth,
        })),
      });
      expect(changed!.data.requestparams).to.deep.equal({
        entry: 'PLATFORM_CHANGED',
        stations: [months(second!, FEBRUARY), months(first!, FEBRUARY, JANUARY)],
      });
      expect(deleted!.data.requestparams).to.deep.equal({
        entry: 'PLATFORM_DELETED',
        stations: [months(second!, JANUARY)],
      });
      expect(changed!.data.taskMainId).to.match(/^[1-9]\d{17,18}$/);
      expect(deleted!.data.taskMainId).to.not.equal(changed!.data.taskMainId);
      expect(changed!.data.parentTraceId).to.equal(traceId);
      const { nowMs } = await world.store.one<{ nowMs: string }>(
        'SELECT UNIX_TIMESTAMP(NOW(3)) * 1000 nowMs',
      );
      expect(Number(nowMs) - Number(changed!.data.startTime)).to.be.within(0, 20_000);
      expect(world.wake.kicks.some((kick) => kick === `income-diff/${own.partnerOrgId}`)).to.equal(true);
    });

    it('keeps who did what, with the amounts before and after', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      const target = `${own.partnerOrgId}:${own.stations[0]!.platformStationId}:${JANUARY}`;
      const small = {
        ...EQUAL,
        rent: '1.00',
        settlementAmount: null,
        preRent: null,
        freezeAmount: null,
        deductionAmount: null,
      };
      const rows = await listAudit(world.store);
      expect(rows.map(({ actor, ...row }) => row)).to.deep.equal([
        {
          action: 'PLATFORM_BILL_CREATED',
          target,
          before: null,
          after: { ...EQUAL, verdictReset: null },
          reason: null,
        },
        {
          action: 'PLATFORM_BILL_CHANGED',
          target,
          before: EQUAL,
          after: { ...small, verdictReset: null },
          reason: null,
        },
        {
          action: 'PLATFORM_BILL_DELETED',
          target,
          before: small,
          after: { verdictReset: null },
          reason: null,
        },
      ]);
      expect(new Set(rows.map((row) => row.actor)).size).to.equal(1);
    });

    it('DEC-15 the same content again writes nothing, submits nothing, and counts no version', async () => {
      await pushed();
      const body = { bills: [own.bill(0, JANUARY)], deletions: [] };
      await own.send(body);
      await own.settle();
      await judge('VERIFIED');
      const times = () => world.store.many('SELECT id, update_time FROM fi_customer_bill ORDER BY id');
      const before = [
        await storedBills(),
        await messages(),
        await ledger(),
        await listAudit(world.store),
        await times(),
      ];
      const { status, body: answer } = await own.send({
        bills: [own.bill(0, JANUARY, { ...EQUAL, rent: '120', preRent: '100.0' })],
      });
      expect(status).to.equal(200);
      expect(answer).to.include({ created: 0, changed: 0, unchanged: 1, verdictsReset: 0 });
      expect(answer.taskCodes).to.deep.equal([]);
      await own.settle();
      expect([
        await storedBills(),
        await messages(),
        await ledger(),
        await listAudit(world.store),
        await times(),
      ]).to.deep.equal(before);
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      const gone = [await storedBills(), await messages()];
      expect((await own.send({ deletions: [own.deletion(0, JANUARY)] })).body).to.include({
        deleted: 0,
        unchanged: 1,
      });
      expect([await storedBills(), await messages()]).to.deep.equal(gone);
    });
  });

  describe('the verdict on the partner’s bill', () => {
    const reset = { status: 'NOT_VERIFIED', flag: 0, reason: null, time: null, reverify: 1 };
    beforeEach(async () => {
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      await pushed();
    });

    for (const verdict of ['VERIFIED', 'UNQUALIFIED'] as const)
      it(`DEC-8 DEC-25 ${verdict} is taken back at once by a change of a compared amount, of that bill alone`, async () => {
        await judge(verdict);
        const { body } = await own.send({
          bills: [own.bill(0, JANUARY, { ...EQUAL, deductionAmount: '11.00' })],
        });
        expect(body.verdictsReset).to.equal(1);
        const [first, second] = await verdicts();
        expect(first).to.deep.equal(reset);
        expect(second!.status).to.equal(verdict);
        const [changed] = (await listAudit(world.store)).filter(
          ({ action }) => action === 'PLATFORM_BILL_CHANGED',
        );
        expect(changed!.after.verdictReset.was).to.equal(verdict);
        await own.settle();
        expect((await ledger())[0]).to.include({
          status: 'MISMATCHED',
          verdict: 'NOT_VERIFIED',
          payment: 'NOT_VERIFIED',
          payable: '0.00',
        });
        await assertVerified(world.store);
      });

    it('DEC-25 it stands where no compared amount changes: missing is 0', async () => {
      await own.send({ bills: [own.bill(0, JANUARY, { ...EQUAL, freezeAmount: null })] });
      await own.settle();
      await judge('VERIFIED');
      const version = (await ledger())[0]!.version;
      const { body } = await own.send({ bills: [own.bill(0, JANUARY)] });
      expect(body).to.include({ changed: 1, verdictsReset: 0 });
      await own.settle();
      expect((await ledger())[0]).to.include({ verdict: 'VERIFIED', payment: 'PAYABLE', version });
      await assertVerified(world.store);
    });

    it('DEC-7 DEC-25 a deletion always takes it back', async () => {
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '0.00' })] });
      await own.settle();
      await judge('UNQUALIFIED');
      expect((await own.send({ deletions: [own.deletion(0, JANUARY)] })).body.verdictsReset).to.equal(1);
      expect((await verdicts())[0]).to.deep.equal(reset);
    });

    it('DEC-25 none is given while the difference does not say yet what our bill is now', async () => {
      await acceptPush(world.store, own.partnerOrgId, [
        { mapping: own.stations[0]!, bills: [bill(FEBRUARY)] },
      ]);
      await world.stages.turnsUpTo('bill-snapshot', own.partnerOrgId);
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      const bills = await world.store.many<{ partnerBillId: string; acceptNo: string }>(
        'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY id',
        [own.partnerOrgId],
      );
      const verdictOn = (index: number) =>
        world.plane.ask('POST', '/verifications', {
          ...bills[index],
          partnerQueryStatus: 'VERIFIED',
          reason: 'seen on site',
        });
      expect((await verdictOn(0)).body.code).to.equal('DIFFERENCE_BEHIND');
      expect((await verdictOn(1)).status, 'another station’s').to.equal(200);
      expect((await verdictOn(2)).status, 'another month’s').to.equal(200);
      await own.settle();
      expect((await verdictOn(0)).status).to.equal(200);
    });

    it('DEC-24 a bill whose difference is to follow ours is under way: it is not reserved for payment', async () => {
      await judge('VERIFIED');
      // An amount that is not paid of: nothing else keeps the bill from being paid.
      await own.send({ bills: [own.bill(0, JANUARY, { ...EQUAL, freezeAmount: null })] });
      const submit = await submitAll(world, { partnerOrgId: own.partnerOrgId, months: [JANUARY] });
      await world.turn('payment-submit', own.partnerOrgId);
      const reserved = await world.store.many<{ station: string }>(
        'SELECT platform_station_id station FROM fi_resident_income_payment_order_bill WHERE payment_order_id = ?',
        [submit.orderId],
      );
      expect(reserved.map((row) => row.station)).to.deep.equal([own.stations[1]!.platformStationId]);
    });
  });

  describe('what is refused', () => {
    /** The answer’s status and code, and that nothing was written. */
    async function refused(body: Parameters<PlatformWorld['send']>[0], expected: string, pointers: string[]) {
      const before = [await storedBills(), await messages(), (await listAudit(world.store)).length];
      const answer = await own.send(body);
      expect(`${answer.status} ${answer.body.code}`).to.equal(expected);
      expect(answer.body.faults.map((fault: { pointer: string }) => fault.pointer)).to.deep.equal(pointers);
      expect([await storedBills(), await messages(), (await listAudit(world.store)).length]).to.deep.equal(
        before,
      );
      return answer;
    }

    it('DEC-4 a month that is being paid, by whichever partner’s payment; with it all others of the request', async () => {
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      const platformStationId = own.stations[0]!.platformStationId!;
      const other = await makePartner(world.store);
      const lock = await makeBillLock(world.store, {
        platformStationId,
        month: JANUARY,
        partnerOrgId: other.partnerOrgId,
      });
      await world.store.change('DELETE FROM operation_audit');
      const changed = own.bill(0, JANUARY, { rent: '1.00' });
      await refused({ bills: [own.bill(1, FEBRUARY), changed] }, '409 PAYMENT_LOCKED', ['/bills/1']);
      await refused({ deletions: [own.deletion(0, JANUARY)] }, '409 PAYMENT_LOCKED', ['/deletions/0']);
      await world.store.change(
        "UPDATE fi_resident_income_payment_bill_lock SET lock_status = 'ACTIVE' WHERE id = ?",
        [lock],
      );
      await refused({ bills: [changed] }, '409 PAYMENT_LOCKED', ['/bills/0']);
      expect((await own.send({ bills: [own.bill(0, JANUARY)] })).body.unchanged, 'nothing to write').to.equal(
        1,
      );
      expect((await own.send({ bills: [own.bill(0, FEBRUARY)] })).status, 'another month').to.equal(200);
      await releaseBillLock(world.store, lock);
      expect((await own.send({ bills: [changed] })).status).to.equal(200);
    });

    it('DEC-4 ENG-16 a change that waited for a reservation sees its lock', async () => {
      const platformStationId = own.stations[0]!.platformStationId!;
      await own.send({ bills: [own.bill(0, JANUARY)] });
      const another = await world.stages.testStore.openAnother();
      const held = await holdRows(
        another,
        'SELECT * FROM station_guard WHERE kind = 2 AND platform_station_id = ? FOR UPDATE',
        [platformStationId],
      );
      const change = own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      await untilWaiting(world.store, 1);
      await makeBillLock(world.store, { platformStationId, month: JANUARY });
      await held.release();
      expect((await change).body.code).to.equal('PAYMENT_LOCKED');
      await world.store.change('DELETE FROM fi_resident_income_payment_bill_lock');
    });

    it('DEC-3 DEC-7 DEC-15 each with its pointer: no such station, not this partner’s, nothing to delete, two accounts', async () => {
      const unmapped = await makePropStation(world.store);
      const where = {
        partnerOrgId: own.partnerOrgId,
        platformStationId: own.stations[1]!.platformStationId!,
      };
      await refused({ deletions: [own.deletion(0, JANUARY)] }, '404 NO_SUCH_BILL', ['/deletions/0']);
      await makePlatformAccount(world.store, where);
      await makePlatformAccount(world.store, where);
      const at = (platformStationId: string) => ({ platformStationId, billYearMonth: JANUARY, rent: '1.00' });
      const { body } = await refused(
        { bills: [own.bill(0, JANUARY), at('999999999'), at(unmapped), own.bill(1, JANUARY)] },
        '422 NO_SUCH_PLATFORM_STATION',
        ['/bills/1', '/bills/2', '/bills/3'],
      );
      expect(body.faults.map((fault: { code: string }) => fault.code)).to.deep.equal([
        'NO_SUCH_PLATFORM_STATION',
        'STATION_NOT_MAPPED',
        'DUPLICATE_ACCOUNT',
      ]);
      await refused({ bills: [own.bill(1, JANUARY)] }, '409 DUPLICATE_ACCOUNT', ['/bills/0']);
    });

    it('DEC-2 a month that has not begun in Shanghai', async () => {
      await refused({ bills: [own.bill(0, '2099-01')] }, '422 MONTH_IN_FUTURE', ['/bills/0']);
    });

    it('ING-1 a partner that is not there', async () => {
      const body = { partnerOrgId: '999999999', bills: [own.bill(0, JANUARY)] };
      const answer = await world.plane.ask('POST', '/platform-bills', body);
      expect([answer.status, answer.body.code]).to.deep.equal([404, 'NO_SUCH_PARTNER']);
    });

    const malformed: [what: string, body: () => Parameters<PlatformWorld['send']>[0], pointers: string[]][] =
      [
        ['nothing at all', () => ({}), ['']],
        ['more than 500', () => ({ bills: Array.from({ length: 501 }, () => own.bill(0, JANUARY)) }), ['']],
        ['no rent', () => ({ bills: [own.deletion(0, JANUARY)] }), ['/bills/0/rent']],
        [
          'a number, which may have lost digits',
          () => ({ bills: [own.bill(0, JANUARY, { rent: 120 })] }),
          ['/bills/0/rent'],
        ],
        [
          'a third decimal',
          () => ({ bills: [own.bill(0, JANUARY, { ...EQUAL, preRent: '1.001' })] }),
          ['/bills/0/preRent'],
        ],
        [
          'a negative amount',
          () => ({ bills: [own.bill(0, JANUARY, { rent: '-1.00' })] }),
          ['/bills/0/rent'],
        ],
        ['no month', () => ({ bills: [own.bill(0, '2026-13')] }), ['/bills/0/billYearMonth']],
        [
          'a month before 2010',
          () => ({ deletions: [own.deletion(0, '2009-12')] }),
          ['/deletions/0/billYearMonth'],
        ],
        [
          'a field that is not known',
          () => ({ bills: [{ ...own.bill(0, JANUARY), remark: 'x' }] }),
          ['/bills/0'],
        ],
        [
          'what is no id',
          () => ({
            bills: [{ ...own.bill(0, JANUARY), platformStationId: 'abc' }],
            deletions: [{ ...own.deletion(0, JANUARY), platformStationId: '1e5' }],
          }),
          ['/bills/0/platformStationId', '/deletions/0/platformStationId'],
        ],
        [
          'a station-month twice',
          () => ({ bills: [own.bill(0, JANUARY), own.bill(0, JANUARY)] }),
          ['/bills/1'],
        ],
        [
          'one both written and deleted',
          () => ({ bills: [own.bill(0, JANUARY)], deletions: [own.deletion(0, JANUARY)] }),
          ['/deletions/0'],
        ],
      ];
    for (const [what, body, pointers] of malformed)
      it(`DEC-1 ${what}: 400, at its place`, async () => {
        const answer = await own.send(body());
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'MALFORMED_BODY']);
        expect([
          ...new Set(answer.body.faults.map((fault: { pointer: string }) => fault.pointer)),
        ]).to.deep.equal(pointers);
        expect(await storedBills()).to.deep.equal([]);
      });
  });

  describe('the list', () => {
    it('shows our bills of a partner, station and month, newest first; the deleted ones when asked', async () => {
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY), own.bill(0, FEBRUARY)] });
      await own.send({ deletions: [own.deletion(1, JANUARY)] });
      const list = async (query: string) =>
        (
          await world.plane.ask('GET', `/platform-bills?partnerOrgId=${own.partnerOrgId}&${query}`)
        ).body.items.map(
          (row: Record<string, unknown>) =>
            `${own.stations.findIndex((one) => one.platformStationId === row.platformStationId)} ${row.billYearMonth} ${row.rent} ${row.deleted}`,
        );
      expect(await list('')).to.deep.equal([`0 ${FEBRUARY} 120.00 false`, `0 ${JANUARY} 120.00 false`]);
      expect(await list('deleted=all'))
        .to.include(`1 ${JANUARY} 120.00 true`)
        .and.to.have.length(3);
      expect(await list(`billYearMonth=${FEBRUARY}`)).to.deep.equal([`0 ${FEBRUARY} 120.00 false`]);
      expect(await list(`platformStationId=${own.stations[1]!.platformStationId}`)).to.deep.equal([]);
      expect((await world.plane.ask('GET', '/platform-bills?status=x')).status).to.equal(400);
    });
  });
});
