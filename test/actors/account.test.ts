import { expect } from 'chai';
import { accountActor } from '../../actors/account-shard.ts';
import type { AccountRefresh, RefreshProgress } from '../../src/domain/account-refresh.ts';
import { FencedOutError } from '../../src/errors.ts';
import { requestStop } from '../../src/store/stage-control.ts';
import type { Store } from '../../src/store/transaction.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { dueInMs, holdRows, makeTask, readTask } from '../support/engine.ts';
import {
  type Columns,
  insertNumberedRow,
  type MadeMapping,
  makeMapping,
  makePlatformAccount,
  makePlatformBill,
} from '../support/factory.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import {
  type AcceptedPush,
  acceptPush,
  bill,
  claim,
  endClaimed,
  makeStagedPartner,
  openStages,
  placesByRow,
  type Stages,
  unclaim,
  type WorkOptions,
  workDirectly,
} from '../support/stages.ts';

const STAGE = 'account-shard';

describe('actors: account', () => {
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
  /** Stations with an account and bills of our own; `ours: false` leaves that side out. */
  async function makeWorld(stationCount = 1, months = ['2026-01'], ours = true): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store);
    const stations: MadeMapping[] = [];
    for (let index = 0; index < stationCount; index++) {
      const mapping = await makeMapping(store, partnerOrgId);
      stations.push(mapping);
      if (!ours) continue;
      const where = { partnerOrgId, platformStationId: mapping.platformStationId! };
      const accountId = await makePlatformAccount(store, where);
      for (const month of months) await makePlatformBill(store, { ...where, accountId, month });
    }
    return { partnerOrgId, stations };
  }
  const push = (world: World, bills: readonly Columns[]) =>
    acceptPush(
      store,
      world.partnerOrgId,
      world.stations.map((mapping) => ({ mapping, bills })),
    );
  /** Pushed and compared: the account task waits. */
  async function compared(world: World, bills: readonly Columns[]): Promise<AcceptedPush> {
    const made = await push(world, bills);
    await stages.turnsUpTo('income-diff', world.partnerOrgId);
    return made;
  }
  const turn = (world: World) => stages.turn(STAGE, world.partnerOrgId);
  const makeDue = (world: World) =>
    store.change(
      'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND stage = ?',
      [world.partnerOrgId, STAGE],
    );
  const verify = (world: World, status = 'VERIFIED') =>
    store.change('UPDATE fi_customer_bill_partner SET partner_query_status = ? WHERE partner_org_id = ?', [
      status,
      world.partnerOrgId,
    ]);
  async function taskOf(world: World) {
    const { code } = await store.one<{ code: string }>(
      'SELECT task_code code FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id DESC LIMIT 1',
      [world.partnerOrgId, STAGE],
    );
    const task = await readTask(store, code);
    return { ...task, taskCode: code, progress: task.result as RefreshProgress | null };
  }
  async function changeData(world: World, change: (refresh: AccountRefresh) => object): Promise<void> {
    const task = await taskOf(world);
    await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
      JSON.stringify(change(task.taskData as AccountRefresh)),
      task.id,
    ]);
  }
  const work = async (world: World, options: WorkOptions = {}) => {
    const claimed = await claim(stages, STAGE, world.partnerOrgId);
    const done = await workDirectly(store, stages.handlerOf(STAGE), claimed, options);
    await endClaimed(store, claimed);
    return done;
  };
  const outcomesOf = (world: World) =>
    store.many<{ station: string; outcome: string; code: string | null; attempt: number; scopes: number }>(
      `SELECT o.platform_station_id station, o.outcome, o.error_code code, o.running_attempt attempt, o.scope_count scopes
         FROM account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id WHERE t.partner_org_id = ? ORDER BY o.id`,
      [world.partnerOrgId],
    );
  const TABLES = ['fi_customer_bill', 'fi_customer_bill_partner', 'fi_monthly_income_difference'];
  const projectionsOf = (table: string, world: World) =>
    store.many<{ status: string; paid: string; payable: string }>(
      `SELECT payment_status status, paid_amount paid, current_payable payable FROM ${table} WHERE partner_org_id = ? ORDER BY id`,
      [world.partnerOrgId],
    );
  const ledgerOf = (world: World) =>
    store.many<{ id: string; station: string; result: string | null; reason: string | null }>(
      `SELECT id, station_id station, pre_rent_check_result result, pre_rent_check_reason reason
         FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id, share_month`,
      [world.partnerOrgId],
    );
  async function pay(world: World, amounts: readonly string[]): Promise<void> {
    const [row] = await store.many<{ id: string }>(
      'SELECT id FROM fi_customer_bill_partner WHERE partner_org_id = ? ORDER BY id LIMIT 1',
      [world.partnerOrgId],
    );
    for (const [index, amount] of amounts.entries())
      await insertNumberedRow(store, 'fi_resident_income_payment_fact', {
        event_id: `event-${row!.id}-${index}`,
        payment_order_id: '1',
        payment_order_version_id: '1',
        order_bill_id: '1',
        partner_bill_id: row!.id,
        amount,
        paid_time: '2026-02-01',
      });
  }

  describe('one account, one unit', () => {
    it('ACC-3 ACC-9 ENG-17 task row, guards, facts, snapshot capacity, the three tables, snapshot task, totals, rows, progress: in this order', async () => {
      const world = await makeWorld(2);
      await compared(world, [bill('2026-01')]);
      const { statements } = await work(world);
      const steps: [string, RegExp][] = [
        ['task row', /^SELECT .* FROM fi_async_task WHERE id .*FOR UPDATE$/],
        ['guards', /^INSERT INTO station_guard/],
        ['facts', /FROM fi_monthly_income_difference d LEFT JOIN/],
        ['snapshot capacity', /FROM fi_async_task .*WHERE task_code IN .*FOR UPDATE$/],
        ['three tables', /^UPDATE JSON_TABLE.* payment_status/],
        ['snapshot task', /^INSERT INTO fi_async_task/],
        ['totals', /^UPDATE fi_customer_account/],
        ['rows', /^UPDATE JSON_TABLE.*pushed_row_place/],
        ['outcomes', /^INSERT INTO account_refresh_outcome/],
        ['progress', /^UPDATE fi_async_task SET result/],
      ];
      const seen = statements.flatMap((text) => steps.find(([, pattern]) => pattern.test(text))?.[0] ?? []);
      expect(seen.filter((step, index) => step !== seen[index - 1])).to.deep.equal(
        steps.map(([step]) => step),
      );
      const firstWrite = statements.findIndex((text) => /^(INSERT|UPDATE|DELETE)/.test(text));
      expect(statements[firstWrite], 'the first write is the guards').to.match(/^INSERT INTO station_guard/);
    });

    it('ACC-7 writes the same values on platform bill, partner bill and difference', async () => {
      const world = await makeWorld(1, ['2026-01', '2026-02']);
      await compared(world, [
        bill('2026-01'),
        bill('2026-02', { rent: '200.00', deduction_amount: '20.00', freeze_amount: '5.00' }),
      ]);
      await verify(world);
      await pay(world, ['30.00', '20.00', '-20.00']);
      await turn(world);
      for (const table of TABLES)
        expect(await projectionsOf(table, world), table).to.deep.equal([
          { status: 'PARTIALLY_PAID', paid: '30.00', payable: '80.00' },
          { status: 'PAYABLE', paid: '0.00', payable: '175.00' },
        ]);
    });

    const projections: [
      what: string,
      verification: string,
      paid: string[],
      status: string,
      payable: string,
    ][] = [
      ['verified, nothing paid', 'VERIFIED', [], 'PAYABLE', '110.00'],
      ['verified, all paid', 'VERIFIED', ['110.00'], 'PAID', '0.00'],
      ['verified, paid and reversed', 'VERIFIED', ['110.00', '-110.00'], 'PAYABLE', '110.00'],
      ['not verified, part of it paid', 'NOT_VERIFIED', ['10.00'], 'NOT_VERIFIED', '0.00'],
      ['unqualified', 'UNQUALIFIED', [], 'UNQUALIFIED', '0.00'],
    ];
    for (const [what, verification, paid, status, payable] of projections) {
      it(`ACC-8 ${what}: ${status}, ${payable} payable`, async () => {
        const world = await makeWorld();
        await compared(world, [bill('2026-01')]);
        await verify(world, verification);
        await pay(world, paid);
        await turn(world);
        const [row] = await projectionsOf('fi_monthly_income_difference', world);
        expect(row).to.include({ status, payable });
      });
    }

    it('ACC-3 DEC-5 what is payable and paid goes into the totals of both sides’ accounts', async () => {
      const world = await makeWorld(1, ['2026-01', '2026-02']);
      await compared(world, [bill('2026-01'), bill('2026-02', { freeze_amount: '7.00' })]);
      await verify(world);
      await pay(world, ['30.00']);
      await turn(world);
      const totals = (table: string) =>
        store.one(
          `SELECT bill_count bills, total_rent rent, total_payable payable, total_paid paid, first_bill_month first, last_bill_month last
             FROM ${table} WHERE partner_org_id = ?`,
          [world.partnerOrgId],
        );
      const expected = {
        bills: 2,
        rent: '240.00',
        payable: '183.00',
        paid: '30.00',
        first: '2026-01',
        last: '2026-02',
      };
      expect(await totals('fi_customer_account_partner')).to.deep.equal(expected);
      expect(await totals('fi_customer_account')).to.deep.equal(expected);
    });

    it('DEC-5 the current month feeds the accounts’ current month alone, and never moves it back', async () => {
      const world = await makeWorld(1, ['2026-01', '2026-02']);
      const current = () =>
        store.many(
          `SELECT current_month month, current_month_rent rent FROM fi_customer_account_partner WHERE partner_org_id = ?
           UNION ALL SELECT current_month, current_month_rent FROM fi_customer_account WHERE partner_org_id = ?`,
          [world.partnerOrgId, world.partnerOrgId],
        );
      for (const [month, expected] of [
        ['2026-02', { month: '2026-02', rent: '120.00' }],
        ['2026-01', { month: '2026-02', rent: '120.00' }],
        ['2026-03', { month: '2026-03', rent: '0.00' }],
      ] as const) {
        await compared(world, [bill('2026-01', { rent: '120.00' }), bill('2026-02', { rent: '120.00' })]);
        await changeData(world, (refresh) => ({ ...refresh, currentMonth: month }));
        await turn(world);
        expect(await current(), month).to.deep.equal([expected, expected]);
      }
    });

    it('ACC-2 ENG-9 a task that runs under another attempt by now is not touched', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      await store.change('UPDATE fi_async_task SET running_attempt = running_attempt + 1 WHERE id = ?', [
        claimed.tasks[0]!.id,
      ]);
      const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed).catch(
        (error: Error) => error,
      );
      expect(outcome).to.be.instanceOf(FencedOutError);
      expect(await outcomesOf(world)).to.deep.equal([]);
      await unclaim(store, claimed);
    });

    it('ACC-3 an account that takes longer than it may fails by itself; several that do together are tried one by one', async () => {
      const world = await makeWorld(3);
      await compared(world, [bill('2026-01')]);
      await verify(world);
      const hurried = accountActor({ kick: stages.wake, timeLimitMs: 0 });
      const slot = { stage: STAGE, partnerOrgId: world.partnerOrgId, slotNo: 1 } as const;
      await takeTurn(stages.engine, hurried, slot, { contended: false });
      const task = await taskOf(world);
      expect(task).to.include({ status: 0, errorCode: 'ACCOUNT_TOO_SLOW', retryCount: 0 });
      expect(task.errorMessage).to.include('0 ms');
      expect((await outcomesOf(world)).map((row) => [row.station, row.outcome, row.code])).to.deep.equal([
        [world.stations[0]!.platformStationId, 'FAILED', 'ACCOUNT_TOO_SLOW'],
      ]);
      const statuses = await projectionsOf('fi_monthly_income_difference', world);
      expect(new Set(statuses.map((row) => row.status)), 'rolled back').to.deep.equal(
        new Set(['NOT_VERIFIED']),
      );
      await makeDue(world);
      await turn(world);
      expect(await taskOf(world)).to.include({ status: 2, finalResult: 'FULL_SUCCESS' });
    });

    it('ACC-3 a task whose month is none refreshes nothing', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      await changeData(world, (refresh) => ({ ...refresh, currentMonth: '2026-13' }));
      await turn(world);
      expect((await outcomesOf(world)).map((row) => row.code)).to.deep.equal(['BAD_CURRENT_MONTH']);
    });

    it('ACC-3 an account that the cursor has passed is a duplicate: nothing of it is done again', async () => {
      const world = await makeWorld(3);
      const made = await compared(world, [bill('2026-01')]);
      const [first, second, third] = world.stations.map((station) => station.platformStationId!);
      const task = await taskOf(world);
      const progress = {
        cursor: first,
        processedAccountCount: 1,
        skippedAccountCount: 0,
        currentAccountId: null,
      };
      await store.change('UPDATE fi_async_task SET result = ? WHERE id = ?', [
        JSON.stringify(progress),
        task.id,
      ]);
      await turn(world);
      expect((await outcomesOf(world)).map((row) => row.station)).to.deep.equal([second, third]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal([
        'ACCOUNT_PENDING',
        'SNAPSHOT_PENDING',
        'SNAPSHOT_PENDING',
      ]);
      expect((await taskOf(world)).progress).to.include({ processedAccountCount: 3, cursor: third });
    });
  });

  describe('batch facts', () => {
    for (const [what, preRent, result] of [
      ['does not exceed', '100.00', 'PASS'],
      ['exceeds', '9.99', 'FAIL'],
    ] as const) {
      it(`ACC-8 a batch deduction that ${what} the cumulative pre-rent: ${result}, and the status stays what it is`, async () => {
        const world = await makeWorld();
        await compared(world, [bill('2026-01', { pre_rent: preRent })]);
        await verify(world);
        await turn(world);
        const [row] = await ledgerOf(world);
        expect(row!.result).to.equal(result);
        if (result === 'FAIL') expect(row!.reason).to.include('10.00').and.to.include('9.99');
        else expect(row!.reason).to.equal(null);
        expect((await projectionsOf('fi_monthly_income_difference', world))[0]!.status).to.equal('PAYABLE');
      });
    }

    it('ACC-8 DEC-20 a task without batch deductions leaves the result as it is', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      await store.change(
        "UPDATE fi_monthly_income_difference SET pre_rent_check_result = 'FAIL' WHERE partner_org_id = ?",
        [world.partnerOrgId],
      );
      await changeData(world, (refresh) => ({
        ...refresh,
        platformAccountScopes: refresh.platformAccountScopes.map((scope) => ({
          ...scope,
          batchDeduction: null,
        })),
      }));
      await turn(world);
      expect((await ledgerOf(world))[0]!.result).to.equal('FAIL');
    });

    it('ACC-8 a difference that carries a later push takes no batch fact of an earlier one; the row is SUPERSEDED, no failure', async () => {
      const world = await makeWorld(1, ['2026-01', '2026-02']);
      const first = await compared(world, [
        bill('2026-01', { pre_rent: '0.00' }),
        bill('2026-02', { pre_rent: '0.00' }),
      ]);
      const held = await claim(stages, STAGE, world.partnerOrgId);
      await unclaim(store, held);
      const second = await compared(world, [bill('2026-01', { pre_rent: '1.00' })]);
      const done = await workDirectly(store, stages.handlerOf(STAGE), {
        ...(await claim(stages, STAGE, world.partnerOrgId)),
      }).then(
        (value) => value,
        (error: Error) => error,
      );
      expect(done).to.not.be.instanceOf(Error);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED', 'SNAPSHOT_PENDING']);
      expect(
        (await ledgerOf(world)).map((row) => row.result),
        'the later push’s month is untouched',
      ).to.deep.equal([null, 'FAIL']);
      const { by } = await store.one<{ by: string }>(
        'SELECT superseded_by_push_id `by` FROM pushed_row_place WHERE push_id = ? AND row_no = 1',
        [first.pushId],
      );
      expect(by).to.equal(second.pushId);
    });
  });

  describe('facts', () => {
    const broken: [what: string, code: string, breakIt: (world: World, id: string) => Promise<unknown>][] = [
      [
        'one that is gone',
        'FACTS_MISSING',
        (_world, id) => store.change('DELETE FROM fi_monthly_income_difference WHERE id = ?', [id]),
      ],
      [
        'one of another partner',
        'FACTS_MISSING',
        (_world, id) =>
          store.change('UPDATE fi_monthly_income_difference SET partner_org_id = 1 WHERE id = ?', [id]),
      ],
      [
        'one of another station',
        'FACTS_MISSING',
        (_world, id) =>
          store.change('UPDATE fi_monthly_income_difference SET station_id = 1 WHERE id = ?', [id]),
      ],
      [
        'none at all, which is never all',
        'FACTS_MISSING',
        (world) =>
          changeData(world, (refresh) => ({
            ...refresh,
            differenceFactIds: [],
            platformAccountScopes: refresh.platformAccountScopes.map((scope) => ({
              ...scope,
              factIds: [],
              rowNos: [],
            })),
          })),
      ],
      [
        'a month that is none',
        'BAD_SHARE_MONTH',
        (_world, id) =>
          store.change("UPDATE fi_monthly_income_difference SET share_month = '2026-13' WHERE id = ?", [id]),
      ],
    ];
    for (const [what, code, breakIt] of broken) {
      it(`ACC-5 ACC-6 ${what}: the account fails as ${code}, and nothing of it is written`, async () => {
        const world = await makeWorld(1, ['2026-01', '2026-02']);
        await compared(world, [bill('2026-01'), bill('2026-02')]);
        await verify(world);
        await breakIt(world, (await ledgerOf(world))[0]!.id);
        await turn(world);
        expect((await outcomesOf(world)).map((row) => [row.outcome, row.code])).to.deep.equal([
          ['FAILED', code],
        ]);
        const untouched = new Set(
          (await projectionsOf('fi_customer_bill_partner', world)).map((row) => row.status),
        );
        expect(untouched).to.deep.equal(new Set(['NOT_VERIFIED']));
      });
    }

    it('ACC-5 the facts of one account are never those of another in the same task', async () => {
      const world = await makeWorld(2);
      await compared(world, [bill('2026-01')]);
      await changeData(world, (refresh) => {
        const [one, other] = refresh.platformAccountScopes;
        return {
          ...refresh,
          platformAccountScopes: [
            { ...one!, factIds: other!.factIds },
            { ...other!, factIds: one!.factIds },
          ],
        };
      });
      await turn(world);
      expect((await outcomesOf(world)).map((row) => [row.outcome, row.code])).to.deep.equal([
        ['FAILED', 'FACTS_MISSING'],
      ]);
    });
  });

  describe('accounts', () => {
    it('ACC-4 one on the partner’s side alone is refreshed; there is no bill of ours to write', async () => {
      const world = await makeWorld(1, [], false);
      const made = await compared(world, [bill('2026-01')]);
      await verify(world);
      await turn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['SNAPSHOT_PENDING']);
      expect(await projectionsOf('fi_customer_bill_partner', world)).to.deep.equal([
        { status: 'PAYABLE', paid: '0.00', payable: '110.00' },
      ]);
    });

    const incomplete: [what: string, change: object, code: string][] = [
      ['of an older scope version', { scopeVersion: 3 }, 'PARTNER_ONLY_SCOPE'],
      ['under another account id', { canonicalAccountId: '1' }, 'PARTNER_ONLY_SCOPE'],
    ];
    for (const [what, change, code] of incomplete) {
      it(`ACC-4 one on the partner’s side alone ${what} fails as ${code}`, async () => {
        const world = await makeWorld(1, [], false);
        await compared(world, [bill('2026-01')]);
        await changeData(world, (refresh) => ({
          ...refresh,
          platformAccountScopes: refresh.platformAccountScopes.map((scope) => ({ ...scope, ...change })),
        }));
        const claimed = await claim(stages, STAGE, world.partnerOrgId);
        const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed).then(
          () => 'done',
          (error: { code: string }) => error.code,
        );
        expect(outcome).to.equal(code);
        await unclaim(store, claimed);
      });
    }

    for (const ours of [false, true]) {
      it(`ACC-4 one without a platform key, ${ours ? 'of both sides' : 'on the partner’s side alone'}, fails its task for good; none is passed over in silence`, async () => {
        const world = await makeWorld(2, ['2026-01'], ours);
        const made = await compared(world, [bill('2026-01')]);
        await changeData(world, (refresh) => {
          const [one, other] = refresh.platformAccountScopes;
          return { ...refresh, platformAccountScopes: [{ ...one!, platformStationId: '0' }, other!] };
        });
        await turn(world);
        expect(await taskOf(world)).to.include({
          status: 3,
          errorCode: 'BAD_ACCOUNT_SCOPE',
          claimable: null,
        });
        expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_FAILED', 'ACCOUNT_FAILED']);
        expect(await outcomesOf(world)).to.deep.equal([]);
      });
    }

    it('ACC-4 ENG-13 one whose guard another holds is no failure: the task waits half a second, and nothing is counted', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      const held = await holdRows(
        await stages.testStore.openAnother(),
        'SELECT fence FROM station_guard WHERE platform_station_id = ? FOR UPDATE',
        [world.stations[0]!.platformStationId!],
      );
      await turn(world);
      const waiting = await taskOf(world);
      expect(waiting).to.include({ status: 0, retryCount: 0, errorCode: null, claimable: 1 });
      expect(waiting.busySince).to.be.a('string');
      expect(await dueInMs(store, waiting.taskCode)).to.be.at.most(500);
      expect(await outcomesOf(world)).to.deep.equal([]);
      await held.release();
      await makeDue(world);
      await turn(world);
      expect(await taskOf(world)).to.include({ status: 2, finalResult: 'FULL_SUCCESS', busySince: null });
    });

    it('ACC-4 an account that is gone fails', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE partner_org_id = ?', [
        world.partnerOrgId,
      ]);
      await turn(world);
      expect((await outcomesOf(world)).map((row) => row.code)).to.deep.equal(['ACCOUNT_MISSING']);
    });
  });

  describe('snapshot requests', () => {
    const snapshotsOf = (world: World) =>
      store.many<{
        code: string;
        id: string;
        generation: number;
        status: number;
        data: { months: string[] };
      }>(
        `SELECT task_code code, id, request_generation generation, status, task_data data
           FROM fi_async_task WHERE partner_org_id = ? AND stage = 'bill-snapshot' ORDER BY id`,
        [world.partnerOrgId],
      );

    it('ACC-9 a task a station is accepted in the account’s transaction, its rows wait for it, and it is woken after the commit', async () => {
      const world = await makeWorld(1, ['2026-01', '2026-02']);
      const made = await compared(world, [bill('2026-01'), bill('2026-02')]);
      const other = await stages.testStore.openAnother();
      const kick = `bill-snapshot/${world.partnerOrgId}`;
      await work(world, {
        beforeCommit: async () => {
          expect(
            await other.many(
              "SELECT id FROM fi_async_task WHERE partner_org_id = ? AND stage = 'bill-snapshot'",
              [world.partnerOrgId],
            ),
          ).to.deep.equal([]);
          expect(stages.wake.kicks).to.not.include(kick);
        },
      });
      expect(stages.wake.kicks).to.include(kick);
      const [snapshot] = await snapshotsOf(world);
      expect(snapshot).to.include({
        code: `BDS:${world.partnerOrgId}:${world.stations[0]!.platformStationId}`,
        generation: 1,
        status: 0,
      });
      expect(snapshot!.data).to.deep.include({
        months: ['2026-01', '2026-02'],
        mode: 'EXISTING_ONLY_REFRESH',
        source: 'BULK_STATUS_REFRESH_ACCOUNT',
      });
      const waiting = await store.many(
        'SELECT DISTINCT snapshot_task_id taskId, snapshot_generation generation FROM pushed_row_place WHERE push_id = ?',
        [made.pushId],
      );
      expect(waiting).to.deep.equal([{ taskId: snapshot!.id, generation: 1 }]);
    });

    const refused: [what: string, columns: Columns, code: string][] = [
      [
        'whose capacity of 240 months is used up',
        {
          task_data: JSON.stringify({
            months: Array.from({ length: 240 }, (_, index) =>
              new Date(Date.UTC(1990, index)).toISOString().slice(0, 7),
            ),
          }),
        },
        'SNAPSHOT_CAPACITY',
      ],
      ['that was cancelled', { status: 4, task_data: '{"months":[]}' }, 'SNAPSHOT_TASK_CANCELLED'],
    ];
    for (const [what, columns, code] of refused) {
      it(`SNP-1 ACC-3 a snapshot task ${what} fails the account before anything of it is changed`, async () => {
        const world = await makeWorld();
        const made = await compared(world, [bill('2026-01')]);
        await verify(world);
        await makeTask(store, `BDS:${world.partnerOrgId}:${world.stations[0]!.platformStationId}`, {
          stage: 'bill-snapshot',
          partner_org_id: world.partnerOrgId,
          task_type: 'RESIDENT_INCOME_PAYMENT_BILL_SNAPSHOT',
          business_key: `BDS:${world.partnerOrgId}:${world.stations[0]!.platformStationId}`,
          ...columns,
        });
        const writes: string[] = [];
        const claimed = await claim(stages, STAGE, world.partnerOrgId);
        const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed, {
          before: (statement) => {
            if (/^(INSERT|UPDATE)/.test(statement)) writes.push(statement.split(' ').slice(0, 3).join(' '));
          },
        }).catch((error: { code: string }) => error.code);
        expect(outcome).to.equal(code);
        expect(writes).to.deep.equal(['INSERT INTO station_guard']);
        expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_PENDING']);
        await unclaim(store, claimed);
      });
    }

    it('SNP-1 240 months are not too many', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      const code = `BDS:${world.partnerOrgId}:${world.stations[0]!.platformStationId}`;
      const months = Array.from({ length: 239 }, (_, index) =>
        new Date(Date.UTC(1990, index)).toISOString().slice(0, 7),
      );
      await makeTask(store, code, {
        stage: 'bill-snapshot',
        partner_org_id: world.partnerOrgId,
        task_type: 'RESIDENT_INCOME_PAYMENT_BILL_SNAPSHOT',
        business_key: code,
        task_data: JSON.stringify({ months }),
      });
      await turn(world);
      const [snapshot] = await snapshotsOf(world);
      expect(snapshot!.generation).to.equal(2);
      expect(snapshot!.data.months).to.have.length(240);
    });
  });

  describe('failures', () => {
    /** Whatever the task does with this station fails until `mend`. */
    async function spoil(world: World, index: number): Promise<() => Promise<unknown>> {
      const row = (await ledgerOf(world)).find(
        ({ station }) => station === world.stations[index]!.platformStationId,
      )!;
      const give = (partnerOrgId: string) =>
        store.change('UPDATE fi_monthly_income_difference SET partner_org_id = ? WHERE id = ?', [
          partnerOrgId,
          row.id,
        ]);
      await give('1');
      return () => give(world.partnerOrgId);
    }

    it('ACC-10 ACC-12 ACC-13 an account that fails three times is skipped, its neighbours are refreshed, and the task succeeds in part', async () => {
      const world = await makeWorld(3, ['2026-01', '2026-02']);
      const made = await compared(world, [bill('2026-01'), bill('2026-02')]);
      const [first, second, third] = world.stations.map((station) => station.platformStationId!);
      const mend = await spoil(world, 1);
      const runs: {
        retries: number;
        due: number;
        status: number;
        result: string | null;
        error: string | null;
      }[] = [];
      for (let run = 0; run < 3; run++) {
        await turn(world);
        const task = await taskOf(world);
        const due = task.status === 0 ? await dueInMs(store, task.taskCode) : 0;
        runs.push({
          retries: task.retryCount,
          due: Math.ceil(due / 1_000),
          status: task.status,
          result: task.finalResult,
          error: task.errorCode,
        });
        if (run < 2) {
          expect(task.progress).to.include({
            cursor: first,
            processedAccountCount: 1,
            currentAccountId: second,
            currentAccountRetryCount: run + 1,
            failedAttemptCount: run + 1,
            lastFailedAccountId: second,
          });
          expect(await placesByRow(store, made.pushId)).to.deep.equal([
            ...Array(2).fill('SNAPSHOT_PENDING'),
            ...Array(4).fill('ACCOUNT_PENDING'),
          ]);
        }
        await makeDue(world);
      }
      expect(runs).to.deep.equal([
        { retries: 0, due: 2, status: 0, result: 'RUNNING', error: 'FACTS_MISSING' },
        { retries: 0, due: 10, status: 0, result: 'RUNNING', error: 'FACTS_MISSING' },
        { retries: 0, due: 0, status: 2, result: 'PARTIAL_SUCCESS', error: null },
      ]);
      expect((await taskOf(world)).progress).to.deep.equal({
        cursor: third,
        processedAccountCount: 3,
        skippedAccountCount: 1,
        skippedScopeCount: 2,
        failedAttemptCount: 3,
        failedScopeCount: 6,
        currentAccountId: null,
        currentAccountRetryCount: 0,
        lastFailedAccountId: second,
        lastSkippedAccountId: second,
      });
      expect(await outcomesOf(world)).to.deep.equal([
        { station: first, outcome: 'REFRESHED', code: null, attempt: 1, scopes: 2 },
        { station: second, outcome: 'FAILED', code: 'FACTS_MISSING', attempt: 1, scopes: 2 },
        { station: second, outcome: 'FAILED', code: 'FACTS_MISSING', attempt: 2, scopes: 2 },
        { station: second, outcome: 'SKIPPED', code: 'FACTS_MISSING', attempt: 3, scopes: 2 },
        { station: third, outcome: 'REFRESHED', code: null, attempt: 3, scopes: 2 },
      ]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal([
        'SNAPSHOT_PENDING',
        'SNAPSHOT_PENDING',
        'SKIPPED',
        'SKIPPED',
        'SNAPSHOT_PENDING',
        'SNAPSHOT_PENDING',
      ]);
      await mend();
      const faults = (await checkPlaces(store)).filter((fault) => fault.startsWith(`push ${made.pushId} `));
      expect(faults).to.deep.equal([]);
    });

    it('ACC-10 ENG-15 the culprit among many is found within one run; nobody else fails, whatever its place', async () => {
      const world = await makeWorld(9);
      await compared(world, [bill('2026-01')]);
      const mend = await spoil(world, 6);
      await turn(world);
      const outcomes = await outcomesOf(world);
      expect(outcomes.filter((row) => row.outcome === 'FAILED').map((row) => row.station)).to.deep.equal([
        world.stations[6]!.platformStationId,
      ]);
      expect(outcomes.filter((row) => row.outcome === 'REFRESHED')).to.have.length(6);
      await mend();
      await makeDue(world);
      await turn(world);
      const task = await taskOf(world);
      expect(task.finalResult).to.equal('FULL_SUCCESS');
      expect(task.progress).to.include({
        failedAttemptCount: 1,
        skippedAccountCount: 0,
        processedAccountCount: 9,
      });
    });

    it('ACC-10 an account that has failed is tried again alone; the others follow together', async () => {
      const world = await makeWorld(4);
      await compared(world, [bill('2026-01')]);
      const mend = await spoil(world, 0);
      await turn(world);
      await mend();
      await makeDue(world);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const processed: number[] = [];
      for (let step = 0; step < 2; step++) {
        await workDirectly(store, stages.handlerOf(STAGE), claimed);
        processed.push((await taskOf(world)).progress!.processedAccountCount);
      }
      expect(processed).to.deep.equal([1, 4]);
      await unclaim(store, claimed);
    });

    it('ACC-10 ENG-13 a fault of the task itself is not an account’s: it counts as the task’s own retry', async () => {
      const world = await makeWorld();
      await compared(world, [bill('2026-01')]);
      await store.change('UPDATE partner SET payment_flow = NULL WHERE partner_org_id = ?', [
        world.partnerOrgId,
      ]);
      await turn(world);
      expect(await taskOf(world)).to.include({
        status: 3,
        retryCount: 1,
        errorCode: 'PAYMENT_FLOW_UNRESOLVED',
      });
      expect(await outcomesOf(world)).to.deep.equal([]);
    });

    it('ACC-11 a stop request ends the run at the next boundary; it counts as no failure', async () => {
      const world = await makeWorld();
      const made = await compared(world, [bill('2026-01')]);
      const { id } = await taskOf(world);
      await requestStop(store, id, 'operator');
      await turn(world);
      expect(await taskOf(world)).to.include({ status: 0, activation: 0, retryCount: 0, errorCode: null });
      expect(await outcomesOf(world)).to.deep.equal([]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_PENDING']);
    });
  });
});
