import { expect } from 'chai';
import {
  type AccountRefresh,
  buildRefreshes,
  refreshBusinessKey,
  refreshTaskCode,
} from '../../src/domain/account-refresh.ts';
import { type DifferenceMessage, requestIdOf } from '../../src/domain/difference-message.ts';
import type { Store } from '../../src/store/transaction.ts';
import { makeTask, statusOf } from '../support/engine.ts';
import {
  type Columns,
  insertNumberedRow,
  insertRow,
  type MadeMapping,
  makeMapping,
  makePlatformAccount,
  makePlatformBill,
  makePropStation,
} from '../support/factory.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import {
  type AcceptedPush,
  acceptPush,
  bill,
  type Claimed,
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

const STAGE = 'income-diff';

describe('actors: difference', () => {
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
  async function makeWorld(
    stationCount = 1,
    { partner = {}, mapping = {} }: { partner?: Columns; mapping?: Columns } = {},
  ): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store, partner);
    const stations: MadeMapping[] = [];
    for (let index = 0; index < stationCount; index++)
      stations.push(await makeMapping(store, partnerOrgId, mapping));
    return { partnerOrgId, stations };
  }
  const whereIs = ({ partnerOrgId, stations }: World, index = 0) => ({
    partnerOrgId,
    platformStationId: stations[index]!.platformStationId!,
  });
  const push = (world: World, bills: readonly Columns[]) =>
    acceptPush(
      store,
      world.partnerOrgId,
      world.stations.map((mapping) => ({ mapping, bills })),
    );
  const commitStations = (world: World) => stages.turn('bill-station', world.partnerOrgId);
  const turn = (world: World) => stages.turn(STAGE, world.partnerOrgId);
  const makeDue = (world: World) =>
    store.change(
      "UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND stage = 'income-diff'",
      [world.partnerOrgId],
    );
  async function pushed(world: World, bills: readonly Columns[]): Promise<AcceptedPush> {
    const made = await push(world, bills);
    await commitStations(world);
    await turn(world);
    return made;
  }

  interface Row {
    readonly id: string;
    readonly stationId: string;
    readonly month: string;
    readonly status: string;
    readonly rent: string;
    readonly ready: number;
    readonly version: number;
    readonly acceptNo: string;
  }
  const ledgerOf = (world: World) =>
    store.many<Row>(
      `SELECT id, station_id stationId, share_month month, status, diff_rent rent, both_sides_ready ready,
              financial_version version, accept_no acceptNo
         FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id, share_month`,
      [world.partnerOrgId],
    );
  interface Task {
    readonly id: string;
    readonly code: string;
    readonly status: number;
    readonly retryCount: number;
    readonly maxRetryCount: number;
    readonly finalResult: string | null;
    readonly errorCode: string | null;
    readonly data: unknown;
  }
  const tasksOf = (world: World, stage: string) =>
    store.many<Task>(
      `SELECT id, task_code code, status, retry_count retryCount, max_retry_count maxRetryCount, final_result finalResult,
              error_code errorCode, task_data data
         FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id`,
      [world.partnerOrgId, stage],
    );
  const messagesOf = (world: World) => tasksOf(world, STAGE);
  const refreshesOf = async (world: World) =>
    (await tasksOf(world, 'account-shard')).map((task) => task.data as AccountRefresh);
  const outcomesOf = async (world: World) =>
    (await messagesOf(world)).map((task) => task.errorCode ?? task.finalResult);

  /** Closes what is open into messages and claims the first of them. */
  async function claimMessage(world: World): Promise<Claimed> {
    const first = await claim(stages, STAGE, world.partnerOrgId);
    if (first.tasks.length > 0) return first;
    await stages.handlerOf(STAGE).prepare!(first.right);
    await unclaim(store, first);
    return claim(stages, STAGE, world.partnerOrgId);
  }
  const work = (claimed: Claimed, options: WorkOptions = {}) =>
    workDirectly(store, stages.handlerOf(STAGE), claimed, options);
  const codeOf = (error: { code?: string; message: string }) => error.code ?? error.message;

  describe('the ledger', () => {
    it('DIF-7 holds both sides, partner minus platform, the order number and the accounts of each station-month', async () => {
      const world = await makeWorld();
      const accountId = await makePlatformAccount(store, whereIs(world));
      const billId = await makePlatformBill(
        store,
        { ...whereIs(world), accountId, month: '2026-01' },
        {
          settlement_amount: '200.00',
          rent: '119.50',
          pre_rent: null,
          freeze_amount: '1.00',
          deduction_amount: '10.00',
        },
      );
      const made = await pushed(world, [bill('2026-01')]);
      const row = await store.one<Record<string, unknown>>(
        'SELECT * FROM fi_monthly_income_difference WHERE partner_org_id = ?',
        [world.partnerOrgId],
      );
      const { id: partnerBillId, accountId: partnerAccountId } = await store.one<{
        id: string;
        accountId: string;
      }>('SELECT id, customer_account_id accountId FROM fi_customer_bill_partner WHERE partner_org_id = ?', [
        world.partnerOrgId,
      ]);
      expect(row).to.include({
        station_id: world.stations[0]!.platformStationId,
        share_month: '2026-01',
        partner_bill_id: partnerBillId,
        platform_bill_id: billId,
        partner_account_id: partnerAccountId,
        platform_account_id: accountId,
        partner_settlement: '180.00',
        platform_settlement: '200.00',
        diff_settlement: '-20.00',
        diff_rent: '0.50',
        platform_pre_rent: '0.00',
        diff_pre_rent: '100.00',
        diff_freeze: '-1.00',
        diff_deduction: '0.00',
        status: 'MISMATCHED',
        both_sides_ready: 1,
        partner_query_status: 'NOT_VERIFIED',
        accept_no: made.acceptNo,
        financial_version: 1,
      });
    });

    const equal: Columns = {
      settlement_amount: '180.00',
      rent: '120.00',
      pre_rent: '100.00',
      deduction_amount: '10.00',
    };
    const table: [what: string, tolerance: string, ours: Columns | null, status: string, ready: number][] = [
      ['equal sides', '0.00', equal, 'MATCHED', 1],
      ['a cent too much', '0.00', { ...equal, rent: '119.99' }, 'MISMATCHED', 1],
      [
        'a difference that the partner’s tolerance just allows',
        '0.50',
        { ...equal, rent: '119.50' },
        'MATCHED',
        1,
      ],
      ['one that it does not allow', '0.50', { ...equal, rent: '120.51' }, 'MISMATCHED', 1],
      ['no bill of ours', '0.00', null, 'PARTNER_ONLY', 0],
      ['a deleted bill of ours', '0.00', { ...equal, del_flag: 1 }, 'PARTNER_ONLY', 0],
    ];
    for (const [what, tolerance, ours, status, ready] of table) {
      it(`DIF-7 DIF-9 DEC-6 DEC-7 ${what}: ${status}, ${ready === 1 ? 'ready' : 'not ready'}`, async () => {
        const world = await makeWorld(1, { partner: { tolerance } });
        const accountId = await makePlatformAccount(store, whereIs(world));
        if (ours !== null)
          await makePlatformBill(store, { ...whereIs(world), accountId, month: '2026-01' }, ours);
        await pushed(world, [bill('2026-01')]);
        const [row] = await ledgerOf(world);
        expect([row!.status, row!.ready]).to.deep.equal([status, ready]);
      });
    }

    it('DIF-5 a missing platform account is an empty one', async () => {
      const world = await makeWorld();
      await pushed(world, [bill('2026-01')]);
      expect((await ledgerOf(world))[0]).to.include({ status: 'PARTNER_ONLY', rent: '120.00' });
    });

    it('DIF-7 a row of our side alone becomes MATCHED when the partner’s bill comes: the same row, one version on', async () => {
      const world = await makeWorld(1, { mapping: { project_company_id: '501' } });
      const { partnerOrgId, platformStationId } = whereIs(world);
      const accountId = await makePlatformAccount(store, { partnerOrgId, platformStationId });
      const platformBillId = await makePlatformBill(
        store,
        { partnerOrgId, platformStationId, accountId, month: '2026-01' },
        equal,
      );
      const id = await insertNumberedRow(store, 'fi_monthly_income_difference', {
        partner_org_id: partnerOrgId,
        station_id: platformStationId,
        share_month: '2026-01',
        project_company_id: '501',
        platform_bill_id: platformBillId,
        platform_rent: '120.00',
        diff_rent: '-120.00',
        status: 'PLATFORM_ONLY',
        financial_version: 4,
      });
      await insertRow(store, 'fi_project_income_difference', {
        project_company_id: '501',
        share_month: '2026-01',
        difference_count: 1,
        platform_only_count: 1,
        platform_rent: '120.00',
        diff_rent: '-120.00',
      });
      await pushed(world, [bill('2026-01')]);
      expect((await ledgerOf(world))[0]).to.include({
        id,
        status: 'MATCHED',
        ready: 1,
        version: 5,
        rent: '0.00',
      });
      expect(await summariesOf('501')).to.deep.equal([
        { month: '2026-01', n: 1, matched: 1, platformOnly: 0, rent: '120.00', diff: '0.00' },
      ]);
    });

    it('DIF-7 each push of a station-month writes the same row, counts its version, and leaves its number', async () => {
      const world = await makeWorld();
      await pushed(world, [bill('2026-01', { rent: '1.00' })]);
      const [first] = await ledgerOf(world);
      const second = await pushed(world, [bill('2026-01', { rent: '2.00' })]);
      const [row, ...others] = await ledgerOf(world);
      expect(others).to.deep.equal([]);
      expect(row).to.include({ id: first!.id, version: 2, rent: '2.00', acceptNo: second.acceptNo });
    });

    it('DIF-5 a bill that carries another number by now leaves the message, and the row says by whose', async () => {
      const world = await makeWorld();
      const first = await push(world, [bill('2026-01', { rent: '1.00' }), bill('2026-02', { rent: '1.00' })]);
      await commitStations(world);
      await claimMessage(world).then((claimed) => unclaim(store, claimed));
      const second = await push(world, [bill('2026-01', { rent: '2.00' })]);
      await commitStations(world);
      await turn(world);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED', 'ACCOUNT_PENDING']);
      const by = await store.many<{ by: string | null }>(
        'SELECT superseded_by_push_id `by` FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
        [first.pushId],
      );
      expect(by.map((row) => row.by)).to.deep.equal([second.pushId, null]);
      expect((await ledgerOf(world)).map(({ month, rent, version }) => [month, rent, version])).to.deep.equal(
        [
          ['2026-01', '2.00', 1],
          ['2026-02', '1.00', 1],
        ],
      );
    });
  });

  const summariesOf = async (company: string) => {
    const rows = await store.many<
      Record<'month' | 'n' | 'matched' | 'platformOnly' | 'rent' | 'diff', unknown>
    >(
      `SELECT share_month month, difference_count n, matched_count matched, platform_only_count platformOnly,
              partner_rent rent, diff_rent diff
         FROM fi_project_income_difference WHERE project_company_id = ? ORDER BY share_month`,
      [company],
    );
    return rows.map((row) => ({ ...row }));
  };

  describe('the monthly summaries', () => {
    it('DIF-9 messages of many partners at once leave a company’s months as their differences add up', async () => {
      const worlds = await Promise.all(
        Array.from({ length: 6 }, () => makeWorld(3, { mapping: { project_company_id: '600' } })),
      );
      for (const rent of ['10.10', '20.20']) {
        for (const world of worlds) await push(world, [bill('2026-01', { rent }), bill('2026-02', { rent })]);
        await Promise.all(worlds.map(commitStations));
        await Promise.all(worlds.map(turn));
      }
      expect(await summariesOf('600')).to.deep.equal(
        ['2026-01', '2026-02'].map((month) => ({
          month,
          n: 18,
          matched: 0,
          platformOnly: 0,
          rent: '363.60',
          diff: '363.60',
        })),
      );
      expect(await checkPlaces(store)).to.deep.equal([]);
    });

    it('DIF-9 ENG-17 are written last of what the ledger writes, each company and month in one ascending statement', async () => {
      const world = await makeWorld();
      const second = await makeMapping(store, world.partnerOrgId, { project_company_id: '30' });
      await store.change('UPDATE station_mapping SET project_company_id = 200 WHERE partner_station_no = ?', [
        world.stations[0]!.partnerStationNo,
      ]);
      await push({ ...world, stations: [...world.stations, second] }, [bill('2026-02'), bill('2026-01')]);
      await commitStations(world);
      const claimed = await claimMessage(world);
      const { statements } = await work(claimed);
      const writes = statements.filter((text) => /^(INSERT INTO|UPDATE) fi_(monthly|project)/.test(text));
      expect(writes.map((text) => text.split(' ')[2])).to.deep.equal([
        'fi_monthly_income_difference',
        'fi_project_income_difference',
      ]);
      await endClaimed(store, claimed);
    });
  });

  describe('the order of things', () => {
    it('DIF-5 ENG-17 the guards are locked before either side is read, and the mapping is read again under them', async () => {
      const world = await makeWorld(2);
      await push(world, [bill('2026-01')]);
      await commitStations(world);
      const claimed = await claimMessage(world);
      const { statements } = await work(claimed);
      const steps: [string, RegExp][] = [
        ['mapping', /^SELECT .* FROM station_mapping/],
        ['guards', /^INSERT INTO station_guard/],
        ['partner’s terms', /FROM partner WHERE/],
        ['partner side', /FROM fi_customer_bill_partner b/],
        ['platform side', /FROM fi_customer_(account|bill) WHERE/],
        ['ledger', /^INSERT INTO fi_monthly_income_difference/],
        ['account tasks', /^INSERT INTO fi_async_task/],
      ];
      const seen = statements.flatMap((text) => steps.find(([, pattern]) => pattern.test(text))?.[0] ?? []);
      expect(seen.filter((step, index) => step !== seen[index - 1])).to.deep.equal([
        'mapping',
        'guards',
        'mapping',
        'partner’s terms',
        'partner side',
        'platform side',
        'ledger',
        'account tasks',
      ]);
      await endClaimed(store, claimed);
    });

    it('DIF-5 a mapping that changes before the guards are held is followed', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      await commitStations(world);
      const claimed = await claimMessage(world);
      const other = await stages.testStore.openAnother();
      const moved = await makePropStation(store);
      const guards: string[] = [];
      await work(claimed, {
        before: async (statement) => {
          if (!statement.startsWith('INSERT INTO station_guard')) return;
          guards.push(statement);
          if (guards.length === 1)
            await other.change(
              'UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ?',
              [moved, world.partnerOrgId],
            );
        },
      });
      expect(guards).to.have.length(2);
      expect((await ledgerOf(world)).map((row) => row.stationId)).to.deep.equal([moved]);
      await endClaimed(store, claimed);
    });

    it('DIF-5 one that keeps changing fails the message, which is tried again', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      await commitStations(world);
      const claimed = await claimMessage(world);
      const other = await stages.testStore.openAnother();
      const outcome = await work(claimed, {
        before: async (statement) => {
          if (!statement.startsWith('INSERT INTO station_guard')) return;
          await other.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ?', [
            await makePropStation(other),
            world.partnerOrgId,
          ]);
        },
      }).catch(codeOf);
      expect(outcome).to.equal('MAPPING_CHANGES');
      await unclaim(store, claimed);
    });
  });

  describe('reading back', () => {
    const corruptions: [what: string, change: string][] = [
      ['another partner bill', 'partner_bill_id = 1'],
      ['no partner bill', 'partner_bill_id = NULL'],
      ['another platform bill', 'platform_bill_id = 1'],
      ['another partner account', 'partner_account_id = 1'],
      ['another organisation', 'partner_org_id = 1'],
      ['another month', "share_month = '2020-01'"],
    ];
    for (const [what, change] of corruptions) {
      it(`DIF-8 a difference that comes back with ${what} fails all, and nothing is written`, async () => {
        const world = await makeWorld(2);
        const made = await push(world, [bill('2026-01')]);
        await commitStations(world);
        const claimed = await claimMessage(world);
        let written = false;
        const outcome = await work(claimed, {
          before: async (statement, tx) => {
            if (statement.startsWith('INSERT INTO fi_monthly_income_difference')) written = true;
            else if (written && statement.startsWith('SELECT id, partner_org_id')) {
              written = false;
              await tx.change(
                `UPDATE fi_monthly_income_difference SET ${change} WHERE partner_org_id = ? AND station_id = ?`,
                [world.partnerOrgId, world.stations[1]!.platformStationId!],
              );
            }
          },
        }).catch(codeOf);
        expect(outcome).to.equal('DIFFERENCE_READ_BACK');
        expect(await ledgerOf(world)).to.deep.equal([]);
        expect(await refreshesOf(world)).to.deep.equal([]);
        expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_PENDING', 'DIFF_PENDING']);
        await unclaim(store, claimed);
      });
    }

    it('DIF-8 a message that names a station-month twice fails, and nothing is written', async () => {
      const world = await makeWorld();
      await push(world, [bill('2026-01')]);
      await commitStations(world);
      await unclaim(store, await claimMessage(world));
      const [message] = await messagesOf(world);
      const data = message!.data as DifferenceMessage;
      const { stations } = data.requestparams;
      const twice = {
        ...data,
        requestparams: { ...data.requestparams, stations: [...stations, ...stations] },
      };
      await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
        JSON.stringify(twice),
        message!.id,
      ]);
      const claimed = await claimMessage(world);
      expect(await work(claimed).catch(codeOf)).to.match(/twice/);
      expect(await ledgerOf(world)).to.deep.equal([]);
      await unclaim(store, claimed);
    });

    it('DIF-8 a message all of whose bills went on to a later push has nothing to write, and that is fine', async () => {
      const world = await makeWorld();
      const first = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await unclaim(store, await claimMessage(world));
      await push(world, [bill('2026-01')]);
      await commitStations(world);
      await turn(world);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED']);
      expect(await outcomesOf(world)).to.deep.equal(['FULL_SUCCESS', 'FULL_SUCCESS']);
      expect(await refreshesOf(world)).to.have.length(1);
    });
  });

  describe('the account tasks', () => {
    it('DIF-12 DIF-13 name their accounts with facts, batch deduction and rows; the month is that of the closing', async () => {
      const world = await makeWorld(2);
      const made = await pushed(world, [bill('2026-01'), bill('2026-02')]);
      const [refresh, ...others] = await refreshesOf(world);
      expect(others).to.deep.equal([]);
      const ledger = await ledgerOf(world);
      const [message] = await messagesOf(world);
      const { startTime } = message!.data as DifferenceMessage;
      expect(refresh).to.include({
        scopeStatusStrategy: 'EXACT_FACT_CHANGE',
        bulkType: 'ACCOUNT_STAT_RECALCULATE',
        currentMonth: new Date(Number(startTime) + 8 * 3_600_000).toISOString().slice(0, 7),
        pushId: made.pushId,
        acceptNo: made.acceptNo,
        changeId: `${requestIdOf(message!.data as DifferenceMessage)}:${world.partnerOrgId}:1`,
      });
      expect(refresh!.differenceFactIds).to.have.members(ledger.map((row) => row.id));
      expect(
        refresh!.platformAccountScopes.map(({ platformStationId, batchDeduction, factIds, rowNos }) => ({
          platformStationId,
          batchDeduction,
          factIds,
          rowNos,
        })),
      ).to.deep.equal(
        world.stations.map(({ platformStationId }, index) => ({
          platformStationId,
          batchDeduction: '20.00',
          factIds: ledger.filter((row) => row.stationId === platformStationId).map((row) => row.id),
          rowNos: [index * 2 + 1, index * 2 + 2],
        })),
      );
    });

    it('DIF-11 prefer the platform’s account; where there is none, the partner’s', async () => {
      const world = await makeWorld(2);
      // A number that no partner account has, or either would do.
      const accountId = await makePlatformAccount(store, whereIs(world, 0), { id: '700001' });
      await pushed(world, [bill('2026-01')]);
      const partnerAccounts = await store.many<{ id: string }>(
        'SELECT id FROM fi_customer_account_partner WHERE partner_org_id = ? ORDER BY partner_station_no',
        [world.partnerOrgId],
      );
      const [refresh] = await refreshesOf(world);
      expect(
        refresh!.platformAccountScopes.map((scope) => [
          scope.canonicalSide,
          scope.canonicalAccountId,
          scope.partnerAccountId,
          scope.platformAccountId,
        ]),
      ).to.deep.equal([
        ['PLATFORM', accountId, partnerAccounts[0]!.id, accountId],
        ['PARTNER', partnerAccounts[1]!.id, partnerAccounts[1]!.id, null],
      ]);
    });

    it('DIF-13 the same message twice reuses its task; a new push of the same amounts makes another', async () => {
      const world = await makeWorld();
      await pushed(world, [bill('2026-01')]);
      const [message] = await messagesOf(world);
      const [first] = await tasksOf(world, 'account-shard');
      await store.change('UPDATE fi_async_task SET status = 0 WHERE id = ?', [message!.id]);
      await turn(world);
      expect(await statusOf(store, message!.code)).to.equal('SUCCESS');
      expect((await tasksOf(world, 'account-shard')).map((task) => task.id)).to.deep.equal([first!.id]);
      await pushed(world, [bill('2026-01')]);
      expect(await tasksOf(world, 'account-shard')).to.have.length(2);
    });

    it('DIF-15 where they cannot be made the differences roll back whole; the bills that were committed stay', async () => {
      const world = await makeWorld(1, { mapping: { project_company_id: '700' } });
      await pushed(world, [bill('2026-01', { rent: '1.00' })]);
      const before = { ledger: await ledgerOf(world), summaries: await summariesOf('700') };
      const second = await push(world, [bill('2026-01', { rent: '2.00' })]);
      await commitStations(world);
      await unclaim(store, await claimMessage(world));
      // The differences are there already, so the task that the message will ask for is known; its code is taken.
      const message = (await messagesOf(world)).at(-1)!;
      const [{ platformAccountScopes, currentMonth }] = (await refreshesOf(world)) as [AccountRefresh];
      const [wanted] = buildRefreshes(
        {
          partnerOrgId: world.partnerOrgId,
          requestId: requestIdOf(message.data as DifferenceMessage),
          eventMonth: currentMonth,
          pushId: second.pushId,
          acceptNo: second.acceptNo,
        },
        platformAccountScopes,
      );
      const code = refreshTaskCode(refreshBusinessKey(world.partnerOrgId, wanted!));
      const taken = await makeTask(store, code, { partner_org_id: '999', status: 4 });
      await turn(world);
      expect(await ledgerOf(world)).to.deep.equal(before.ledger);
      expect(await summariesOf('700')).to.deep.equal(before.summaries);
      expect(await statusOf(store, message.code)).to.equal('FAILED');
      expect((await messagesOf(world)).at(-1)!.errorCode).to.equal('TASK_IDENTITY_CONFLICT');
      const { rent } = await store.one<{ rent: string }>(
        'SELECT rent FROM fi_customer_bill_partner WHERE partner_org_id = ?',
        [world.partnerOrgId],
      );
      expect(rent, 'the committed bill').to.equal('2.00');
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['DIFF_FAILED']);

      await store.change('DELETE FROM fi_async_task WHERE id = ?', [taken]);
      await store.change(
        'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE id = ?',
        [message.id],
      );
      await turn(world);
      expect((await ledgerOf(world))[0]).to.include({ rent: '2.00', version: 2 });
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['ACCOUNT_PENDING']);
    });
  });

  describe('what cannot be compared', () => {
    it('DIF-11 a station with two platform accounts is set aside by name; no row is picked, its neighbours go on', async () => {
      const world = await makeWorld(3);
      const first = await makePlatformAccount(store, whereIs(world, 1));
      await makePlatformAccount(store, whereIs(world, 1));
      const made = await pushed(world, [bill('2026-01')]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal([
        'ACCOUNT_PENDING',
        'DIFF_FAILED',
        'ACCOUNT_PENDING',
      ]);
      const aside = (await messagesOf(world)).find((task) => task.status === 3)!;
      expect(aside).to.include({ errorCode: 'DUPLICATE_ACCOUNT', retryCount: aside.maxRetryCount });
      await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE id = ?', [first]);
      await store.change(
        'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE id = ?',
        [aside.id],
      );
      await turn(world);
      expect(new Set(await placesByRow(store, made.pushId))).to.deep.equal(new Set(['ACCOUNT_PENDING']));
      expect(await checkPlaces(store)).to.deep.equal([]);
    });

    it('DIF-5 DIF-11 a station all of whose bills went on to a later push is SUPERSEDED, whatever is wrong with it', async () => {
      const world = await makeWorld(2);
      const first = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await unclaim(store, await claimMessage(world));
      const second = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await makePlatformAccount(store, whereIs(world, 1));
      await makePlatformAccount(store, whereIs(world, 1));
      await turn(world);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED', 'SUPERSEDED']);
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['ACCOUNT_PENDING', 'DIFF_FAILED']);
    });

    it('DIF-10 a fact whose batch deduction is not in a message that has some fails alone; by itself it needs none', async () => {
      const world = await makeWorld(2);
      const made = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await store.change('UPDATE income_diff_handover SET batch_deduction = NULL WHERE station_task_id = ?', [
        made.taskIds[1]!,
      ]);
      await turn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_PENDING', 'DIFF_FAILED']);
      const aside = (await messagesOf(world)).find((task) => task.status === 3)!;
      expect(aside.errorCode).to.equal('NO_BATCH_DEDUCTION');
      await store.change(
        'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE id = ?',
        [aside.id],
      );
      await turn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_PENDING', 'ACCOUNT_PENDING']);
    });

    it('DIF-10 a message without any batch deduction requires none', async () => {
      const world = await makeWorld(2);
      const made = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await store.change('UPDATE income_diff_handover SET batch_deduction = NULL WHERE push_id = ?', [
        made.pushId,
      ]);
      await turn(world);
      expect(new Set(await placesByRow(store, made.pushId))).to.deep.equal(new Set(['ACCOUNT_PENDING']));
    });

    for (const platformStationId of [null, '0']) {
      it(`DEC-3 DIF-10 with the platform station ${platformStationId}, which is none, there is no fact: NO_PLATFORM_STATION`, async () => {
        const world = await makeWorld(1, { mapping: { platform_station_id: platformStationId } });
        const made = await pushed(world, [bill('2026-01')]);
        expect(await outcomesOf(world)).to.deep.equal(['NO_PLATFORM_STATION']);
        expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_FAILED']);
        expect(await ledgerOf(world)).to.deep.equal([]);
      });
    }

    it('DIF-3 a message without a valid instant fails and waits for a person; it is never "now"', async () => {
      const world = await makeWorld(2);
      const made = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await unclaim(store, await claimMessage(world));
      const [message] = await messagesOf(world);
      const data = { ...(message!.data as DifferenceMessage), startTime: '5', recordTimestamp: '' };
      await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
        JSON.stringify(data),
        message!.id,
      ]);
      await turn(world);
      expect(await outcomesOf(world)).to.deep.equal(['NO_EVENT_MONTH']);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_FAILED', 'DIFF_FAILED']);
    });

    it('DIF-6 an undecided payment flow fails the message whole, never splits it, and is tried again', async () => {
      const world = await makeWorld(2, { partner: { payment_flow: null } });
      const made = await pushed(world, [bill('2026-01')]);
      expect(await outcomesOf(world)).to.deep.equal(['PAYMENT_FLOW_UNRESOLVED']);
      expect((await messagesOf(world))[0]).to.include({ status: 3, retryCount: 1 });
      expect(await ledgerOf(world)).to.deep.equal([]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_PENDING', 'DIFF_PENDING']);
      await store.change("UPDATE partner SET payment_flow = 'ENABLED' WHERE partner_org_id = ?", [
        world.partnerOrgId,
      ]);
      await makeDue(world);
      await turn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['ACCOUNT_PENDING', 'ACCOUNT_PENDING']);
    });

    it('DIF-5 DIF-16 what breaks unexpectedly splits the message until the culprit stands alone', async () => {
      const world = await makeWorld(4);
      const made = await push(world, [bill('2026-01')]);
      await commitStations(world);
      await store.change(
        'UPDATE fi_customer_account_partner SET del_flag = 1 WHERE partner_org_id = ? AND partner_station_no = ?',
        [world.partnerOrgId, world.stations[2]!.partnerStationNo],
      );
      await turn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal([
        'ACCOUNT_PENDING',
        'ACCOUNT_PENDING',
        'DIFF_PENDING',
        'ACCOUNT_PENDING',
      ]);
      const messages = await messagesOf(world);
      expect(messages.map((task) => task.errorCode ?? task.finalResult)).to.have.members([
        'SPLIT',
        'FULL_SUCCESS',
        'SPLIT',
        'PARTNER_ACCOUNT_MISSING',
        'FULL_SUCCESS',
      ]);
      const [parent, ...parts] = messages.map((task) => task.data as DifferenceMessage);
      expect(new Set(messages.map((task) => task.code)).size, 'identities of their own').to.equal(5);
      for (const part of parts) {
        expect(part.startTime).to.equal(parent!.startTime);
        expect(part.parentTraceId).to.equal(parent!.parentTraceId);
      }
      const culprit = messages.find((task) => task.errorCode === 'PARTNER_ACCOUNT_MISSING')!;
      expect(culprit).to.include({ status: 3, retryCount: 1 });
      const handover = await store.one<{ messageTaskId: string }>(
        'SELECT message_task_id messageTaskId FROM income_diff_handover WHERE station_task_id = ?',
        [made.taskIds[2]!],
      );
      expect(handover.messageTaskId, 'the hand-over says which message has the station now').to.equal(
        culprit.id,
      );
      await store.change('UPDATE fi_customer_account_partner SET del_flag = 0 WHERE partner_org_id = ?', [
        world.partnerOrgId,
      ]);
      await makeDue(world);
      await turn(world);
      expect(new Set(await placesByRow(store, made.pushId))).to.deep.equal(new Set(['ACCOUNT_PENDING']));
      expect(await checkPlaces(store)).to.deep.equal([]);
    });
  });

  describe('a partner without payment', () => {
    it('DIF-6 DEC-13 what was paid before stays paid on all three tables; nothing is payable any more', async () => {
      const world = await makeWorld();
      const accountId = await makePlatformAccount(store, whereIs(world));
      await makePlatformBill(store, { ...whereIs(world), accountId, month: '2026-01' });
      await pushed(world, [bill('2026-01')]);
      const { id: partnerBillId } = await store.one<{ id: string }>(
        'SELECT id FROM fi_customer_bill_partner WHERE partner_org_id = ?',
        [world.partnerOrgId],
      );
      for (const [eventId, amount] of [
        ['paid', '30.00'],
        ['reversed', '-5.00'],
      ] as const)
        await insertNumberedRow(store, 'fi_resident_income_payment_fact', {
          event_id: `${eventId}-${partnerBillId}`,
          payment_order_id: '1',
          payment_order_version_id: '1',
          order_bill_id: '1',
          partner_bill_id: partnerBillId,
          amount,
          paid_time: '2026-01-31',
        });
      await store.change("UPDATE partner SET payment_flow = 'DISABLED' WHERE partner_org_id = ?", [
        world.partnerOrgId,
      ]);
      const made = await pushed(world, [bill('2026-01')]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['PAYMENT_DISABLED']);
      for (const table of ['fi_monthly_income_difference', 'fi_customer_bill_partner', 'fi_customer_bill']) {
        const rows = await store.many(
          `SELECT payment_status status, paid_amount paid, current_payable payable FROM ${table} WHERE partner_org_id = ?`,
          [world.partnerOrgId],
        );
        expect(rows, table).to.deep.equal([{ status: 'NOT_APPLICABLE', paid: '25.00', payable: '0.00' }]);
      }
      for (const table of ['fi_customer_account_partner', 'fi_customer_account']) {
        const rows = await store.many(
          `SELECT total_paid paid, total_payable payable FROM ${table} WHERE partner_org_id = ?`,
          [world.partnerOrgId],
        );
        expect(rows, table).to.deep.equal([{ paid: '25.00', payable: '0.00' }]);
      }
    });

    it('DIF-6 DEC-20 the conclusions of a payment that does not exist are cleared, and the read model is asked to follow', async () => {
      const world = await makeWorld();
      await pushed(world, [bill('2026-01')]);
      await store.change(
        "UPDATE fi_monthly_income_difference SET pre_rent_check_result = 'FAIL', pre_rent_check_reason = 'too much' WHERE partner_org_id = ?",
        [world.partnerOrgId],
      );
      await store.change("UPDATE partner SET payment_flow = 'DISABLED' WHERE partner_org_id = ?", [
        world.partnerOrgId,
      ]);
      const accountTasks = (await tasksOf(world, 'account-shard')).length;
      await pushed(world, [bill('2026-01')]);
      const rows = await store.many(
        `SELECT partner_query_status verification, pre_rent_check_result result, pre_rent_check_reason reason
           FROM fi_monthly_income_difference WHERE partner_org_id = ?`,
        [world.partnerOrgId],
      );
      expect(rows).to.deep.equal([{ verification: null, result: null, reason: null }]);
      expect(await tasksOf(world, 'account-shard')).to.have.length(accountTasks);
      const [snapshot] = await tasksOf(world, 'bill-snapshot');
      expect(snapshot!.data).to.include({ source: 'PAYMENT_DISABLED', mode: 'EXISTING_ONLY_REFRESH' });
      expect(snapshot!.data).to.deep.include({ months: ['2026-01'] });
    });
  });
});
