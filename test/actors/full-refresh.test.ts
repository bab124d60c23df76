/** The refresh of a whole partner, by the account stage (ACC-14, DIF-14, DEC-20). */
import { expect } from 'chai';
import type { RefreshProgress } from '../../src/domain/account-refresh.ts';
import type { FullRefresh } from '../../src/domain/full-refresh.ts';
import { type AskedFullRefresh, askFullRefresh } from '../../src/payment/ask-full-refresh.ts';
import { lockPartner } from '../../src/store/partners.ts';
import { requestStop } from '../../src/store/stage-control.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { resumeIfStopped } from '../../src/store/waiting-tasks.ts';
import { dueInMs, holdRows, readTask, statusOf, untilWaiting } from '../support/engine.ts';
import {
  insertNumberedRow,
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
  claim,
  makeStagedPartner,
  openStages,
  placesByRow,
  type Stages,
  unclaim,
  workDirectly,
} from '../support/stages.ts';
import { whileTurnWaits } from '../support/while-waiting.ts';

const STAGE = 'account-full';
const MONTHS = ['2026-01', '2026-02', '2026-03'];
const CUT_OFF = '2026-02';
const TABLES = ['fi_customer_bill', 'fi_customer_bill_partner', 'fi_monthly_income_difference'] as const;

