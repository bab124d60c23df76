/** The difference stage's other two entries: platform bills created, changed, deleted (DIF-4), through the same steps as a push. */
import { expect } from 'chai';
import {
  type AccountRefresh,
  buildRefreshes,
  refreshBusinessKey,
  refreshTaskCode,
} from '../../src/domain/account-refresh.ts';
import {
  type DifferenceMessage,
  type PlatformEntry,
  requestIdOf,
} from '../../src/domain/difference-message.ts';
import type { Store } from '../../src/store/transaction.ts';
import { makeTask, statusOf } from '../support/engine.ts';
import { makeMapping, makePlatformAccount } from '../support/factory.ts';
import { openPayments, type Payments } from '../support/payments.ts';
import { EQUAL, listLedgerFaults, makePlatformWorld, type PlatformWorld } from '../support/platform-bills.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import {
  acceptPush,
  bill,
  type Claimed,
  claim,
  endClaimed,
  placesByRow,
  unclaim,
  type WorkOptions,
  workDirectly,
} from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

const STAGE = 'income-diff';
const JANUARY = '2026-01';
const FEBRUARY = '2026-02';
type Message = DifferenceMessage<PlatformEntry>;

describe('actors: difference, platform bills', () => {
  let world: Payments;
  let store: Store;
  let own: PlatformWorld;
  before(async () => {
    world = await openPayments();
    store = world.store;
  });
  after(() => world.close());

  const make = async (
    ...args: Parameters<typeof makePlatformWorld> extends [unknown, ...infer Rest] ? Rest : never
  ) => {
    own = await makePlatformWorld(world, ...args);
  };
  beforeEach(() => make(1));

  const push = (months: readonly string[], columns = {}, stations = own.stations) =>
    acceptPush(
      store,
      own.partnerOrgId,
      stations.map((mapping) => ({ mapping, bills: months.map((month) => bill(month, columns)) })),
    );
  async function pushed(...args: Parameters<typeof push>) {
    const made = await push(...args);
    await world.stages.turnsUpTo('bill-snapshot', own.partnerOrgId);
    return made;
  }
  const turn = () => world.turn(STAGE, own.partnerOrgId);

  const ledger = () =>
    store.many<Record<string, unknown>>(
      `SELECT id, station_id station, share_month month, status, platform_rent ours, diff_rent diff, both_sides_ready ready,
              financial_version version, accept_no acceptNo, payment_status payment, current_payable payable
         FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id, share_month`,
      [own.partnerOrgId],
    );
  interface Task {
    readonly id: string;
    readonly code: string;
    readonly status: number;
    readonly push: string;
    readonly retryCount: number;
    readonly maxRetryCount: number;
    readonly outcome: string | null;
    readonly data: unknown;
  }
  const tasksOf = (stage: string) =>
    store.many<Task>(
      `SELECT id, task_code code, status, push_id push, retry_count retryCount, max_retry_count maxRetryCount,
              COALESCE(error_code, final_result) outcome, task_data data
         FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id`,
      [own.partnerOrgId, stage],
    );
  const outcomes = async () => (await tasksOf(STAGE)).map((task) => task.outcome);
  const refreshes = async () => (await tasksOf('account-shard')).map((task) => task.data as AccountRefresh);
  const runAgain = async (task: Task) => {
    await store.change('UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE id = ?', [
      task.id,
    ]);
    await turn();
  };
  /** All that is due is done, and everything is as both sides' bills say. */
  async function assertSettled(): Promise<void> {
    await own.settle();
    expect(await listLedgerFaults(store, own.partnerOrgId)).to.deep.equal([]);
    expect(await checkPlaces(store)).to.deep.equal([]);
    await assertVerified(store);
  }
  const claimOne = () => claim(world.stages, STAGE, own.partnerOrgId);
  const work = (claimed: Claimed, options: WorkOptions = {}) =>
    workDirectly(store, world.stages.handlerOf(STAGE), claimed, options);
  const codeOf = (error: { code?: string; message: string }) => error.code ?? error.message;
  const summaries = (company: string) =>
    store.many(
      `SELECT share_month month, difference_count n, matched_count matched, mismatched_count mismatched,
              partner_only_count partnerOnly, platform_only_count platformOnly, platform_rent ours, diff_rent diff
         FROM fi_project_income_difference WHERE project_company_id = ? ORDER BY share_month`,
      [company],
    );

  describe('the ledger', () => {
    it('DIF-4 DIF-7 our bill alone is PLATFORM_ONLY, nothing verified or payable; the partner’s bill makes the same row MATCHED', async () => {
      await make(1, { mapping: { project_company_id: '901' } });
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await own.settle();
      const [row] = await ledger();
      expect(row).to.include({
        status: 'PLATFORM_ONLY',
        ours: '120.00',
        diff: '-120.00',
        ready: 0,
        version: 1,
        acceptNo: '0',
        payment: 'NOT_VERIFIED',
        payable: '0.00',
      });
      expect(await summaries('901')).to.deep.equal([
        {
          month: JANUARY,
          n: 1,
          matched: 0,
          mismatched: 0,
          partnerOnly: 0,
          platformOnly: 1,
          ours: '120.00',
          diff: '-120.00',
        },
      ]);
      await assertVerified(store);
      const made = await pushed([JANUARY]);
      expect((await ledger())[0]).to.include({
        id: row!.id,
        status: 'MATCHED',
        diff: '0.00',
        ready: 1,
        version: 2,
        acceptNo: made.acceptNo,
      });
      expect(await summaries('901')).to.deep.equal([
        {
          month: JANUARY,
          n: 1,
          matched: 1,
          mismatched: 0,
          partnerOnly: 0,
          platformOnly: 0,
          ours: '120.00',
          diff: '0.00',
        },
      ]);
      await assertSettled();
    });

    it('DIF-4 DIF-7 DIF-9 DEC-7 made, changed, deleted, made again: the status follows, and the summary with it', async () => {
      await make(1, { mapping: { project_company_id: '902' }, partner: { tolerance: '0.50' } });
      await pushed([JANUARY]);
      const seen: unknown[] = [];
      const steps: [what: () => ReturnType<PlatformWorld['send']>][] = [
        [() => own.send({ bills: [own.bill(0, JANUARY)] })],
        [() => own.send({ bills: [own.bill(0, JANUARY, { ...EQUAL, rent: '120.50' })] })],
        [() => own.send({ bills: [own.bill(0, JANUARY, { ...EQUAL, rent: '120.51' })] })],
        [() => own.send({ deletions: [own.deletion(0, JANUARY)] })],
        [() => own.send({ bills: [own.bill(0, JANUARY)] })],
      ];
      for (const [step] of steps) {
        expect((await step()).status).to.equal(200);
        await assertSettled();
        const [{ status, ready, ours, diff, version }] = (await ledger()) as [Record<string, unknown>];
        seen.push([status, ready, ours, diff, version]);
      }
      expect(seen).to.deep.equal([
        ['MATCHED', 1, '120.00', '0.00', 2],
        ['MATCHED', 1, '120.50', '-0.50', 3],
        ['MISMATCHED', 1, '120.51', '-0.51', 4],
        ['PARTNER_ONLY', 0, '0.00', '120.00', 5],
        ['MATCHED', 1, '120.00', '0.00', 6],
      ]);
      expect(await summaries('902')).to.deep.equal([
        {
          month: JANUARY,
          n: 1,
          matched: 1,
          mismatched: 0,
          partnerOnly: 0,
          platformOnly: 0,
          ours: '120.00',
          diff: '0.00',
        },
      ]);
    });

    it('DEC-7 with no side left the row stays, all 0 and MATCHED, and is not ready', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await own.settle();
      const [before] = await ledger();
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      await assertSettled();
      const rows = await store.many<Record<string, unknown>>(
        'SELECT * FROM fi_monthly_income_difference WHERE partner_org_id = ?',
        [own.partnerOrgId],
      );
      expect(rows).to.have.length(1);
      expect(rows[0]).to.include({
        id: before!.id,
        status: 'MATCHED',
        both_sides_ready: 0,
        platform_bill_id: null,
        partner_bill_id: null,
      });
      for (const side of ['partner', 'platform', 'diff'])
        for (const name of ['settlement', 'rent', 'pre_rent', 'freeze', 'deduction'])
          expect(rows[0]![`${side}_${name}`], `${side} ${name}`).to.equal('0.00');
    });

    it('DIF-7 its accounts are those of both sides, each where there is one', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await own.settle();
      await pushed([FEBRUARY]);
      await own.send({ bills: [own.bill(0, FEBRUARY)] });
      await own.settle();
      const rows = await store.many(
        `SELECT d.share_month month, d.partner_account_id IS NULL noPartner, d.platform_account_id = a.id ours
           FROM fi_monthly_income_difference d
           JOIN fi_customer_account a ON a.partner_org_id = d.partner_org_id
          WHERE d.partner_org_id = ? ORDER BY d.share_month`,
        [own.partnerOrgId],
      );
      expect(rows.map((row) => Object.values(row).map(String))).to.deep.equal([
        [JANUARY, '1', '1'],
        [FEBRUARY, '0', '1'],
      ]);
    });
  });

  describe('whatever has happened since', () => {
    it('DIF-5 an old message after newer ones puts nothing back, and what it has not changed counts no version', async () => {
      await pushed([JANUARY]);
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '2.00' })] });
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      const messages = (await tasksOf(STAGE)).filter((task) => task.push === '0');
      expect(messages).to.have.length(3);
      const hold = (held: readonly Task[], until: string) =>
        store.change(`UPDATE fi_async_task SET next_execute_time = ${until} WHERE id IN (?)`, [
          held.map(({ id }) => id),
        ]);
      await hold(messages.slice(0, 2), "'2099-01-01'");
      await turn();
      expect((await ledger())[0]).to.include({ status: 'PARTNER_ONLY', ours: '0.00', version: 2 });
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '3.00' })] });
      await turn();
      expect((await ledger())[0]).to.include({ status: 'MISMATCHED', ours: '3.00', version: 3 });
      await hold(messages.slice(0, 2), 'NOW(3)');
      await turn();
      expect((await ledger())[0]).to.include({ status: 'MISMATCHED', ours: '3.00', version: 3 });
      expect(await outcomes()).to.deep.equal(Array(5).fill('FULL_SUCCESS'));
      await assertSettled();
    });

    it('DIF-5 STA-17 between a push’s station and its message it compares the push’s bill; the message finds its rows and facts', async () => {
      await pushed([JANUARY]);
      const made = await push([JANUARY], { rent: '100.00' });
      await world.turn('bill-station', own.partnerOrgId);
      await own.send({ bills: [own.bill(0, JANUARY)] });
      // The hand-over is closed into a message, which waits while the platform's is worked on.
      const closer = await claimOne();
      await world.stages.handlerOf(STAGE).prepare!(closer.right);
      await unclaim(store, closer);
      const [platform] = (await tasksOf(STAGE)).filter((task) => task.push === '0');
      await store.change(
        "UPDATE fi_async_task SET next_execute_time = '2099-01-01' WHERE partner_org_id = ? AND stage = ? AND push_id = ?",
        [own.partnerOrgId, STAGE, made.pushId],
      );
      await turn();
      expect(await statusOf(store, platform!.code)).to.equal('SUCCESS');
      expect((await ledger())[0]).to.include({
        status: 'MISMATCHED',
        diff: '-20.00',
        acceptNo: made.acceptNo,
      });
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_PENDING']);
      await store.change(
        'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND stage = ?',
        [own.partnerOrgId, STAGE],
      );
      await assertSettled();
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
    });

    it('DIF-5 ENG-16 the guards come before mapping, terms and both sides, and before the ledger and its tasks', async () => {
      await make(2);
      await own.send({ bills: [own.bill(1, JANUARY), own.bill(0, JANUARY)] });
      const claimed = await claimOne();
      const { statements } = await work(claimed);
      const steps: [string, RegExp][] = [
        ['mapping', /^SELECT .* FROM station_mapping/],
        ['guards', /^INSERT INTO station_guard/],
        ['partner’s terms', /FROM partner WHERE/],
        ['partner side', /FROM fi_customer_(account|bill)_partner/],
        ['platform side', /FROM fi_customer_(account|bill) WHERE/],
        ['ledger', /^INSERT INTO fi_monthly_income_difference/],
        ['summaries', /^INSERT INTO fi_project_income_difference/],
        ['account tasks', /^INSERT INTO fi_async_task/],
      ];
      const seen = statements.flatMap((text) => steps.find(([, pattern]) => pattern.test(text))?.[0] ?? []);
      expect(seen.filter((step, index) => step !== seen[index - 1])).to.deep.equal([
        'guards',
        'mapping',
        'partner’s terms',
        'partner side',
        'platform side',
        'ledger',
        'summaries',
        'account tasks',
      ]);
      await endClaimed(store, claimed);
    });
  });

  describe('reading back', () => {
    const corruptions: [what: string, change: string][] = [
      ['another partner bill', 'partner_bill_id = 1'],
      ['no platform bill', 'platform_bill_id = NULL'],
      ['another platform bill', 'platform_bill_id = 1'],
      ['another partner account', 'partner_account_id = 1'],
      ['another organisation', 'partner_org_id = 1'],
      ['another station', 'station_id = 1'],
      ['another month', "share_month = '2020-01'"],
    ];
    for (const [what, change] of corruptions) {
      it(`DIF-8 a difference that comes back with ${what} fails all, and nothing is written`, async () => {
        await make(2);
        await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
        const claimed = await claimOne();
        let written = false;
        const outcome = await work(claimed, {
          before: async (statement, tx) => {
            if (statement.startsWith('INSERT INTO fi_monthly_income_difference')) written = true;
            else if (written && statement.startsWith('SELECT id, partner_org_id')) {
              written = false;
              await tx.change(
                `UPDATE fi_monthly_income_difference SET ${change} WHERE partner_org_id = ? AND station_id = ?`,
                [own.partnerOrgId, own.stations[1]!.platformStationId!],
              );
            }
          },
        }).catch(codeOf);
        expect(outcome).to.equal('DIFFERENCE_READ_BACK');
        expect(await ledger()).to.deep.equal([]);
        expect(await refreshes()).to.deep.equal([]);
        await unclaim(store, claimed);
      });
    }

    it('DIF-8 a message that names a station-month twice fails, and nothing is written', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      const [message] = await tasksOf(STAGE);
      const data = message!.data as Message;
      const { stations } = data.requestparams;
      const twice = {
        ...data,
        requestparams: { ...data.requestparams, stations: [...stations, ...stations] },
      };
      await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
        JSON.stringify(twice),
        message!.id,
      ]);
      const claimed = await claimOne();
      expect(await work(claimed).catch(codeOf)).to.match(/twice/);
      expect(await ledger()).to.deep.equal([]);
      await unclaim(store, claimed);
    });
  });

  describe('the account tasks', () => {
    it('DIF-10 DIF-12 DIF-13 DEC-20 exact facts under the message’s identity and month, of no push, without batch deduction', async () => {
      await make(2);
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(0, FEBRUARY), own.bill(1, JANUARY)] });
      const [message] = await tasksOf(STAGE);
      const data = { ...(message!.data as Message), startTime: String(Date.UTC(2026, 0, 31, 16)) };
      await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
        JSON.stringify(data),
        message!.id,
      ]);
      await turn();
      const rows = await ledger();
      const [task, ...others] = await tasksOf('account-shard');
      expect(others).to.deep.equal([]);
      expect(task!.push).to.equal('0');
      const refresh = task!.data as AccountRefresh;
      expect(refresh).to.include({
        scopeStatusStrategy: 'EXACT_FACT_CHANGE',
        bulkType: 'ACCOUNT_STAT_RECALCULATE',
        currentMonth: FEBRUARY,
        pushId: '0',
        acceptNo: '0',
        changeId: `${requestIdOf(data)}:${own.partnerOrgId}:1`,
      });
      expect(refresh.differenceFactIds).to.have.members(rows.map((row) => row.id));
      expect(
        refresh.platformAccountScopes.map(
          ({ platformStationId, batchDeduction, factIds, rowNos, canonicalSide }) => ({
            platformStationId,
            batchDeduction,
            factIds,
            rowNos,
            canonicalSide,
          }),
        ),
      ).to.deep.equal(
        own.stations.map(({ platformStationId }) => ({
          platformStationId,
          batchDeduction: null,
          factIds: rows.filter((row) => row.station === platformStationId).map((row) => row.id),
          rowNos: [],
          canonicalSide: 'PLATFORM',
        })),
      );
    });

    it('DIF-12 26 accounts with two differences each are two tasks: 25 and 1, ascending', async () => {
      await make(26);
      const bills = own.stations.flatMap((_, index) => [own.bill(index, FEBRUARY), own.bill(index, JANUARY)]);
      await own.send({ bills: bills.reverse() });
      await turn();
      const inOrder = (await refreshes()).sort((left, right) => (left.changeId < right.changeId ? -1 : 1));
      const shards = inOrder.map((refresh) =>
        refresh.platformAccountScopes.map(({ platformStationId, factIds }) => [
          platformStationId,
          factIds.length,
        ]),
      );
      expect(shards.flat()).to.deep.equal(
        own.stations.map(({ platformStationId }) => [platformStationId, 2]),
      );
      expect(shards.map((shard) => shard.length)).to.deep.equal([25, 1]);
      await assertSettled();
    });

    it('DIF-13 the same message twice reuses its task; the same change made again asks for another', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await turn();
      const [message] = await tasksOf(STAGE);
      await store.change('UPDATE fi_async_task SET status = 0 WHERE id = ?', [message!.id]);
      await turn();
      expect(await tasksOf('account-shard')).to.have.length(1);
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await turn();
      expect(await tasksOf('account-shard')).to.have.length(3);
    });

    it('DEC-20 they leave the pre-rent result as it is, and no pushed row moves', async () => {
      const made = await pushed([JANUARY]);
      await store.change(
        "UPDATE fi_monthly_income_difference SET pre_rent_check_result = 'FAIL', pre_rent_check_reason = 'too much' WHERE partner_org_id = ?",
        [own.partnerOrgId],
      );
      const places = await store.many('SELECT * FROM pushed_row_place WHERE push_id = ?', [made.pushId]);
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await own.settle();
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      await own.settle();
      const rows = await store.many(
        'SELECT status, pre_rent_check_result result, pre_rent_check_reason reason FROM fi_monthly_income_difference WHERE partner_org_id = ?',
        [own.partnerOrgId],
      );
      expect(rows).to.deep.equal([{ status: 'PARTNER_ONLY', result: 'FAIL', reason: 'too much' }]);
      expect(
        await store.many('SELECT * FROM pushed_row_place WHERE push_id = ?', [made.pushId]),
      ).to.deep.equal(places);
    });

    it('DIF-15 where they cannot be made the differences roll back whole; the bills that were written stay', async () => {
      await make(1, { mapping: { project_company_id: '903' } });
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      await own.settle();
      const before = { ledger: await ledger(), summaries: await summaries('903') };
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '2.00' })] });
      // The difference is there already, so the task that the message will ask for is known; its code is taken.
      const message = (await tasksOf(STAGE)).at(-1)!;
      const [{ platformAccountScopes }] = (await refreshes()) as [AccountRefresh];
      const startMonth = new Date(Number((message.data as Message).startTime) + 8 * 3_600_000)
        .toISOString()
        .slice(0, 7);
      const source = {
        partnerOrgId: own.partnerOrgId,
        requestId: requestIdOf(message.data as Message),
        eventMonth: startMonth,
        pushId: '0',
        acceptNo: '0',
      };
      const [wanted] = buildRefreshes(source, platformAccountScopes);
      const code = refreshTaskCode(refreshBusinessKey(own.partnerOrgId, wanted!));
      const taken = await makeTask(store, code, { partner_org_id: '999', status: 4 });
      await turn();
      expect({ ledger: await ledger(), summaries: await summaries('903') }).to.deep.equal(before);
      expect((await tasksOf(STAGE)).at(-1)).to.include({ status: 3, outcome: 'TASK_IDENTITY_CONFLICT' });
      const { rent } = await store.one<{ rent: string }>(
        'SELECT rent FROM fi_customer_bill WHERE partner_org_id = ?',
        [own.partnerOrgId],
      );
      expect(rent, 'the bill that was written').to.equal('2.00');
      await store.change('DELETE FROM fi_async_task WHERE id = ?', [taken]);
      await runAgain(message);
      expect((await ledger())[0]).to.include({ ours: '2.00', version: 2 });
      await assertSettled();
    });
  });

  describe('what cannot be compared', () => {
    it('DIF-11 DIF-16 a station with two platform accounts is set aside by name; no row is picked, its neighbours go on', async () => {
      await make(3);
      await own.send({ bills: own.stations.map((_, index) => own.bill(index, JANUARY)) });
      const platformStationId = own.stations[1]!.platformStationId!;
      const second = await makePlatformAccount(store, { partnerOrgId: own.partnerOrgId, platformStationId });
      await turn();
      expect((await ledger()).map((row) => row.station)).to.deep.equal(
        [0, 2].map((index) => own.stations[index]!.platformStationId),
      );
      const [parent, aside] = await tasksOf(STAGE);
      expect([parent!.outcome, aside!.outcome]).to.deep.equal(['FULL_SUCCESS', 'DUPLICATE_ACCOUNT']);
      expect(aside, 'waits for a person').to.include({
        status: 3,
        retryCount: aside!.maxRetryCount,
        push: '0',
      });
      const { requestparams, startTime, parentTraceId, taskMainId } = aside!.data as Message;
      expect(requestparams.entry).to.equal('PLATFORM_CHANGED');
      expect(requestparams.stations.map((station) => station.platformStationId)).to.deep.equal([
        platformStationId,
      ]);
      const original = parent!.data as Message;
      expect([startTime, parentTraceId]).to.deep.equal([original.startTime, original.parentTraceId]);
      expect(taskMainId).to.not.equal(original.taskMainId);
      await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE id = ?', [second]);
      await runAgain(aside!);
      expect(await ledger()).to.have.length(3);
      await assertSettled();
    });

    it('DIF-11 with no account on either side it fails by name; with the partner’s alone it goes on under that', async () => {
      await make(2);
      await pushed([FEBRUARY], {}, own.stations.slice(1));
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE partner_org_id = ?', [
        own.partnerOrgId,
      ]);
      await turn();
      expect((await outcomes()).slice(-2)).to.deep.equal(['FULL_SUCCESS', 'NO_ACCOUNT']);
      const scope = (await refreshes())
        .at(-1)!
        .platformAccountScopes.map((one) => [
          one.platformStationId,
          one.canonicalSide,
          one.platformAccountId,
          one.canonicalAccountId === one.partnerAccountId,
        ]);
      expect(scope).to.deep.equal([[own.stations[1]!.platformStationId, 'PARTNER', null, true]]);
      await store.change('UPDATE fi_customer_account SET del_flag = 0 WHERE partner_org_id = ?', [
        own.partnerOrgId,
      ]);
      await runAgain((await tasksOf(STAGE)).at(-1)!);
      const { stations } = ((await tasksOf(STAGE)).at(-1)!.data as Message).requestparams;
      expect(stations).to.have.length(1);
      await own.send({ bills: [own.bill(1, JANUARY, { rent: '1.00' })] });
      await assertSettled();
    });

    it('DEC-3 a station whose mapping is gone belongs to no project company: NO_PLATFORM_STATION, until it is mended', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      await store.change('UPDATE station_mapping SET platform_station_id = NULL WHERE partner_org_id = ?', [
        own.partnerOrgId,
      ]);
      await turn();
      expect(await outcomes()).to.deep.equal(['NO_PLATFORM_STATION']);
      expect(await ledger()).to.deep.equal([]);
      await store.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ?', [
        own.stations[0]!.platformStationId,
        own.partnerOrgId,
      ]);
      await runAgain((await tasksOf(STAGE))[0]!);
      expect(await ledger()).to.have.length(1);
      await assertSettled();
    });

    it('DIF-5 DIF-16 a missing partner account of a bill splits the message until the culprit stands alone', async () => {
      await make(4);
      await pushed([JANUARY]);
      await own.send({ bills: own.stations.map((_, index) => own.bill(index, JANUARY)) });
      const account = (deleted: number) =>
        store.change(
          'UPDATE fi_customer_account_partner SET del_flag = ? WHERE partner_org_id = ? AND partner_station_no = ?',
          [deleted, own.partnerOrgId, own.stations[2]!.partnerStationNo],
        );
      await account(1);
      await turn();
      const parts = (await tasksOf(STAGE)).filter((task) => task.push === '0');
      expect(parts.map((task) => task.outcome).sort()).to.deep.equal([
        'FULL_SUCCESS',
        'FULL_SUCCESS',
        'PARTNER_ACCOUNT_MISSING',
        'SPLIT',
        'SPLIT',
      ]);
      expect(new Set(parts.map((task) => (task.data as Message).startTime)).size).to.equal(1);
      const culprit = parts.find((task) => task.outcome === 'PARTNER_ACCOUNT_MISSING')!;
      expect(culprit).to.include({ status: 3, retryCount: 1 });
      expect((await ledger()).map((row) => row.status)).to.deep.equal([
        'MATCHED',
        'MATCHED',
        'PARTNER_ONLY',
        'MATCHED',
      ]);
      await account(0);
      await runAgain(culprit);
      expect((await ledger()).map((row) => row.status)).to.deep.equal(Array(4).fill('MATCHED'));
      await assertSettled();
    });

    it('DIF-3 a message without a valid instant fails and waits for a person; it is never "now"', async () => {
      await own.send({ bills: [own.bill(0, JANUARY)] });
      const [message] = await tasksOf(STAGE);
      const data = { ...(message!.data as Message), startTime: '', recordTimestamp: '5' };
      await store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [
        JSON.stringify(data),
        message!.id,
      ]);
      await turn();
      const [failed] = await tasksOf(STAGE);
      expect(failed).to.include({ status: 3, outcome: 'NO_EVENT_MONTH', retryCount: failed!.maxRetryCount });
      expect(await ledger()).to.deep.equal([]);
    });
  });

  describe('the partner’s terms', () => {
    it('DIF-6 DIF-17 an undecided payment flow fails the message whole, and it is taken again from the database', async () => {
      await make(2, { partner: { payment_flow: null } });
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      await turn();
      expect(await outcomes()).to.deep.equal(['PAYMENT_FLOW_UNRESOLVED']);
      expect((await tasksOf(STAGE))[0]).to.include({ status: 3, retryCount: 1 });
      expect(await ledger()).to.deep.equal([]);
      await store.change("UPDATE partner SET payment_flow = 'ENABLED' WHERE partner_org_id = ?", [
        own.partnerOrgId,
      ]);
      await turn();
      expect(await ledger(), 'not before it is due').to.deep.equal([]);
      await store.change(
        'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND stage = ?',
        [own.partnerOrgId, STAGE],
      );
      await turn();
      expect(await ledger()).to.have.length(2);
      await assertSettled();
    });

    it('DIF-6 DEC-20 of a partner without payment: NOT_APPLICABLE and 0, whichever sides are there; its snapshots follow', async () => {
      await make(2, { partner: { payment_flow: 'DISABLED' } });
      const made = await pushed([JANUARY], {}, own.stations.slice(1));
      await own.send({ bills: [own.bill(0, JANUARY), own.bill(1, JANUARY)] });
      await turn();
      const rows = await store.many(
        `SELECT status, partner_query_status verdict, pre_rent_check_result result, payment_status payment, current_payable payable
           FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id`,
        [own.partnerOrgId],
      );
      const none = { verdict: null, result: null, payment: 'NOT_APPLICABLE', payable: '0.00' };
      expect(rows).to.deep.equal([
        { status: 'PLATFORM_ONLY', ...none },
        { status: 'MATCHED', ...none },
      ]);
      const ours = await store.many<{ payment: string }>(
        'SELECT DISTINCT payment_status payment FROM fi_customer_bill WHERE partner_org_id = ?',
        [own.partnerOrgId],
      );
      expect(ours.map((row) => row.payment)).to.deep.equal(['NOT_APPLICABLE']);
      expect(await tasksOf('account-shard')).to.deep.equal([]);
      expect(await tasksOf('bill-snapshot')).to.have.length(2);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['PAYMENT_DISABLED']);
      await own.send({ deletions: [own.deletion(0, JANUARY), own.deletion(1, JANUARY)] });
      await assertSettled();
      expect((await ledger()).map((row) => row.status)).to.deep.equal(['MATCHED', 'PARTNER_ONLY']);
    });

    it('DEC-15 another partner’s bills of the same station are its own', async () => {
      const platformStationId = own.stations[0]!.platformStationId!;
      const first = own;
      await first.send({ bills: [first.bill(0, JANUARY)] });
      await first.settle();
      await make(1, { mapping: { platform_station_id: platformStationId } });
      await own.send({ bills: [own.bill(0, JANUARY, { rent: '1.00' })] });
      await assertSettled();
      await own.send({ deletions: [own.deletion(0, JANUARY)] });
      await assertSettled();
      own = first;
      expect((await ledger())[0]).to.include({ status: 'PLATFORM_ONLY', ours: '120.00', version: 1 });
      await makeMapping(store, own.partnerOrgId);
      await assertSettled();
    });
  });
});
