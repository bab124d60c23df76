import { expect } from 'chai';
import fc from 'fast-check';
import { stationActor } from '../../actors/station.ts';
import { isLater, type OrderNumber } from '../../src/domain/order-number.ts';
import { funnelStageNumber, Place } from '../../src/domain/place.ts';
import { Activation } from '../../src/domain/task-status.ts';
import { acquireLeases } from '../../src/leases/lease.ts';
import {
  type GuardWithFence,
  lockGuards,
  partnerStationGuard,
  platformStationGuard,
} from '../../src/store/guards.ts';
import type { SlotKey } from '../../src/store/slots.ts';
import { requestStop } from '../../src/store/stage-control.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { endLease, readTask, statusOf, untilWaiting } from '../support/engine.ts';
import {
  type Columns,
  type MadeMapping,
  makeBillLock,
  makeMapping,
  makePropStation,
  releaseBillLock,
} from '../support/factory.ts';
import { ScriptedStore } from '../support/scripted-store.ts';
import {
  type AcceptedPush,
  acceptPush,
  bill,
  type Claimed,
  claim,
  makeStagedPartner,
  openStages,
  placesByRow,
  type Stages,
  unclaim,
  workDirectly,
} from '../support/stages.ts';

const STAGE = 'bill-station';

describe('actors: station', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages();
    store = stages.store;
  });
  after(() => stages.close());

  interface World {
    readonly partnerOrgId: string;
    readonly stations: readonly MadeMapping[];
  }
  async function makeWorld(stationCount = 1, partner: Columns = {}): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store, partner);
    const stations: MadeMapping[] = [];
    for (let index = 0; index < stationCount; index++) stations.push(await makeMapping(store, partnerOrgId));
    return { partnerOrgId, stations };
  }
  /** A partner with a station on a platform station that others share. */
  async function makeNeighbour(platformStationId: string): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store);
    return {
      partnerOrgId,
      stations: [await makeMapping(store, partnerOrgId, { platform_station_id: platformStationId })],
    };
  }
  /** All stations of the world with these bills each. */
  const push = (world: World, bills: readonly Columns[], header: Columns = {}) =>
    acceptPush(
      store,
      world.partnerOrgId,
      world.stations.map((mapping) => ({ mapping, header, bills })),
    );
  const turn = (world: World) => stages.turn(STAGE, world.partnerOrgId);
  /** Claims all that is due, does this push's work alone and commits it; the task ends as the engine would end it. */
  async function workOnly(world: World, pushed: AcceptedPush) {
    const claimed = await claim(stages, STAGE, world.partnerOrgId);
    const tasks = claimed.tasks.filter((task) => pushed.taskIds.includes(task.id));
    const done = await workDirectly(store, stages.handlerOf(STAGE), { right: claimed.right, tasks });
    await store.change('UPDATE fi_async_task SET status = 2 WHERE id IN (?)', [pushed.taskIds]);
    await unclaim(store, claimed);
    return done;
  }
  interface Bill {
    readonly id: string;
    readonly month: string;
    readonly rent: string;
    readonly pushId: string;
    readonly status: string;
  }
  const billsOf = (world: World) =>
    store.many<Bill>(
      `SELECT id, bill_year_month month, rent, push_id pushId, partner_query_status status
         FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY bill_year_month, id`,
      [world.partnerOrgId],
    );
  const accountsOf = (world: World) =>
    store.many<{
      id: string;
      stationNo: string;
      household: string | null;
      pushId: string;
      acceptNo: string;
      dataVersion: string;
      cumulative: string;
      rent: string;
      bills: number;
    }>(
      `SELECT id, partner_station_no stationNo, household_name household, push_id pushId, accept_no acceptNo,
              data_version dataVersion, cumulative_deduction cumulative, total_rent rent, bill_count bills
         FROM fi_customer_account_partner WHERE partner_org_id = ? ORDER BY id`,
      [world.partnerOrgId],
    );
  const handoversOf = (pushed: AcceptedPush) =>
    store.many<{ taskId: string; bills: number; deduction: string | null; messageTaskId: string }>(
      `SELECT station_task_id taskId, bill_count bills, batch_deduction deduction, message_task_id messageTaskId
         FROM income_diff_handover WHERE push_id = ? ORDER BY station_task_id`,
      [pushed.pushId],
    );

  describe('the transaction', () => {
    const steps: [step: string, pattern: RegExp][] = [
      ['guards', /^INSERT INTO station_guard/],
      ['account', /^INSERT INTO fi_customer_account_partner \(/],
      ['account log', /^INSERT INTO fi_customer_account_partner_log/],
      ['payment check', /^SELECT DISTINCT .* JOIN fi_resident_income_payment_bill_lock/],
      ['upsert', /^INSERT INTO fi_customer_bill_partner/],
      ['read back', /^SELECT .* won FROM pushed_row/],
      ['batch deduction', /^SELECT .*SUM\(.* FROM station_mapping/],
      ['reset verification', /^UPDATE fi_customer_bill_partner SET partner_query_status/],
      ['account’s deduction', /^UPDATE fi_customer_account_partner a/],
      ['hand over', /^INSERT INTO income_diff_handover/],
      ['places', /^UPDATE pushed_row r/],
    ];
    const stepOf = (statement: string) => steps.find(([, pattern]) => pattern.test(statement))?.[0];
    const stepsOf = (statements: readonly string[]) => statements.flatMap((text) => stepOf(text) ?? []);

    it('STA-5 STA-9 ENG-17 runs its steps in the one order, all guards before its first write', async () => {
      const world = await makeWorld(2);
      await push(world, [bill('2026-01'), bill('2026-02')]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const { statements } = await workDirectly(store, stages.handlerOf(STAGE), claimed);
      expect(stepsOf(statements)).to.deep.equal([
        'guards',
        // An early look, which sets blocked stations aside by name before anything is written (ENG-15).
        'payment check',
        'account',
        'account log',
        'payment check',
        'upsert',
        'payment check',
        'read back',
        'batch deduction',
        'reset verification',
        'account’s deduction',
        'hand over',
        'places',
      ]);
      const writes = statements.filter((text) => /^(INSERT|UPDATE|DELETE)/.test(text));
      expect(stepsOf(writes), 'nothing is written that is not named here').to.have.length(writes.length);
      await unclaim(store, claimed);
    });

    it('STA-8 upserts 200 rows at a time, all in this one transaction', async () => {
      const world = await makeWorld(40);
      const months = Array.from({ length: 12 }, (_, index) => `2025-${String(index + 1).padStart(2, '0')}`);
      await push(
        world,
        months.map((month) => bill(month)),
      );
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      expect(claimed.tasks).to.have.length(40);
      const written: number[] = [];
      const { statements } = await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        before: async (statement, tx) => {
          if (!['upsert', 'read back'].includes(stepOf(statement) ?? '')) return;
          const { n } = await tx.one<{ n: string }>(
            'SELECT COUNT(*) n FROM fi_customer_bill_partner WHERE partner_org_id = ?',
            [world.partnerOrgId],
          );
          written.push(Number(n));
        },
      });
      expect(stepsOf(statements).filter((step) => step === 'upsert')).to.have.length(3);
      expect(written).to.deep.equal([0, 200, 400, 480]);
      await unclaim(store, claimed);
    });

    it('STA-1 STA-8 what breaks in a later chunk takes the earlier ones with it, the accounts included', async () => {
      const world = await makeWorld(40);
      const pushed = await push(
        world,
        Array.from({ length: 6 }, (_, index) => bill(`2025-0${index + 1}`)),
      );
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      let upserts = 0;
      const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        before: (statement) => {
          if (stepOf(statement) === 'upsert' && ++upserts === 2) throw new Error('the second chunk breaks');
        },
      }).catch((error: Error) => error.message);
      expect(outcome).to.equal('the second chunk breaks');
      expect(await billsOf(world)).to.deep.equal([]);
      expect(await accountsOf(world)).to.deep.equal([]);
      expect(await handoversOf(pushed)).to.deep.equal([]);
      expect(new Set(await placesByRow(store, pushed.pushId))).to.deep.equal(new Set(['STATION_PENDING']));
      await unclaim(store, claimed);
    });

    const many = Array.from({ length: 120 }, (_, index) =>
      new Date(Date.UTC(2012, index)).toISOString().slice(0, 7),
    );
    for (const [what, months] of [
      ['whatever the order of the rows', ['2026-03', '2026-01', '2026-02']],
      ['across chunks too', many],
    ] as const) {
      it(`STA-7 writes bills by account, then by month, ${what}`, async () => {
        const world = await makeWorld(2);
        const [first, second] = world.stations as [MadeMapping, MadeMapping];
        // The account of the second station is the older one.
        await acceptPush(store, world.partnerOrgId, [{ mapping: second, bills: [bill('2010-01')] }]);
        await turn(world);
        const bills = months.map((month) => bill(month));
        await acceptPush(store, world.partnerOrgId, [
          { mapping: first, bills },
          { mapping: second, bills },
        ]);
        await turn(world);
        const rows = await store.many<{ accountId: string; month: string }>(
          'SELECT customer_account_id accountId, bill_year_month month FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY id',
          [world.partnerOrgId],
        );
        const accounts = await accountsOf(world);
        expect(accounts.map((account) => account.stationNo)).to.deep.equal([
          second.partnerStationNo,
          first.partnerStationNo,
        ]);
        expect(rows.slice(1)).to.deep.equal(
          accounts.flatMap(({ id }) => months.toSorted().map((month) => ({ accountId: id, month }))),
        );
      });
    }
  });

  describe('the account', () => {
    it('STA-5 is made once and kept with its id; each push is in its log', async () => {
      const world = await makeWorld();
      const first = await push(world, [bill('2026-01')], { household_name: 'Li' });
      await turn(world);
      const [made] = await accountsOf(world);
      const second = await push(world, [bill('2026-02')], { household_name: 'Wang' });
      await turn(world);
      const [kept, ...others] = await accountsOf(world);
      expect(others).to.deep.equal([]);
      expect(kept).to.include({ id: made!.id, household: 'Wang', pushId: second.pushId, bills: 2 });
      const log = await store.many<{ pushId: string; operation: string }>(
        'SELECT push_id pushId, operation FROM fi_customer_account_partner_log WHERE customer_account_id = ? ORDER BY id',
        [made!.id],
      );
      expect(log).to.deep.equal([
        { pushId: first.pushId, operation: 'PUSHED' },
        { pushId: second.pushId, operation: 'PUSHED' },
      ]);
    });

    it('STA-5 a later push overwrites its whole header; one that came too late none of it', async () => {
      const world = await makeWorld();
      const [mapping] = world.stations as [MadeMapping];
      const pushHeader = (partnerStationId: string, header: Columns) =>
        acceptPush(store, world.partnerOrgId, [
          { mapping: { ...mapping, partnerStationId }, header, bills: [bill('2026-01')] },
        ]);
      await pushHeader('SID-1', { household_name: 'Li', rent_pay_method: 'MONTHLY' });
      await turn(world);
      const late = await pushHeader('SID-2', { household_name: 'Zhao', rent_pay_method: 'QUARTERLY' });
      await workOnly(world, await pushHeader('SID-3', { household_name: 'Wang', rent_pay_method: 'YEARLY' }));
      const header = () =>
        store.one(
          `SELECT partner_station_id stationId, household_name household, rent_pay_method method
             FROM fi_customer_account_partner WHERE partner_org_id = ?`,
          [world.partnerOrgId],
        );
      const newest = { stationId: 'SID-3', household: 'Wang', method: 'YEARLY' };
      expect(await header()).to.deep.equal(newest);
      await workOnly(world, late);
      expect(await header()).to.deep.equal(newest);
    });

    it('STA-5 takes its header from the first accepted row in request order, not in the order of the row numbers', async () => {
      const world = await makeWorld();
      await push(world, [
        bill('2026-01', { receipt_index: 7, household_name: 'third' }),
        bill('2026-02', { receipt_index: 5, household_name: 'first', rent_pay_method: null }),
        bill('2026-03', { receipt_index: 4, household_name: 'refused', accepted: 0 }),
        bill('2026-04', { receipt_index: 6, household_name: 'second', rent_pay_method: 'YEARLY' }),
      ]);
      await turn(world);
      expect((await accountsOf(world))[0]).to.include({ household: 'first' });
    });

    it('STA-5 STA-11 of a versioned partner carries the highest version of its accepted rows', async () => {
      const world = await makeWorld(1, { versioned: 1 });
      await push(world, [
        bill('2026-01', { data_version: '3', household_name: 'first' }),
        bill('2026-02', { data_version: '8' }),
        bill('2026-03', { data_version: '9', accepted: 0 }),
      ]);
      await turn(world);
      expect((await accountsOf(world))[0]).to.include({ household: 'first', dataVersion: '8' });
    });

    it('STA-11 a partner that is not versioned has no version, whatever its rows say', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01', { data_version: '9', rent: '1.00' })]);
      await turn(world);
      await push(world, [bill('2026-01', { data_version: '2', rent: '2.00' })]);
      await turn(world);
      expect((await accountsOf(world))[0]).to.include({ dataVersion: '0' });
      expect((await billsOf(world))[0]).to.include({ rent: '2.00' });
    });

    it('STA-13 STA-15 its own cumulative deduction is another number than that of the platform station', async () => {
      const platformStationId = await makePropStation(store);
      const [one, other] = [await makeNeighbour(platformStationId), await makeNeighbour(platformStationId)];
      await push(one, [bill('2026-01', { deduction_amount: '10.00' })]);
      await turn(one);
      const second = await push(other, [
        bill('2026-01', { deduction_amount: '3.50' }),
        bill('2026-02', { deduction_amount: null }),
        bill('2026-03', { deduction_amount: '0.25' }),
      ]);
      await turn(other);
      expect((await accountsOf(other))[0]).to.include({ cumulative: '3.75', bills: 3, rent: '360.00' });
      expect((await accountsOf(one))[0]).to.include({ cumulative: '10.00' });
      expect((await handoversOf(second)).map((row) => row.deduction)).to.deep.equal(['13.75']);
    });
  });

  describe('the bills', () => {
    const full: Columns = {
      settlement_amount: '181.00',
      share_ratio: '0.500000',
      period: 3,
      sharing_block_count: 4,
      unit_price: '0.123456',
      rent: '121.00',
      pre_rent: '101.00',
      freeze_amount: '5.00',
      deduction_amount: '11.00',
      remark: 'a remark',
      reason: 'a reason',
      settlement_batch_no: 'B1',
      is_supplement: 1,
    };
    const other: Columns = {
      settlement_amount: '182.00',
      share_ratio: '0.750000',
      period: 5,
      sharing_block_count: 6,
      unit_price: '0.654321',
      rent: '122.00',
      pre_rent: '102.00',
      freeze_amount: '6.00',
      deduction_amount: '12.00',
      remark: 'another remark',
      reason: 'another reason',
      settlement_batch_no: 'B2',
      is_supplement: 0,
    };
    const empty: Columns = Object.fromEntries(
      Object.keys(full).map((name) => [name, name === 'rent' ? '0.00' : name === 'is_supplement' ? 0 : null]),
    );
    const columnsOf = async (world: World) =>
      store.one<Record<string, unknown>>('SELECT * FROM fi_customer_bill_partner WHERE partner_org_id = ?', [
        world.partnerOrgId,
      ]);
    const headerOf = { rent_pay_method: 'MONTHLY' };

    it('STA-6 carry the pushed partner station id as theirs, not the platform station', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      await turn(world);
      expect((await columnsOf(world)).station_id).to.equal(world.stations[0]!.partnerStationId);
    });

    for (const [what, values, method] of [
      ['every value', other, 'YEARLY'],
      ['nothing but nulls', empty, null],
    ] as const) {
      it(`STA-10 a later push with ${what} overwrites all that was pushed; never adds to it, never keeps it`, async () => {
        const world = await makeWorld();
        const first = await push(world, [{ bill_year_month: '2026-01', ...full }], headerOf);
        await turn(world);
        const before = await columnsOf(world);
        expect(before).to.include({ ...full, rent_pay_method: 'MONTHLY', push_id: first.pushId });
        // What payment and verification wrote, and what creation wrote, is not the push's to change.
        await store.change(
          `UPDATE fi_customer_bill_partner
              SET create_time = '2020-01-01', update_time = '2020-01-01', last_push_time = '2020-01-01', create_user_id = 77,
                  update_user_id = 88, payment_status = 'PARTIALLY_PAID', paid_amount = 1.00, current_payable = 2.00
            WHERE id = ?`,
          [String(before.id)],
        );
        await store.change('UPDATE station_mapping SET partner_station_id = ? WHERE partner_org_id = ?', [
          'SID-NEW',
          world.partnerOrgId,
        ]);
        const second = await acceptPush(store, world.partnerOrgId, [
          {
            mapping: { ...world.stations[0]!, partnerStationId: 'SID-NEW' },
            header: { rent_pay_method: method },
            bills: [{ bill_year_month: '2026-01', ...values }],
          },
        ]);
        await turn(world);
        const after = await columnsOf(world);
        expect(after).to.include({
          ...values,
          rent_pay_method: method,
          station_id: 'SID-NEW',
          push_id: second.pushId,
          push_row_no: 1,
          accept_no: second.acceptNo,
          update_user_id: '0',
        });
        expect(after.content_hash).to.not.equal(before.content_hash);
        for (const name of ['last_push_time', 'update_time'])
          expect(String(after[name]) > '2026', name).to.equal(true);
        const kept = ['id', 'customer_account_id', 'partner_org_id', 'bill_year_month', 'del_flag'];
        for (const name of kept) expect(after[name], name).to.equal(before[name]);
        expect(after).to.include({
          create_user_id: '77',
          payment_status: 'PARTIALLY_PAID',
          paid_amount: '1.00',
          current_payable: '2.00',
        });
        expect(String(after.create_time)).to.match(/^2020-01-01/);
      });
    }

    it('STA-10 STA-12 a bill names the row that wrote it, wherever it stands in the later push', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-02')]);
      await turn(world);
      const later = await push(world, [bill('2026-01'), bill('2026-02')]);
      await turn(world);
      expect(await placesByRow(store, later.pushId)).to.deep.equal(['DIFF_PENDING', 'DIFF_PENDING']);
      const rows = await store.many<{ rowNo: number }>(
        'SELECT push_row_no rowNo FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY bill_year_month',
        [world.partnerOrgId],
      );
      expect(rows.map((row) => row.rowNo)).to.deep.equal([1, 2]);
    });

    it('STA-10 STA-11 a push that came too late overwrites nothing, not even a time', async () => {
      const world = await makeWorld();
      const late = await push(world, [{ bill_year_month: '2026-01', ...full }], headerOf);
      const early = await push(world, [{ bill_year_month: '2026-01', ...other }], headerOf);
      await workOnly(world, early);
      await store.change(
        "UPDATE fi_customer_bill_partner SET update_time = '2020-01-01' WHERE partner_org_id = ?",
        [world.partnerOrgId],
      );
      const before = await columnsOf(world);
      await workOnly(world, late);
      expect(await columnsOf(world)).to.deep.equal(before);
    });

    it('DEC-2 a supplement replaces the bill of its month; it does not add to it', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01', { rent: '100.00' })]);
      await turn(world);
      await push(world, [bill('2026-01', { rent: '20.00', is_supplement: 1 })]);
      await turn(world);
      expect((await billsOf(world)).map((one) => one.rent)).to.deep.equal(['20.00']);
    });

    it('STA-14 a push that won resets verification, equal amounts included; what lost resets nothing', async () => {
      const world = await makeWorld();
      const late = await push(world, [bill('2026-01'), bill('2026-02')]);
      const early = await push(world, [bill('2026-01')]);
      await workOnly(world, early);
      const verdict = `partner_query_status = 'UNQUALIFIED', unqualified_flag = 1, unqualified_reason = 'roof gone',
        last_unqualified_time = NOW(3), reverify_flag = 0`;
      const write = () =>
        store.change(`UPDATE fi_customer_bill_partner SET ${verdict} WHERE partner_org_id = ?`, [
          world.partnerOrgId,
        ]);
      const read = () =>
        store.many<Record<string, unknown>>(
          `SELECT bill_year_month month, partner_query_status status, unqualified_flag flag, unqualified_reason reason,
                  last_unqualified_time IS NULL cleared, reverify_flag reverify
             FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY bill_year_month`,
          [world.partnerOrgId],
        );
      const unqualified = { status: 'UNQUALIFIED', flag: 1, reason: 'roof gone', reverify: 0 };
      const reset = { status: 'NOT_VERIFIED', flag: 0, reason: null, reverify: 1 };
      await write();
      await workOnly(world, late);
      const [lost, won] = await read();
      expect(lost, 'the month that lost').to.include({ month: '2026-01', ...unqualified });
      expect(Number(lost!.cleared)).to.equal(0);
      expect(won, 'the month that won').to.include({ month: '2026-02', ...reset });
      await write();
      await push(world, [bill('2026-01')]);
      await turn(world);
      const [again] = await read();
      expect(again, 'pushed again with equal amounts').to.include({ month: '2026-01', ...reset });
      expect(Number(again!.cleared)).to.equal(1);
    });

    const verdicts: [column: string, value: string][] = [
      ['partner_query_status', "'VERIFIED'"],
      ['unqualified_flag', '1'],
      ['unqualified_reason', "'roof gone'"],
      ['last_unqualified_time', 'NOW(3)'],
      ['reverify_flag', '0'],
    ];
    it('STA-14 whatever part of a verdict stands, it is reset', async () => {
      const world = await makeWorld();
      const bills = verdicts.map((_, index) => bill(`2026-0${index + 1}`));
      await push(world, bills);
      await turn(world);
      const [made, ...others] = await billsOf(world);
      for (const [index, one] of [made!, ...others].entries()) {
        const [column, value] = verdicts[index]!;
        await store.change(`UPDATE fi_customer_bill_partner SET ${column} = ${value} WHERE id = ?`, [one.id]);
      }
      await push(world, bills);
      await turn(world);
      const after = await store.many(
        `SELECT ${verdicts.map(([column]) => column).join(', ')}
           FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY bill_year_month`,
        [world.partnerOrgId],
      );
      const reset = {
        partner_query_status: 'NOT_VERIFIED',
        unqualified_flag: 0,
        unqualified_reason: null,
        last_unqualified_time: null,
        reverify_flag: 1,
      };
      expect(after).to.deep.equal(verdicts.map(() => reset));
    });
  });

  describe('the last push wins', () => {
    interface Pushed extends OrderNumber {
      readonly pushId: string;
      readonly rent: string;
    }
    const MONTHS = ['2026-01', '2026-02'];
    const step = fc.record({
      months: fc.subarray(MONTHS, { minLength: 1 }),
      version: fc.integer({ min: 1, max: 3 }),
      shuffled: fc.integer(),
    });

    for (const versioned of [0, 1] as const) {
      const what = versioned === 1 ? '(dataVersion, accept number)' : 'accept number';
      it(`STA-11 STA-12 STA-16 by ${what}, in whatever order the work arrives; rows that lost are STALE by the winner`, async () => {
        const run = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 5 }), async (script) => {
          const world = await makeWorld(1, { versioned });
          const pushes: { months: readonly string[]; pushed: AcceptedPush; order: Pushed; at: number }[] = [];
          for (const [index, { months, version, shuffled }] of script.entries()) {
            const rent = `${index + 1}.00`;
            const dataVersion = versioned === 1 ? String(version) : '0';
            const pushed = await push(
              world,
              months.map((month) => bill(month, { rent, data_version: versioned === 1 ? version : null })),
              { household_name: rent },
            );
            const order = { pushId: pushed.pushId, rent, dataVersion, acceptNo: pushed.acceptNo };
            pushes.push({ months, pushed, order, at: shuffled });
          }
          const winnerOf = new Map<string, Pushed>();
          let header: Pushed | null = null;
          for (const { months, pushed, order } of pushes.toSorted((a, b) => a.at - b.at)) {
            await workOnly(world, pushed);
            const won = months.filter((month) => {
              const holder = winnerOf.get(month);
              return holder === undefined || isLater(order, holder);
            });
            for (const month of won) winnerOf.set(month, order);
            if (header === null || isLater(order, header)) header = order;
            const rows = await store.many<{ place: number; by: string | null; billId: string | null }>(
              'SELECT place, superseded_by_push_id `by`, bill_id billId FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
              [pushed.pushId],
            );
            expect(await placesByRow(store, pushed.pushId)).to.deep.equal(
              months.map((month) => (won.includes(month) ? 'DIFF_PENDING' : 'STALE')),
            );
            const bills = new Map((await billsOf(world)).map((one) => [one.month, one]));
            months.forEach((month, index) => {
              expect(rows[index]!.by).to.equal(won.includes(month) ? null : winnerOf.get(month)!.pushId);
              expect(rows[index]!.billId).to.equal(bills.get(month)!.id);
            });
            const handedOver = (await handoversOf(pushed)).map((row) => row.bills);
            expect(handedOver).to.deep.equal(won.length === 0 ? [] : [won.length]);
          }
          expect(
            (await billsOf(world)).map(({ month, rent, pushId }) => [month, rent, pushId]),
          ).to.deep.equal([...winnerOf].sort().map(([month, { rent, pushId }]) => [month, rent, pushId]));
          const [account] = await accountsOf(world);
          expect([
            account!.household,
            account!.pushId,
            account!.acceptNo,
            account!.dataVersion,
          ]).to.deep.equal([header!.rent, header!.pushId, header!.acceptNo, header!.dataVersion]);
        });
        await fc.assert(run, { numRuns: 8, endOnFailure: true });
      });
    }

    it('STA-11 two pushes of one station in one claim are done one after the other', async () => {
      const world = await makeWorld();
      const first = await push(world, [bill('2026-01', { rent: '1.00' })]);
      const second = await push(world, [bill('2026-01', { rent: '2.00' })]);
      await turn(world);
      expect((await billsOf(world)).map((one) => one.rent)).to.deep.equal(['2.00']);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['DIFF_PENDING']);
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['DIFF_PENDING']);
    });
  });

  describe('the batch deduction', () => {
    it('STA-13 is the cumulative deduction of the platform station over all its partners, all months, as of this batch', async () => {
      const platformStationId = await makePropStation(store);
      const [one, other] = [await makeNeighbour(platformStationId), await makeNeighbour(platformStationId)];
      const pushes: AcceptedPush[] = [];
      for (const [world, month, deduction] of [
        [one, '2026-01', '10.00'],
        [other, '2026-01', '1.50'],
        [one, '2026-02', '2.00'],
        [one, '2026-01', '4.00'],
      ] as const) {
        pushes.push(await push(world, [bill(month, { deduction_amount: deduction })]));
        await turn(world);
      }
      const deductions = await Promise.all(
        pushes.map(async (pushed) => (await handoversOf(pushed))[0]!.deduction),
      );
      expect(deductions, 'a later batch changes none before it').to.deep.equal([
        '10.00',
        '11.50',
        '13.50',
        '7.50',
      ]);
    });

    it('STA-13 is 0 where nothing was deducted, and the bills of a unit share one value', async () => {
      const world = await makeWorld(2);
      const pushed = await push(world, [
        bill('2026-01', { deduction_amount: null }),
        bill('2026-02', { deduction_amount: null }),
      ]);
      await turn(world);
      expect((await handoversOf(pushed)).map(({ bills, deduction }) => [bills, deduction])).to.deep.equal([
        [2, '0.00'],
        [2, '0.00'],
      ]);
    });

    it('STA-13 does not count a bill that was taken out of use', async () => {
      const world = await makeWorld();
      await push(world, [
        bill('2026-01', { deduction_amount: '1.00' }),
        bill('2026-02', { deduction_amount: '2.00' }),
      ]);
      await turn(world);
      const [takenOut] = await billsOf(world);
      await store.change('UPDATE fi_customer_bill_partner SET del_flag = 1 WHERE id = ?', [takenOut!.id]);
      const later = await push(world, [bill('2026-03', { deduction_amount: '4.00' })]);
      await turn(world);
      expect((await handoversOf(later)).map((row) => row.deduction)).to.deep.equal(['6.00']);
    });

    it('STA-13 is 0 where the computation has no entry for the station', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const other = await stages.testStore.openAnother();
      await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        before: async (statement) => {
          // A mapping is not the guards' to keep: it may go between the second look at it and the computation.
          if (!/^SELECT .*SUM\(.* FROM station_mapping/.test(statement)) return;
          await other.change('DELETE FROM station_mapping WHERE partner_org_id = ?', [world.partnerOrgId]);
        },
      });
      expect((await handoversOf(pushed)).map((row) => row.deduction)).to.deep.equal(['0.00']);
      await unclaim(store, claimed);
    });

    for (const platformStationId of [null, '0']) {
      it(`STA-4 STA-13 DEC-3 with the platform station ${platformStationId}, which is none, the bills commit; no guard, no deduction`, async () => {
        const { partnerOrgId } = await makeStagedPartner(store);
        const world = {
          partnerOrgId,
          stations: [await makeMapping(store, partnerOrgId, { platform_station_id: platformStationId })],
        };
        const pushed = await push(world, [bill('2026-01')]);
        await turn(world);
        expect(await billsOf(world)).to.have.length(1);
        expect((await handoversOf(pushed)).map((row) => row.deduction)).to.deep.equal([null]);
        const guards = await store.many(
          'SELECT kind FROM station_guard WHERE kind = 2 AND platform_station_id = 0',
        );
        expect(guards).to.deep.equal([]);
      });
    }

    it('DEC-3 a mapping that was removed after acceptance is none: the bills commit', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      await store.change('DELETE FROM station_mapping WHERE partner_org_id = ?', [world.partnerOrgId]);
      await turn(world);
      expect(await billsOf(world)).to.have.length(1);
      expect((await handoversOf(pushed)).map((row) => row.deduction)).to.deep.equal([null]);
    });
  });

  describe('payment locks', () => {
    const failed = (code: string) => readTask(store, code);

    it('STA-9 one locked month rolls its station back, the account included; its neighbours go on; it waits for a person', async () => {
      const world = await makeWorld(3);
      const pushed = await push(world, [bill('2026-01'), bill('2026-02')]);
      await makeBillLock(store, {
        platformStationId: world.stations[1]!.platformStationId!,
        month: '2026-02',
      });
      await turn(world);
      expect((await accountsOf(world)).map((account) => account.stationNo)).to.have.members([
        world.stations[0]!.partnerStationNo,
        world.stations[2]!.partnerStationNo,
      ]);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal([
        'DIFF_PENDING',
        'DIFF_PENDING',
        'STATION_FAILED',
        'STATION_FAILED',
        'DIFF_PENDING',
        'DIFF_PENDING',
      ]);
      const task = await failed(pushed.taskCodes[1]!);
      expect(task).to.include({ status: 3, errorCode: 'PAYMENT_LOCKED', claimable: null });
      expect(task.errorMessage).to.include('2026-02').and.to.not.include('2026-01');
    });

    const between: [when: string, step: RegExp][] = [
      ['after the early look, before the account', /^INSERT INTO fi_customer_account_partner \(/],
      ['between the two checks', /^INSERT INTO fi_customer_bill_partner/],
    ];
    for (const [when, step] of between) {
      it(`STA-9 a lock that appears ${when} is found, and nothing of the station stays`, async () => {
        const world = await makeWorld();
        const pushed = await push(world, [bill('2026-01')]);
        const claimed = await claim(stages, STAGE, world.partnerOrgId);
        const other = await stages.testStore.openAnother();
        let lockId: string | null = null;
        const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed, {
          before: async (statement) => {
            if (lockId !== null || !step.test(statement)) return;
            // Whoever reserves properly holds the guard; this one does not.
            const { platformStationId } = world.stations[0]!;
            lockId = await makeBillLock(other, { platformStationId: platformStationId!, month: '2026-01' });
          },
        }).then(
          () => 'committed',
          (error: { code: string }) => error.code,
        );
        expect(outcome).to.equal('PAYMENT_LOCKED');
        expect(await billsOf(world)).to.deep.equal([]);
        expect(await accountsOf(world)).to.deep.equal([]);
        expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['STATION_PENDING']);
        await unclaim(store, claimed);
      });
    }

    it('STA-9 ENG-16 no lock slips in between the second check and the commit: who reserves waits for the guard', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      const platformStationId = world.stations[0]!.platformStationId!;
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const other = await stages.testStore.openAnother();
      let reserving: Promise<number> | null = null;
      await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        beforeCommit: async () => {
          reserving = other.transaction(NEW_READ_COMMITTED, async (tx) => {
            await lockGuards(tx, [{ key: platformStationGuard(platformStationId) }]);
            await makeBillLock(tx, { platformStationId, month: '2026-01' });
            return Number(
              (
                await tx.one<{ n: string }>(
                  'SELECT COUNT(*) n FROM fi_customer_bill_partner WHERE partner_org_id = ?',
                  [world.partnerOrgId],
                )
              ).n,
            );
          });
          await untilWaiting(store);
        },
      });
      expect(await reserving, 'bills that the reservation sees').to.equal(1);
      await unclaim(store, claimed);
    });

    it('STA-9 DEC-4 a released lock blocks nothing, nor does one on another month or station', async () => {
      const world = await makeWorld(2);
      const [first, second] = world.stations.map((station) => station.platformStationId!) as [string, string];
      await releaseBillLock(store, await makeBillLock(store, { platformStationId: first, month: '2026-01' }));
      await makeBillLock(store, { platformStationId: first, month: '2026-09' }, { lock_status: 'ACTIVE' });
      const pushed = await acceptPush(store, world.partnerOrgId, [
        { mapping: world.stations[0]!, bills: [bill('2026-01')] },
      ]);
      await makeBillLock(store, { platformStationId: second, month: '2026-01' });
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['DIFF_PENDING']);
    });

    it('DEC-19 a row that will lose blocks nothing in a locked month; the unit’s other month is written', async () => {
      const world = await makeWorld();
      const late = await push(world, [bill('2026-01', { rent: '1.00' }), bill('2026-02', { rent: '1.00' })]);
      const early = await push(world, [bill('2026-01', { rent: '2.00' })]);
      await workOnly(world, early);
      await makeBillLock(store, {
        platformStationId: world.stations[0]!.platformStationId!,
        month: '2026-01',
      });
      await turn(world);
      expect(await placesByRow(store, late.pushId)).to.deep.equal(['STALE', 'DIFF_PENDING']);
      expect((await billsOf(world)).map((one) => one.rent)).to.deep.equal(['2.00', '1.00']);
    });

    it('STA-9 ING-4 a month that was refused at acceptance blocks nothing of its station, and is not written', async () => {
      const world = await makeWorld();
      await makeBillLock(store, {
        platformStationId: world.stations[0]!.platformStationId!,
        month: '2026-01',
      });
      const pushed = await push(world, [bill('2026-01', { accepted: 0 }), bill('2026-02')]);
      await store.change('UPDATE pushed_row_place SET place = ? WHERE push_id = ? AND row_no = 1', [
        Place.LOCKED,
        pushed.pushId,
      ]);
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['LOCKED', 'DIFF_PENDING']);
      expect((await billsOf(world)).map((one) => one.month)).to.deep.equal(['2026-02']);
    });

    it('STA-17 COV-2 a station that fails for good says where and why, and wakes the difference stage, which may wait for it', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      await makeBillLock(store, {
        platformStationId: world.stations[0]!.platformStationId!,
        month: '2026-01',
      });
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['STATION_FAILED']);
      expect(stages.wake.kicks).to.include(`income-diff/${world.partnerOrgId}`);
      const rows = await store.many<{ leftAt: number; reason: string | null }>(
        'SELECT left_at leftAt, reason FROM pushed_row_place WHERE push_id = ?',
        [pushed.pushId],
      );
      expect(rows).to.deep.equal([{ leftAt: funnelStageNumber('committed'), reason: 'PAYMENT_LOCKED' }]);
    });

    for (const [what, status] of [
      ['a submit is about to use', 'RESERVED'],
      ['a submit uses', 'ACTIVE'],
    ] as const) {
      it(`STA-9 DEC-4 a month that ${what} (${status}) blocks its station`, async () => {
        const world = await makeWorld();
        const pushed = await push(world, [bill('2026-01')]);
        const platformStationId = world.stations[0]!.platformStationId!;
        await makeBillLock(store, { platformStationId, month: '2026-01' }, { lock_status: status });
        await turn(world);
        expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['STATION_FAILED']);
        expect(await billsOf(world)).to.deep.equal([]);
      });
    }

    it('STA-9 STA-11 DEC-19 of a versioned partner the version says whether a row will win in its locked month', async () => {
      const world = await makeWorld(1, { versioned: 1 });
      await push(world, [bill('2026-01', { data_version: '2', rent: '2.00' })]);
      await turn(world);
      await makeBillLock(store, {
        platformStationId: world.stations[0]!.platformStationId!,
        month: '2026-01',
      });
      const older = await push(world, [bill('2026-01', { data_version: '1', rent: '1.00' })]);
      const newer = await push(world, [bill('2026-01', { data_version: '3', rent: '3.00' })]);
      await turn(world);
      expect(await placesByRow(store, older.pushId)).to.deep.equal(['STALE']);
      expect(await placesByRow(store, newer.pushId)).to.deep.equal(['STATION_FAILED']);
      expect((await billsOf(world)).map((one) => one.rent)).to.deep.equal(['2.00']);
    });

    it('STA-9 DEC-19 a row that will win is blocked by its locked month', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01', { rent: '1.00' })]);
      await turn(world);
      await makeBillLock(store, {
        platformStationId: world.stations[0]!.platformStationId!,
        month: '2026-01',
      });
      const later = await push(world, [bill('2026-01', { rent: '2.00' })]);
      await turn(world);
      expect(await placesByRow(store, later.pushId)).to.deep.equal(['STATION_FAILED']);
      expect((await billsOf(world)).map((one) => one.rent)).to.deep.equal(['1.00']);
    });
  });

  describe('hand-overs', () => {
    it('STA-12 STA-16 all committed bills, and only they, are handed over, in the station’s own transaction', async () => {
      const world = await makeWorld(2);
      const pushed = await push(world, [bill('2026-01'), bill('2026-02', { accepted: 0 }), bill('2026-03')]);
      const other = await stages.testStore.openAnother();
      const seen = (sql: Store) =>
        sql.one<{ bills: string; handovers: string; pending: string }>(
          `SELECT (SELECT COUNT(*) FROM fi_customer_bill_partner WHERE push_id = ?) bills,
                  (SELECT COALESCE(SUM(bill_count), 0) FROM income_diff_handover WHERE push_id = ?) handovers,
                  (SELECT COUNT(*) FROM pushed_row_place WHERE push_id = ? AND place = 7) pending`,
          [pushed.pushId, pushed.pushId, pushed.pushId],
        );
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        beforeCommit: async () => {
          expect(Object.values(await seen(other)).map(Number), 'before the commit').to.deep.equal([0, 0, 0]);
        },
      });
      expect(Object.values(await seen(other)).map(Number), 'after it').to.deep.equal([4, 4, 4]);
      expect((await handoversOf(pushed)).map((row) => row.messageTaskId)).to.deep.equal(['0', '0']);
      await unclaim(store, claimed);
    });

    it('STA-17 the difference stage is woken after the commit, not before', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const kick = `income-diff/${world.partnerOrgId}`;
      await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        beforeCommit: async () => {
          expect(stages.wake.kicks).to.not.include(kick);
        },
      });
      expect(stages.wake.kicks).to.include(kick);
      await unclaim(store, claimed);
    });

    it('STA-16 a station all of whose rows lost is done and hands nothing over', async () => {
      const world = await makeWorld();
      const late = await push(world, [bill('2026-01')]);
      await workOnly(world, await push(world, [bill('2026-01')]));
      await turn(world);
      expect(await handoversOf(late)).to.deep.equal([]);
      expect(await statusOf(store, late.taskCodes[0]!)).to.equal('SUCCESS');
      const rows = await store.many<{ leftAt: number; reason: string | null }>(
        'SELECT left_at leftAt, reason FROM pushed_row_place WHERE push_id = ?',
        [late.pushId],
      );
      expect(rows).to.deep.equal([{ leftAt: funnelStageNumber('committed'), reason: null }]);
    });

    it('STA-19 a station that had committed changes nothing when its task is run once more', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      await turn(world);
      await store.change(
        "UPDATE fi_customer_bill_partner SET partner_query_status = 'VERIFIED' WHERE partner_org_id = ?",
        [world.partnerOrgId],
      );
      const read = async () => [
        await store.many('SELECT * FROM fi_customer_bill_partner WHERE partner_org_id = ?', [
          world.partnerOrgId,
        ]),
        await store.many('SELECT * FROM income_diff_handover WHERE push_id = ?', [pushed.pushId]),
        await store.many('SELECT * FROM pushed_row_place WHERE push_id = ?', [pushed.pushId]),
        await store.many(
          'SELECT l.* FROM fi_customer_account_partner_log l JOIN fi_customer_account_partner a ON a.id = l.customer_account_id WHERE a.partner_org_id = ?',
          [world.partnerOrgId],
        ),
      ];
      const before = await read();
      expect(await turn(world), 'a finished task is never due').to.equal('IDLE');
      expect(await read()).to.deep.equal(before);
      // A task row that was set back by hand, against all rules.
      await store.change('UPDATE fi_async_task SET status = 0 WHERE id = ?', [pushed.taskIds[0]!]);
      await turn(world);
      expect(await read()).to.deep.equal(before);
      const ends = await store.many('SELECT status, error_message error FROM fi_async_task WHERE id = ?', [
        pushed.taskIds[0]!,
      ]);
      expect(ends, 'it is recognised, not refused by a key').to.deep.equal([{ status: 2, error: null }]);
    });
  });

  describe('leases', () => {
    const requestFor = (name: string) => [{ name, floor: '0' }];

    it('STA-3 STA-4 a station whose lease another holds waits without a failure; the others of its batch go on', async () => {
      const world = await makeWorld(3);
      const pushed = await push(world, [bill('2026-01')]);
      const names = [
        `partner:${world.partnerOrgId}:${world.stations[0]!.partnerStationNo}`,
        `platform:${world.stations[2]!.platformStationId}`,
      ];
      const held = await Promise.all(names.map((name) => acquireLeases(stages.leases, requestFor(name))));
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal([
        'STATION_PENDING',
        'DIFF_PENDING',
        'STATION_PENDING',
      ]);
      for (const index of [0, 2]) {
        const task = await readTask(store, pushed.taskCodes[index]!);
        expect(task).to.include({ status: 0, retryCount: 0, crashCount: 0 });
        expect(task.busySince).to.be.a('string');
      }
      await Promise.all(held.map((leases) => leases.release()));
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE push_id = ?', [
        pushed.pushId,
      ]);
      await turn(world);
      expect(new Set(await placesByRow(store, pushed.pushId))).to.deep.equal(new Set(['DIFF_PENDING']));
      expect(await readTask(store, pushed.taskCodes[0]!)).to.include({ status: 2, busySince: null });
    });

    it('STA-3 ENG-14 a station that waits for a lease and is asked to stop does so at once, and waits no more', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const name = `partner:${world.partnerOrgId}:${world.stations[0]!.partnerStationNo}`;
      const held = await acquireLeases(stages.leases, requestFor(name));
      await turn(world);
      expect((await readTask(store, pushed.taskCodes[0]!)).busySince).to.be.a('string');
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE push_id = ?', [
        pushed.pushId,
      ]);
      await requestStop(store, pushed.taskIds[0]!, 'somebody');
      await turn(world);
      expect(await readTask(store, pushed.taskCodes[0]!)).to.include({
        status: 0,
        activation: Activation.STOPPED,
        retryCount: 0,
        busySince: null,
      });
      await held.release();
    });

    for (const [what, breaks] of [
      ['commit', false],
      ['rollback', true],
    ] as const) {
      it(`STA-4 the leases are free again after the ${what}, and were held during the transaction`, async () => {
        const world = await makeWorld();
        await push(world, [bill('2026-01')]);
        const names = [
          `partner:${world.partnerOrgId}:${world.stations[0]!.partnerStationNo}`,
          `platform:${world.stations[0]!.platformStationId}`,
        ];
        const claimed = await claim(stages, STAGE, world.partnerOrgId);
        const handler = stages.handlerOf(STAGE);
        const others: (string | undefined)[] = [];
        const outcome = await handler.around!(claimed.tasks, async (free) => {
          await workDirectly(
            store,
            handler,
            { ...claimed, tasks: free },
            {
              beforeCommit: async () => {
                for (const name of names)
                  others.push((await acquireLeases(stages.leases, requestFor(name))).fenceOf(name));
                if (breaks) throw new Error('broken before the commit');
              },
            },
          );
        }).then(
          () => 'committed',
          () => 'rolled back',
        );
        expect(outcome).to.equal(breaks ? 'rolled back' : 'committed');
        expect(others, 'what others got meanwhile').to.deep.equal([undefined, undefined]);
        for (const name of names) {
          const leases = await acquireLeases(stages.leases, requestFor(name));
          expect(leases.fenceOf(name), name).to.equal('2');
          await leases.release();
        }
        await unclaim(store, claimed);
      });
    }

    it('ENG-18 the guards carry the fences of the leases; an emptied Redis hands out higher ones, and the work goes on', async () => {
      const world = await makeWorld();
      const fences = () =>
        store.many<{ kind: number; fence: string }>(
          'SELECT kind, fence FROM station_guard WHERE partner_station_no = ? OR platform_station_id = ? ORDER BY kind',
          [world.stations[0]!.partnerStationNo, world.stations[0]!.platformStationId],
        );
      const seen: string[][] = [];
      for (const month of ['2026-01', '2026-02']) {
        await push(world, [bill(month)]);
        await turn(world);
        seen.push((await fences()).map((guard) => guard.fence));
      }
      const keys = await stages.leases.redis.keys(`${stages.leases.prefix}:*`);
      await stages.leases.redis.del(...keys);
      await push(world, [bill('2026-03')]);
      await turn(world);
      seen.push((await fences()).map((guard) => guard.fence));
      expect(seen).to.deep.equal([
        ['1', '1'],
        ['2', '2'],
        ['3', '3'],
      ]);
      expect(await billsOf(world)).to.have.length(3);
    });

    it('STA-2 STA-3 where Redis cannot be asked a station waits; nothing fails and nothing is lost', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const { redis } = stages.leases;
      redis.disconnect();
      try {
        await turn(world);
        expect(await readTask(store, pushed.taskCodes[0]!)).to.include({ status: 0, retryCount: 0 });
      } finally {
        await redis.connect();
      }
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE push_id = ?', [
        pushed.pushId,
      ]);
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['DIFF_PENDING']);
    });

    it('STA-3 ENG-19 a lease whose answer came so late that it may be over is no reason to begin: the station waits', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const hasty = stationActor({
        store,
        kick: stages.wake,
        leases: { ...stages.leases, leaseMs: 200 },
      });
      const slot: SlotKey = { stage: STAGE, partnerOrgId: world.partnerOrgId, slotNo: 1 };
      // Redis answers nobody for longer than the lease.
      await stages.leases.redis.client('PAUSE', 400);
      await takeTurn(stages.engine, hasty, slot, { contended: false });
      expect(await billsOf(world)).to.deep.equal([]);
      const task = await readTask(store, pushed.taskCodes[0]!);
      expect(task).to.include({ status: 0, retryCount: 0, crashCount: 0 });
      expect(task.busySince).to.be.a('string');
    });

    it('STA-1 ENG-17 a mapping that changes between its reading and its guards makes the station wait, not write', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const moved = await makePropStation(store);
      const claimed: Claimed = await claim(stages, STAGE, world.partnerOrgId);
      const other = await stages.testStore.openAnother();
      let changed = false;
      const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed, {
        before: async (statement) => {
          if (changed || !statement.startsWith('INSERT INTO station_guard')) return;
          changed = true;
          await other.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ?', [
            moved,
            world.partnerOrgId,
          ]);
        },
      }).catch((error: Error) => error.name);
      expect(outcome).to.equal('BusyError');
      expect(await billsOf(world)).to.deep.equal([]);
      await unclaim(store, claimed);
      await turn(world);
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['DIFF_PENDING']);
    });
  });

  describe('interruptions', () => {
    interface Interrupted {
      readonly stopping: AbortController;
      readonly slot: SlotKey;
      readonly guards: readonly GuardWithFence[];
    }
    const interruptions: [
      what: string,
      beforeTransaction: number,
      act: (at: Interrupted) => Promise<unknown>,
    ][] = [
      ['the process is told to stop', 2, async ({ stopping }) => stopping.abort()],
      ['the lease of its slot ends', 3, ({ slot }) => endLease(store, slot)],
      [
        'another takes its slot',
        3,
        async ({ slot }) => {
          await endLease(store, slot);
          await takeSlot({ ...stages.engine, worker: 'worker-b' }, slot);
        },
      ],
      [
        'a later lease has been at its guards',
        3,
        ({ guards }) => store.transaction(NEW_READ_COMMITTED, (tx) => lockGuards(tx, guards)),
      ],
    ];
    for (const [what, beforeTransaction, act] of interruptions) {
      it(`STA-2 STA-3 ${what}: that is no failure; what had committed goes on, the rest goes back untouched`, async () => {
        const world = await makeWorld();
        const [{ partnerStationNo, platformStationId }] = world.stations as [MadeMapping];
        // Two pushes of one station are two transactions of one claim: the second and the third of the turn.
        const first = await push(world, [bill('2026-01')]);
        const second = await push(world, [bill('2026-02')]);
        const at: Interrupted = {
          stopping: new AbortController(),
          slot: { stage: STAGE, partnerOrgId: world.partnerOrgId, slotNo: 1 },
          guards: [
            { key: partnerStationGuard(world.partnerOrgId, partnerStationNo), fence: '99' },
            { key: platformStationGuard(platformStationId!), fence: '99' },
          ],
        };
        const interrupted = new ScriptedStore((await stages.testStore.openAnother()).orm);
        interrupted.beforeBegin = async (number) => {
          if (number === beforeTransaction) await act(at);
        };
        const engine = { ...stages.engine, store: interrupted, stopping: at.stopping.signal };
        await takeTurn(engine, stages.handlerOf(STAGE), at.slot, { contended: false });

        expect(await statusOf(store, first.taskCodes[0]!)).to.equal('SUCCESS');
        expect((await handoversOf(first)).map((row) => row.bills)).to.deep.equal([1]);
        expect(stages.wake.kicks).to.include(`income-diff/${world.partnerOrgId}`);
        expect((await billsOf(world)).map((one) => one.month)).to.deep.equal(['2026-01']);
        const task = await readTask(store, second.taskCodes[0]!);
        expect(task).to.include({ retryCount: 0, errorMessage: null });
        expect(await placesByRow(store, second.pushId)).to.deep.equal(['STATION_PENDING']);
        expect(await handoversOf(second)).to.deep.equal([]);

        await endLeaseIfHeld(at.slot);
        await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE push_id = ?', [
          second.pushId,
        ]);
        await turn(world);
        expect(await placesByRow(store, second.pushId)).to.deep.equal(['DIFF_PENDING']);
        expect((await billsOf(world)).map((one) => one.month)).to.deep.equal(['2026-01', '2026-02']);
      });
    }
    const endLeaseIfHeld = (slot: SlotKey) =>
      store.change(
        `UPDATE stage_slot SET lease_end = SYSDATE(3) - INTERVAL 1 SECOND
          WHERE stage = ? AND partner_org_id = ? AND slot_no = ? AND holder IS NOT NULL`,
        [slot.stage, slot.partnerOrgId, slot.slotNo],
      );

    it('STA-3 ENG-18 a lease that is lost while the transaction runs costs nothing: the guard is the right', async () => {
      const world = await makeWorld();
      const pushed = await push(world, [bill('2026-01')]);
      const name = `platform:${world.stations[0]!.platformStationId}`;
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const handler = stages.handlerOf(STAGE);
      const beforeCommit = async () => {
        await stages.leases.redis.del(`${stages.leases.prefix}:lease:${name}`);
        const other = await acquireLeases(stages.leases, [{ name, floor: '0' }]);
        expect(other.fenceOf(name), 'another got it').to.be.a('string');
      };
      await handler.around!(claimed.tasks, async (free) => {
        await workDirectly(store, handler, { ...claimed, tasks: free }, { beforeCommit });
      });
      expect(await placesByRow(store, pushed.pushId)).to.deep.equal(['DIFF_PENDING']);
      const third = await acquireLeases(stages.leases, [{ name, floor: '0' }]);
      expect(third.fenceOf(name), 'the other’s lease was left alone').to.equal(undefined);
      await unclaim(store, claimed);
    });
  });
});