describe('actors: full refresh', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages({ lockWaitTimeoutS: 30 });
    store = stages.store;
  });
  after(() => stages.close());

  interface World {
    readonly partnerOrgId: string;
    /** By platform station, ascending. */
    readonly stations: readonly MadeMapping[];
    readonly push: AcceptedPush;
  }
  /** Stations whose bills of three months have gone through the whole chain; of the first `ours` we have bills too. */
  async function makeWorld(size: { stations?: number; ours?: number } = {}): Promise<World> {
    const { stations = 2, ours = stations } = size;
    const { partnerOrgId } = await makeStagedPartner(store);
    const mappings: MadeMapping[] = [];
    for (let index = 0; index < stations; index++) {
      const mapping = await makeMapping(store, partnerOrgId);
      mappings.push(mapping);
      if (index >= ours) continue;
      const where = { partnerOrgId, platformStationId: mapping.platformStationId! };
      const accountId = await makePlatformAccount(store, where);
      for (const month of MONTHS) await makePlatformBill(store, { ...where, accountId, month });
    }
    const bills = MONTHS.map((month) => bill(month));
    const push = await acceptPush(
      store,
      partnerOrgId,
      mappings.map((mapping) => ({ mapping, bills })),
    );
    await stages.turnsUpTo('bill-snapshot', partnerOrgId);
    return { partnerOrgId, stations: mappings, push };
  }
  /** Stations of ours alone, each with so many differences, none of which came from a push. */
  async function makeOwnStations(partnerOrgId: string, count: number, months: number): Promise<string[]> {
    const made: string[] = [];
    for (let index = 0; index < count; index++) {
      const platformStationId = await makePropStation(store);
      made.push(platformStationId);
      const accountId = await makePlatformAccount(store, { partnerOrgId, platformStationId });
      if (months === 0) continue;
      await store.change(
        `INSERT INTO fi_monthly_income_difference
           (partner_org_id, station_id, share_month, project_company_id, platform_account_id, status)
         VALUES ${Array.from({ length: months }, () => "(?, ?, ?, 1, ?, 'PLATFORM_ONLY')").join(', ')}`,
        Array.from({ length: months }, (_, month) => [
          partnerOrgId,
          platformStationId,
          new Date(Date.UTC(2010, month)).toISOString().slice(0, 7),
          accountId,
        ]).flat(),
      );
    }
    return made;
  }

  const ask = (partnerOrgId: string, cutOffMonth: string | null = CUT_OFF): Promise<AskedFullRefresh> =>
    store.transaction(NEW_READ_COMMITTED, async (tx) => {
      await lockPartner(tx, partnerOrgId);
      return askFullRefresh(tx, { partnerOrgId, cutOffMonth, actor: 'test', reason: null }, stages.wake);
    });
  const turn = (partnerOrgId: string) => stages.turn(STAGE, partnerOrgId);
  const taskOf = async ({ taskCode }: AskedFullRefresh) => {
    const task = await readTask(store, taskCode);
    return { ...task, progress: task.result as RefreshProgress };
  };
  const verify = (partnerOrgId: string) =>
    store.change('UPDATE fi_customer_bill_partner SET partner_query_status = ? WHERE partner_org_id = ?', [
      'VERIFIED',
      partnerOrgId,
    ]);
  const setFlow = (partnerOrgId: string, flow: string) =>
    store.change('UPDATE partner SET payment_flow = ? WHERE partner_org_id = ?', [flow, partnerOrgId]);
  const stationsOf = (world: World) => world.stations.map((station) => station.platformStationId!);
  const monthOf = (table: string) =>
    table === 'fi_monthly_income_difference' ? 'share_month' : 'bill_year_month';
  /** Status and payable by month, each once. */
  const projectionsOf = async (table: string, partnerOrgId: string) => {
    const rows = await store.many<{ text: string }>(
      `SELECT DISTINCT CONCAT(${monthOf(table)}, ' ', payment_status, ' ', current_payable) text
         FROM ${table} WHERE partner_org_id = ? ORDER BY 1`,
      [partnerOrgId],
    );
    return rows.map((row) => row.text);
  };
  const verdictsOf = (partnerOrgId: string) =>
    store.many(
      `SELECT d.id, d.partner_query_status verdict, d.pre_rent_check_result result, d.pre_rent_check_reason reason,
              b.partner_query_status billVerdict, d.financial_version version
         FROM fi_monthly_income_difference d LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
        WHERE d.partner_org_id = ? ORDER BY d.id`,
      [partnerOrgId],
    );
  const outcomesOf = ({ taskCode }: AskedFullRefresh) =>
    store.many<{ station: string; outcome: string; code: string; scopes: number }>(
      `SELECT o.platform_station_id station, o.outcome, o.error_code code, o.scope_count scopes
         FROM account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id WHERE t.task_code = ? ORDER BY o.id`,
      [taskCode],
    );
  const snapshotTasks = (partnerOrgId: string) =>
    store.many<{
      code: string;
      generation: number;
      status: number;
      months: string[];
      mode: string;
      source: string;
    }>(
      `SELECT task_code code, request_generation generation, status, task_data->'$.months' months,
              task_data->>'$.mode' mode, task_data->>'$.source' source
         FROM fi_async_task WHERE partner_org_id = ? AND stage = 'bill-snapshot' ORDER BY task_code`,
      [partnerOrgId],
    );

  describe('what it goes over', () => {
    it('ACC-14 every account of the partner, on either side or both, and of each the months up to the cut-off on all three tables', async () => {
      const world = await makeWorld({ stations: 3, ours: 2 });
      const { partnerOrgId } = world;
      const [own] = await makeOwnStations(partnerOrgId, 1, 0);
      const bystander = await makeWorld({ stations: 1 });
      await verify(partnerOrgId);
      await verify(bystander.partnerOrgId);
      const asked = await ask(partnerOrgId);
      await turn(partnerOrgId);
      expect(await taskOf(asked)).to.include({ status: 2, finalResult: 'FULL_SUCCESS' });
      expect((await taskOf(asked)).progress).to.include({
        processedAccountCount: 4,
        skippedAccountCount: 0,
        cursor: own,
      });
      for (const table of TABLES)
        expect(await projectionsOf(table, partnerOrgId), table).to.deep.equal([
          '2026-01 PAYABLE 110.00',
          '2026-02 PAYABLE 110.00',
          '2026-03 NOT_VERIFIED 0.00',
        ]);
      expect(
        await projectionsOf('fi_monthly_income_difference', bystander.partnerOrgId),
        'another partner',
      ).to.deep.equal(MONTHS.map((month) => `${month} NOT_VERIFIED 0.00`));
    });

    it('ACC-14 what is payable goes into the totals of both sides’ accounts', async () => {
      const world = await makeWorld({ stations: 1 });
      await verify(world.partnerOrgId);
      await ask(world.partnerOrgId);
      await turn(world.partnerOrgId);
      const totals = await store.many(
        `SELECT total_payable payable FROM fi_customer_account_partner WHERE partner_org_id = ?
         UNION ALL SELECT total_payable FROM fi_customer_account WHERE partner_org_id = ?`,
        [world.partnerOrgId, world.partnerOrgId],
      );
      expect(totals).to.deep.equal([{ payable: '220.00' }, { payable: '220.00' }]);
    });

    it('ACC-14 its snapshots are asked for, of those months alone, and of accounts that have any', async () => {
      const world = await makeWorld({ stations: 2, ours: 1 });
      const { partnerOrgId } = world;
      await makeOwnStations(partnerOrgId, 1, 0);
      await ask(partnerOrgId);
      stages.wake.kicks.length = 0;
      await turn(partnerOrgId);
      expect(stages.wake.kicks).to.include(`bill-snapshot/${partnerOrgId}`);
      const tasks = await snapshotTasks(partnerOrgId);
      expect(tasks.map((task) => task.code).sort()).to.deep.equal(
        stationsOf(world)
          .map((station) => `BDS:${partnerOrgId}:${station}`)
          .sort(),
      );
      for (const task of tasks)
        expect(task).to.deep.include({
          generation: 2,
          status: 0,
          months: ['2026-01', '2026-02'],
          mode: 'EXISTING_ONLY_REFRESH',
          source: 'BULK_STATUS_REFRESH_ACCOUNT',
        });
    });

    it('ACC-14 DEC-2 without a cut-off it goes up to the current month', async () => {
      const world = await makeWorld({ stations: 1 });
      await verify(world.partnerOrgId);
      const { now } = await store.one<{ now: string }>(
        "SELECT DATE_FORMAT(NOW(3) + INTERVAL 8 HOUR, '%Y-%m') now",
      );
      const asked = await ask(world.partnerOrgId, null);
      expect(asked.cutOffMonth).to.equal(now);
      await turn(world.partnerOrgId);
      expect(await projectionsOf('fi_monthly_income_difference', world.partnerOrgId)).to.deep.equal(
        MONTHS.map((month) => `${month} PAYABLE 110.00`),
      );
    });

    it('ACC-14 DIF-6 its task names no account, however many there are; the cursor finds them page by page', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const stations = await makeOwnStations(partnerOrgId, 27, 1);
      const asked = await ask(partnerOrgId);
      const { taskData } = await taskOf(asked);
      expect(Object.keys(taskData as FullRefresh).sort()).to.deep.equal([
        'bulkType',
        'changeId',
        'currentMonth',
        'cutOffMonth',
        'payloadVersion',
        'scopeStatusStrategy',
      ]);
      const claimed = await claim(stages, STAGE, partnerOrgId);
      const first = await workDirectly(store, stages.handlerOf(STAGE), claimed);
      expect([...first.endings.values()]).to.deep.equal([{ kind: 'continues' }]);
      expect((await taskOf(asked)).progress).to.include({ processedAccountCount: 25, cursor: stations[24] });
      const second = await workDirectly(store, stages.handlerOf(STAGE), claimed);
      expect([...second.endings.values()][0]).to.deep.include({
        kind: 'succeeded',
        finalResult: 'FULL_SUCCESS',
      });
      expect((await taskOf(asked)).progress).to.include({ processedAccountCount: 27, cursor: stations[26] });
      await unclaim(store, claimed);
    });

    it('ACC-14 ENG-15 a step takes no more than 500 differences; an account that has more goes alone', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      for (const months of [200, 240, 120, 600]) await makeOwnStations(partnerOrgId, 1, months);
      const asked = await ask(partnerOrgId, '2099-12');
      const claimed = await claim(stages, STAGE, partnerOrgId);
      const processed: number[] = [];
      for (let step = 0; step < 2; step++) {
        await workDirectly(store, stages.handlerOf(STAGE), claimed);
        processed.push((await taskOf(asked)).progress.processedAccountCount);
      }
      expect(processed).to.deep.equal([2, 3]);
      const outcome = await workDirectly(store, stages.handlerOf(STAGE), claimed).catch(
        (error: { code: string }) => error.code,
      );
      expect(outcome, 'tried, and not taken for the end').to.equal('SNAPSHOT_CAPACITY');
      await unclaim(store, claimed);
    });

    it('ACC-14 a partner without any account is refreshed at once', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const asked = await ask(partnerOrgId);
      await turn(partnerOrgId);
      expect(await taskOf(asked)).to.include({ status: 2, finalResult: 'FULL_SUCCESS' });
    });

    it('ACC-14 ENG-16 a difference that comes while the account’s guard is waited for is refreshed too', async () => {
      const world = await makeWorld({ stations: 1 });
      const { partnerOrgId } = world;
      const [station] = stationsOf(world);
      const asked = await ask(partnerOrgId, '2026-12');
      await whileTurnWaits(
        stages,
        station!,
        () => turn(partnerOrgId),
        (tx) =>
          insertNumberedRow(tx, 'fi_monthly_income_difference', {
            partner_org_id: partnerOrgId,
            station_id: station!,
            share_month: '2026-04',
            project_company_id: '1',
            status: 'PLATFORM_ONLY',
            payment_status: 'NOT_APPLICABLE',
          }),
      );
      expect(await statusOf(store, asked.taskCode)).to.equal('SUCCESS');
      expect(await projectionsOf('fi_monthly_income_difference', partnerOrgId)).to.include(
        '2026-04 NOT_VERIFIED 0.00',
      );
    });
  });

  it('ACC-14 DIF-6 an account of the partner alone whose first bills are still to be compared is gone over as well', async () => {
    const { partnerOrgId } = await makeStagedPartner(store);
    const mapping = await makeMapping(store, partnerOrgId);
    await acceptPush(store, partnerOrgId, [{ mapping, bills: [bill('2026-01')] }]);
    await stages.turn('bill-station', partnerOrgId);
    const asked = await ask(partnerOrgId);
    const station = mapping.platformStationId!;
    await whileTurnWaits(
      stages,
      station,
      () => turn(partnerOrgId),
      // A message that read the partner's terms before they changed.
      (tx) =>
        insertNumberedRow(tx, 'fi_monthly_income_difference', {
          partner_org_id: partnerOrgId,
          station_id: station,
          share_month: '2026-01',
          project_company_id: '1',
          status: 'PARTNER_ONLY',
          payment_status: 'NOT_APPLICABLE',
        }),
    );
    expect((await taskOf(asked)).progress).to.include({ processedAccountCount: 1, cursor: station });
    expect(await projectionsOf('fi_monthly_income_difference', partnerOrgId)).to.deep.equal([
      '2026-01 NOT_VERIFIED 0.00',
    ]);
  });

  describe('what it leaves as it is', () => {
    for (const flow of ['ENABLED', 'DISABLED']) {
      it(`DEC-20 ACC-14 verification, pre-rent result and financial version, of a partner whose payment flow is ${flow}`, async () => {
        const world = await makeWorld({ stations: 1 });
        const { partnerOrgId } = world;
        await store.change(
          `UPDATE fi_monthly_income_difference
              SET partner_query_status = 'UNQUALIFIED', pre_rent_check_result = 'FAIL', pre_rent_check_reason = 'too much'
            WHERE partner_org_id = ?`,
          [partnerOrgId],
        );
        const before = await verdictsOf(partnerOrgId);
        await setFlow(partnerOrgId, flow);
        await ask(partnerOrgId);
        await turn(partnerOrgId);
        expect(await verdictsOf(partnerOrgId)).to.deep.equal(before);
      });
    }

    it('ACC-14 pushed rows stay where they are', async () => {
      const world = await makeWorld({ stations: 2 });
      const before = await placesByRow(store, world.push.pushId);
      await ask(world.partnerOrgId);
      await turn(world.partnerOrgId);
      await stages.turn('bill-snapshot', world.partnerOrgId);
      expect(await placesByRow(store, world.push.pushId)).to.deep.equal(before);
      const faults = await checkPlaces(store);
      expect(faults.filter((fault) => fault.startsWith(`push ${world.push.pushId} `))).to.deep.equal([]);
    });

    it('ACC-14 ACC-13 accounts that went well are counted, and leave no outcome each', async () => {
      const world = await makeWorld({ stations: 2 });
      const asked = await ask(world.partnerOrgId);
      await turn(world.partnerOrgId);
      expect((await taskOf(asked)).progress.processedAccountCount).to.equal(2);
      expect(await outcomesOf(asked)).to.deep.equal([]);
    });
  });

  describe('payment switched off and on', () => {
    it('DIF-6 DEC-20 of a disabled partner all is NOT_APPLICABLE on all three tables; enabled again, it is what its bills say', async () => {
      const world = await makeWorld({ stations: 2, ours: 2 });
      const { partnerOrgId } = world;
      await makeOwnStations(partnerOrgId, 1, 0);
      await verify(partnerOrgId);
      await ask(partnerOrgId, null);
      await turn(partnerOrgId);
      const payable = MONTHS.map((month) => `${month} PAYABLE 110.00`);
      for (const [flow, expected] of [
        ['DISABLED', MONTHS.map((month) => `${month} NOT_APPLICABLE 0.00`)],
        ['ENABLED', payable],
      ] as const) {
        await setFlow(partnerOrgId, flow);
        await ask(partnerOrgId, null);
        await turn(partnerOrgId);
        for (const table of TABLES)
          expect(await projectionsOf(table, partnerOrgId), `${flow} ${table}`).to.deep.equal(expected);
      }
    });

    it('DIF-6 DEC-18 while it is not decided the task waits, as a failure of its own that is tried again', async () => {
      const world = await makeWorld({ stations: 1 });
      const { partnerOrgId } = world;
      const asked = await ask(partnerOrgId);
      await store.change('UPDATE partner SET payment_flow = NULL WHERE partner_org_id = ?', [partnerOrgId]);
      await turn(partnerOrgId);
      expect(await taskOf(asked)).to.include({
        status: 3,
        retryCount: 1,
        errorCode: 'PAYMENT_FLOW_UNRESOLVED',
        claimable: 1,
      });
      expect(await outcomesOf(asked)).to.deep.equal([]);
    });
  });

  describe('boundaries and failures', () => {
    const makeDue = ({ taskCode }: AskedFullRefresh) =>
      store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [taskCode]);

    it('ACC-11 ACC-14 a stop request ends it at the next account boundary; resumed, it goes on behind the cursor', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const stations = await makeOwnStations(partnerOrgId, 3, 240);
      // 240 differences each: two of them are a step, the third another.
      const asked = await ask(partnerOrgId, '2099-12');
      await makeGuards(stations);
      const held = await holdRows(
        await stages.testStore.openAnother(),
        'SELECT fence FROM station_guard WHERE platform_station_id = ? FOR UPDATE',
        [stations[1]!],
      );
      const running = turn(partnerOrgId);
      await untilWaiting(store);
      await requestStop(store, (await taskOf(asked)).id, 'operator');
      await held.release();
      await running;
      const stopped = await taskOf(asked);
      expect(stopped).to.include({ status: 0, activation: 0, retryCount: 0, crashCount: 0, errorCode: null });
      expect(stopped.progress).to.include({ cursor: stations[1], processedAccountCount: 2 });
      await turn(partnerOrgId);
      expect((await taskOf(asked)).runningAttempt, 'stopped is not claimed').to.equal(1);
      await resumeIfStopped(store, stopped.id);
      await turn(partnerOrgId);
      expect(await taskOf(asked)).to.include({ status: 2, finalResult: 'FULL_SUCCESS', runningAttempt: 2 });
      expect((await taskOf(asked)).progress).to.include({ cursor: stations[2], processedAccountCount: 3 });
    });

    it('ACC-10 ACC-12 ACC-14 an account that fails three times is skipped and named, its neighbours are refreshed', async () => {
      const world = await makeWorld({ stations: 3 });
      const { partnerOrgId } = world;
      await verify(partnerOrgId);
      const [first, second, third] = stationsOf(world);
      await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE small_station_id = ?', [second!]);
      await store.change(
        'UPDATE fi_customer_account_partner SET del_flag = 1 WHERE partner_org_id = ? AND partner_station_no = ?',
        [partnerOrgId, world.stations[1]!.partnerStationNo],
      );
      const asked = await ask(partnerOrgId);
      const waits: number[] = [];
      for (let run = 0; run < 2; run++) {
        await turn(partnerOrgId);
        const task = await taskOf(asked);
        expect(task).to.include({
          status: 0,
          retryCount: 0,
          finalResult: 'RUNNING',
          errorCode: 'ACCOUNT_MISSING',
        });
        expect(task.progress).to.include({
          cursor: first,
          currentAccountId: second,
          currentAccountRetryCount: run + 1,
        });
        waits.push(Math.ceil((await dueInMs(store, asked.taskCode)) / 1_000));
        await makeDue(asked);
      }
      expect(waits).to.deep.equal([2, 10]);
      await turn(partnerOrgId);
      const task = await taskOf(asked);
      expect(task).to.include({ status: 2, finalResult: 'PARTIAL_SUCCESS' });
      expect(task.progress).to.include({
        cursor: third,
        processedAccountCount: 3,
        skippedAccountCount: 1,
        skippedScopeCount: 2,
        failedAttemptCount: 3,
        failedScopeCount: 6,
        lastSkippedAccountId: second,
        currentAccountId: null,
      });
      expect(await outcomesOf(asked)).to.deep.equal([
        { station: second, outcome: 'FAILED', code: 'ACCOUNT_MISSING', scopes: 2 },
        { station: second, outcome: 'FAILED', code: 'ACCOUNT_MISSING', scopes: 2 },
        { station: second, outcome: 'SKIPPED', code: 'ACCOUNT_MISSING', scopes: 2 },
      ]);
      const payable = await store.many<{ station: string }>(
        "SELECT DISTINCT station_id station FROM fi_monthly_income_difference WHERE partner_org_id = ? AND payment_status = 'PAYABLE' ORDER BY 1",
        [partnerOrgId],
      );
      expect(payable.map((row) => row.station)).to.deep.equal([first, third]);
    });

    it('DIF-11 ACC-14 two platform accounts of one station fail that account; none is picked', async () => {
      const world = await makeWorld({ stations: 1 });
      await makePlatformAccount(store, {
        partnerOrgId: world.partnerOrgId,
        platformStationId: stationsOf(world)[0]!,
      });
      const asked = await ask(world.partnerOrgId);
      await turn(world.partnerOrgId);
      expect((await outcomesOf(asked)).map((row) => row.code)).to.deep.equal(['DUPLICATE_ACCOUNT']);
    });

    it('ACC-6 ACC-14 a month that is none fails its account', async () => {
      const world = await makeWorld({ stations: 1 });
      await store.change(
        "UPDATE fi_monthly_income_difference SET share_month = '2026-00' WHERE partner_org_id = ? AND share_month = '2026-01'",
        [world.partnerOrgId],
      );
      const asked = await ask(world.partnerOrgId);
      await turn(world.partnerOrgId);
      expect((await outcomesOf(asked)).map((row) => row.code)).to.deep.equal(['BAD_SHARE_MONTH']);
    });

    it('ACC-14 a cut-off that is no month fails the task, not one account after the other', async () => {
      const world = await makeWorld({ stations: 1 });
      const asked = await ask(world.partnerOrgId);
      await store.change(
        "UPDATE fi_async_task SET task_data = JSON_SET(task_data, '$.cutOffMonth', '2026-13') WHERE task_code = ?",
        [asked.taskCode],
      );
      await turn(world.partnerOrgId);
      expect(await taskOf(asked)).to.include({ status: 3, errorCode: 'BAD_CUT_OFF_MONTH', claimable: null });
      expect(await outcomesOf(asked)).to.deep.equal([]);
    });

    async function makeGuards(stations: readonly string[]): Promise<void> {
      await store.change(
        `INSERT INTO station_guard (kind, partner_org_id, platform_station_id, partner_station_no)
         VALUES ${stations.map(() => "(2, 0, ?, '')").join(', ')}`,
        [...stations],
      );
    }
  });

  describe('one after the other', () => {
    const makeState = ({ taskCode }: AskedFullRefresh, columns: string) =>
      store.change(`UPDATE fi_async_task SET ${columns} WHERE task_code = ?`, [taskCode]);

    const waiting: [what: string, columns: string][] = [
      ['waits', 'status = 0'],
      ['waits for its next try', "status = 3, retry_count = 2, next_execute_time = '2090-01-01'"],
      ['has failed for good', 'status = 3, retry_count = 8'],
      ['was stopped', 'activation = 0'],
    ];
    for (const [what, columns] of waiting) {
      it(`DIF-14 a full refresh cancels an older one of its partner that ${what}, and says so`, async () => {
        const { partnerOrgId } = await makeStagedPartner(store);
        const older = await ask(partnerOrgId);
        await makeState(older, columns);
        const newer = await ask(partnerOrgId);
        expect(newer.replaced).to.deep.equal([older.taskCode]);
        const cancelled = await taskOf(older);
        expect(cancelled).to.include({ status: 4, errorCode: 'CANCELLED', claimable: null });
        expect(cancelled.errorMessage).to.include(newer.taskCode);
        expect(await statusOf(store, newer.taskCode)).to.equal('PENDING');
      });
    }

    it('DIF-14 one that runs is left to end, and its holder can write to the last', async () => {
      const world = await makeWorld({ stations: 1 });
      const { partnerOrgId } = world;
      const older = await ask(partnerOrgId);
      const [station] = stationsOf(world);
      const held = await holdRows(
        await stages.testStore.openAnother(),
        'SELECT fence FROM station_guard WHERE platform_station_id = ? FOR UPDATE',
        [station!],
      );
      const running = turn(partnerOrgId);
      await untilWaiting(store);
      const newer = await ask(partnerOrgId);
      expect(newer.replaced).to.deep.equal([]);
      await held.release();
      await running;
      expect(await statusOf(store, older.taskCode)).to.equal('SUCCESS');
      expect(await statusOf(store, newer.taskCode), 'done by the same holder, after it').to.equal('SUCCESS');
    });

    it('DIF-14 nor is one cancelled that is between two steps, its row free', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const older = await ask(partnerOrgId);
      const claimed = await claim(stages, STAGE, partnerOrgId);
      expect((await ask(partnerOrgId)).replaced).to.deep.equal([]);
      expect(await statusOf(store, older.taskCode)).to.equal('RUNNING');
      await unclaim(store, claimed);
    });

    it('DIF-14 one that has ended stays as it ended', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const older = await ask(partnerOrgId);
      await turn(partnerOrgId);
      expect((await ask(partnerOrgId)).replaced).to.deep.equal([]);
      expect(await statusOf(store, older.taskCode)).to.equal('SUCCESS');
    });

    it('DIF-14 that of another partner, and exact refreshes of its own, wait on', async () => {
      const [one, other] = [await makeStagedPartner(store), await makeStagedPartner(store)];
      const mapping = await makeMapping(store, one.partnerOrgId);
      await acceptPush(store, one.partnerOrgId, [{ mapping, bills: [bill('2026-01')] }]);
      await stages.turnsUpTo('income-diff', one.partnerOrgId);
      const exact = await store.one<{ code: string }>(
        "SELECT task_code code FROM fi_async_task WHERE partner_org_id = ? AND stage = 'account-shard'",
        [one.partnerOrgId],
      );
      const others = await ask(other.partnerOrgId);
      const asked = await ask(one.partnerOrgId);
      expect(asked.replaced).to.deep.equal([]);
      expect(await statusOf(store, others.taskCode)).to.equal('PENDING');
      expect(await statusOf(store, exact.code)).to.equal('PENDING');
    });

    it('DIF-14 an exact refresh cancels none: neither older exact ones nor a full one', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const mapping = await makeMapping(store, partnerOrgId);
      const full = await ask(partnerOrgId);
      for (const rent of ['100.00', '101.00']) {
        await acceptPush(store, partnerOrgId, [{ mapping, bills: [bill('2026-01', { rent })] }]);
        await stages.turnsUpTo('income-diff', partnerOrgId);
      }
      const exact = await store.many<{ status: number; bulkType: string }>(
        "SELECT status, task_data->>'$.bulkType' bulkType FROM fi_async_task WHERE partner_org_id = ? AND stage = 'account-shard'",
        [partnerOrgId],
      );
      const pending = { status: 0, bulkType: 'ACCOUNT_STAT_RECALCULATE' };
      expect(exact).to.deep.equal([pending, pending]);
      expect(await statusOf(store, full.taskCode)).to.equal('PENDING');
    });

    it('DIF-14 what the replaced ones had still to do is not lost: the furthest cut-off counts', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      await ask(partnerOrgId, '2026-05');
      expect((await ask(partnerOrgId, '2026-02')).cutOffMonth).to.equal('2026-05');
      expect((await ask(partnerOrgId, '2026-08')).cutOffMonth).to.equal('2026-08');
      await turn(partnerOrgId);
      expect((await ask(partnerOrgId, '2026-02')).cutOffMonth, 'done is done').to.equal('2026-02');
    });

    it('DIF-14 of two wishes at one time one replaces the other', async () => {
      const { partnerOrgId } = await makeStagedPartner(store);
      const asked = await Promise.all([ask(partnerOrgId), ask(partnerOrgId), ask(partnerOrgId)]);
      const open = await store.many<{ code: string }>(
        "SELECT task_code code FROM fi_async_task WHERE partner_org_id = ? AND stage = 'account-full' AND status = 0",
        [partnerOrgId],
      );
      expect(open).to.have.length(1);
      expect(asked.flatMap((one) => one.replaced)).to.have.length(2);
    });
  });
});
