import { expect } from 'chai';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../../src/store/transaction.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../../src/tasks/request-snapshots.ts';
import { dueInMs, readTask } from '../support/engine.ts';
import { type Columns, type MadeMapping, makeMapping, makeSnapshot } from '../support/factory.ts';
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
  workDirectly,
} from '../support/stages.ts';
import { killWaiting, whileTurnWaits as whileWaiting } from '../support/while-waiting.ts';

const STAGE = 'bill-snapshot';

describe('actors: snapshot', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages({ lockWaitTimeoutS: 30 });
    store = stages.store;
  });
  after(() => stages.close());

  interface World {
    readonly partnerOrgId: string;
    readonly mapping: MadeMapping;
    readonly code: string;
  }
  /** A station with read-model rows of these months. */
  async function makeWorld(months: readonly string[] = []): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store);
    const mapping = await makeMapping(store, partnerOrgId);
    const platformStationId = mapping.platformStationId!;
    for (const month of months) await makeSnapshot(store, { partnerOrgId, platformStationId, month });
    return { partnerOrgId, mapping, code: `BDS:${partnerOrgId}:${platformStationId}` };
  }
  const push = (world: World, bills: readonly Columns[]) =>
    acceptPush(store, world.partnerOrgId, [{ mapping: world.mapping, bills }]);
  /** Pushed and refreshed: the snapshot task waits. */
  async function refreshed(world: World, bills: readonly Columns[]): Promise<AcceptedPush> {
    const made = await push(world, bills);
    await stages.turnsUpTo('account-shard', world.partnerOrgId);
    return made;
  }
  const turn = (world: World) => stages.turn(STAGE, world.partnerOrgId);
  async function askIn(tx: Transaction, { partnerOrgId, mapping }: World, months: readonly string[]) {
    const request = { partnerOrgId, platformStationId: mapping.platformStationId!, months, source: 'TEST' };
    return submitSnapshotRequests(tx, await planSnapshotRequests(tx, [request]));
  }
  const ask = (world: World, months: readonly string[]) =>
    store.transaction(NEW_READ_COMMITTED, (tx) => askIn(tx, world, months));
  const whileTurnWaits = (world: World, act: (tx: Transaction) => Promise<unknown>) =>
    whileWaiting(stages, world.mapping.platformStationId!, () => turn(world), act);
  const taskOf = async (world: World) => {
    const task = await readTask(store, world.code);
    return { ...task, months: (task.taskData as { months: string[] }).months };
  };
  const set = (world: World, columns: string) =>
    store.changeExactly(
      1,
      'a state for the task',
      `UPDATE fi_async_task SET ${columns} WHERE task_code = ?`,
      [world.code],
    );
  interface Snapshot {
    readonly month: string;
    readonly rent: string;
    readonly version: number;
    readonly generation: number;
    readonly taskId: string;
    readonly acceptNo: string;
    readonly made: string | null;
  }
  const snapshotsOf = (world: World) =>
    store.many<Snapshot>(
      `SELECT bill_year_month month, partner_rent rent, financial_version version, request_generation generation,
              task_id taskId, accept_no acceptNo, snapshot_time made
         FROM fi_resident_income_payment_bill_dimension_snapshot WHERE partner_org_id = ? ORDER BY bill_year_month`,
      [world.partnerOrgId],
    );

  describe('asking', () => {
    it('SNP-1 makes one task a station, of generation 1, due now; a station that is asked for again keeps it', async () => {
      const world = await makeWorld();
      const [first] = await ask(world, ['2026-02', '2026-01', '2026-02']);
      const task = await taskOf(world);
      expect(first).to.include({ taskId: task.id, generation: 1 });
      expect(task).to.include({ status: 0, requestGeneration: 1, retryCount: 0 });
      expect(task.months).to.deep.equal(['2026-01', '2026-02']);
      expect(await dueInMs(store, world.code)).to.be.at.most(0);
      const [second] = await ask(world, ['2026-03']);
      expect(second).to.include({ taskId: task.id, generation: 2 });
    });

    const states: [what: string, state: string, after: object, months: string[]][] = [
      ['waits', 'status = 0', { status: 0, retryCount: 0 }, ['2026-01', '2026-02']],
      [
        'has failed, and waits for its next try',
        "status = 3, retry_count = 3, crash_count = 1, error_code = 'X', error_message = 'x', next_execute_time = '2090-01-01'",
        { status: 0, retryCount: 0, crashCount: 0, errorCode: null, errorMessage: null },
        ['2026-01', '2026-02'],
      ],
      [
        'has failed for good',
        "status = 3, retry_count = 8, error_code = 'X', next_execute_time = '2090-01-01'",
        { status: 0, retryCount: 0, errorCode: null },
        ['2026-01', '2026-02'],
      ],
      [
        'has succeeded: the new months alone',
        "status = 2, final_result = 'FULL_SUCCESS', next_execute_time = '2090-01-01'",
        { status: 0, retryCount: 0 },
        ['2026-02'],
      ],
      [
        'runs: it is left running',
        'status = 1, retry_count = 2',
        { status: 1, retryCount: 2 },
        ['2026-01', '2026-02'],
      ],
    ];
    for (const [what, state, after, months] of states) {
      it(`SNP-1 counts one generation more for a task that ${what}`, async () => {
        const world = await makeWorld();
        await ask(world, ['2026-01']);
        await set(world, state);
        await ask(world, ['2026-02']);
        const task = await taskOf(world);
        expect(task).to.include({ requestGeneration: 2, ...after });
        expect(task.months).to.deep.equal(months);
        if (task.status === 0) expect(await dueInMs(store, world.code)).to.be.at.most(0);
      });
    }

    it('SNP-1 fails for a cancelled task, which only a person can decide about, and leaves it as it is', async () => {
      const world = await makeWorld();
      await ask(world, ['2026-01']);
      await set(world, 'status = 4');
      const code = await ask(world, ['2026-02']).then(
        () => 'asked',
        (error: { code: string }) => error.code,
      );
      expect(code).to.equal('SNAPSHOT_TASK_CANCELLED');
      expect(await taskOf(world)).to.include({ status: 4, requestGeneration: 1 });
    });

    it('SNP-1 fails above 240 months, with the task as it was', async () => {
      const world = await makeWorld();
      const months = Array.from({ length: 240 }, (_, index) =>
        new Date(Date.UTC(2000, index)).toISOString().slice(0, 7),
      );
      await ask(world, months);
      expect(await ask(world, ['2026-01']).catch((error: { code: string }) => error.code)).to.equal(
        'SNAPSHOT_CAPACITY',
      );
      const task = await taskOf(world);
      expect(task.requestGeneration).to.equal(1);
      expect(task.months).to.have.length(240);
      await ask(world, [months[0]!]);
      expect((await taskOf(world)).requestGeneration, 'months that it has already are no more').to.equal(2);
    });
  });

  describe('a run', () => {
    it('SNP-2 a request that comes while it runs is carried out by another run', async () => {
      const world = await makeWorld(['2026-01', '2026-02']);
      const made = await refreshed(world, [bill('2026-01'), bill('2026-02')]);
      await store.change(
        "UPDATE fi_async_task SET task_data = JSON_SET(task_data, '$.months', JSON_ARRAY('2026-01')) WHERE task_code = ?",
        [world.code],
      );
      await whileTurnWaits(world, (tx) => askIn(tx, world, ['2026-02']));
      expect(await taskOf(world)).to.include({ status: 2, requestGeneration: 2, runningAttempt: 2 });
      expect((await snapshotsOf(world)).map(({ rent, generation }) => [rent, generation])).to.deep.equal([
        ['120.00', 2],
        ['120.00', 2],
      ]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['CURRENT', 'CURRENT']);
    });

    it('SNP-2 a run that nobody asked again while it ran is the only one', async () => {
      const world = await makeWorld(['2026-01']);
      await refreshed(world, [bill('2026-01')]);
      await whileTurnWaits(world, async () => {});
      expect(await taskOf(world)).to.include({ status: 2, requestGeneration: 1, runningAttempt: 1 });
    });

    it('SNP-2 its rows end by the generation that was claimed: those of the newer request wait for the next run', async () => {
      const world = await makeWorld(['2026-01']);
      const first = await refreshed(world, [bill('2026-01', { rent: '1.00' })]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const second = await refreshed(world, [bill('2026-01', { rent: '2.00' })]);
      await workDirectly(store, stages.handlerOf(STAGE), claimed);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED']);
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['SNAPSHOT_PENDING']);
      expect(await taskOf(world)).to.include({ status: 1, requestGeneration: 2 });
      await unclaim(store, claimed);
      await turn(world);
      expect(await placesByRow(store, second.pushId)).to.deep.equal(['CURRENT']);
    });

    for (const [what, retryCount] of [
      ['breaks', 0],
      ['breaks at its last try', 7],
    ] as const) {
      it(`SNP-2 a run that ${what} after it was asked again leaves the newer request to be carried out, with all its tries`, async () => {
        const world = await makeWorld(['2026-01']);
        const made = await refreshed(world, [bill('2026-01')]);
        await set(world, `retry_count = ${retryCount}`);
        await whileTurnWaits(world, async (tx) => {
          await askIn(tx, world, ['2026-01']);
          await killWaiting(tx);
        });
        expect(await taskOf(world)).to.include({
          status: 2,
          requestGeneration: 2,
          runningAttempt: 2,
          retryCount: 0,
        });
        expect(await placesByRow(store, made.pushId)).to.deep.equal(['CURRENT']);
      });
    }

    it('SNP-2 ENG-11 a third crash after it was asked again takes the newer request with it no more than a failure does', async () => {
      const world = await makeWorld(['2026-01']);
      const made = await refreshed(world, [bill('2026-01')]);
      await set(world, 'crash_count = 2');
      await claim(stages, STAGE, world.partnerOrgId);
      await ask(world, ['2026-01']);
      // The claimer dies: its slot runs out, and whoever takes it gives back what it had.
      await store.change(
        'UPDATE stage_slot SET lease_end = SYSDATE(3) WHERE stage = ? AND partner_org_id = ? AND slot_no = 1',
        [STAGE, world.partnerOrgId],
      );
      await turn(world);
      expect(await taskOf(world)).to.include({ status: 2, requestGeneration: 2, errorCode: null });
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['CURRENT']);
    });

    it('SNP-2 ENG-13 a run that breaks and was not asked again is an ordinary failure', async () => {
      const world = await makeWorld(['2026-01']);
      const made = await refreshed(world, [bill('2026-01')]);
      await whileTurnWaits(world, killWaiting);
      expect(await taskOf(world)).to.include({ status: 3, requestGeneration: 1, retryCount: 1 });
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['SNAPSHOT_PENDING']);
    });

    it('SNP-3 refreshes the rows that exist and creates none; a month without a row ends as NO_SNAPSHOT', async () => {
      const world = await makeWorld(['2026-02']);
      const made = await refreshed(world, [bill('2026-01'), bill('2026-02')]);
      await turn(world);
      expect((await snapshotsOf(world)).map((row) => row.month)).to.deep.equal(['2026-02']);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT', 'CURRENT']);
      expect(
        (await checkPlaces(store)).filter((fault) => fault.startsWith(`push ${made.pushId} `)),
      ).to.deep.equal([]);
    });

    it('SNP-4 DEC-9 a row says what the difference and its bill say, and by which task, generation and version it was made', async () => {
      const world = await makeWorld(['2026-01']);
      const made = await refreshed(world, [bill('2026-01', { rent: '77.00', freeze_amount: '3.00' })]);
      await ask(world, ['2026-01']);
      await turn(world);
      const [row] = await snapshotsOf(world);
      const task = await taskOf(world);
      expect(row).to.include({
        rent: '77.00',
        taskId: task.id,
        generation: 2,
        version: 1,
        acceptNo: made.acceptNo,
      });
      expect(row!.made).to.be.a('string');
      const detail = await store.one(
        `SELECT s.diff_id = d.id diff, s.partner_bill_id = d.partner_bill_id bill, s.canonical_account_id = d.partner_account_id account,
                s.deduction_amount deduction, s.freeze_amount freeze, s.payment_status status, s.partner_query_status verification,
                s.pre_rent_check_result preRent
           FROM fi_resident_income_payment_bill_dimension_snapshot s
           JOIN fi_monthly_income_difference d ON d.partner_org_id = s.partner_org_id WHERE s.partner_org_id = ?`,
        [world.partnerOrgId],
      );
      expect({ ...detail, diff: undefined, bill: undefined, account: undefined }).to.deep.include({
        deduction: '10.00',
        freeze: '3.00',
        status: 'NOT_VERIFIED',
        verification: 'NOT_VERIFIED',
        preRent: 'PASS',
      });
      const { diff, bill: billFits, account } = detail as Record<string, unknown>;
      expect([diff, billFits, account].map(Number)).to.deep.equal([1, 1, 1]);
    });

    for (const [what, version, taken] of [
      ['lower', 0, true],
      ['equal', 1, true],
      ['higher', 2, false],
    ] as const) {
      it(`SNP-4 a row whose financial version is ${what} ${taken ? 'takes' : 'does not take'} the difference's`, async () => {
        const world = await makeWorld(['2026-01']);
        await refreshed(world, [bill('2026-01', { rent: '77.00' })]);
        await store.change(
          'UPDATE fi_resident_income_payment_bill_dimension_snapshot SET financial_version = ? WHERE partner_org_id = ?',
          [version, world.partnerOrgId],
        );
        await turn(world);
        const [row] = await snapshotsOf(world);
        expect([row!.rent, row!.version]).to.deep.equal(taken ? ['77.00', 1] : ['0.00', 2]);
      });
    }

    it('SNP-4 a pushed row whose bill carries another number by now is SUPERSEDED by that push', async () => {
      const world = await makeWorld(['2026-01', '2026-02']);
      const first = await refreshed(world, [bill('2026-01'), bill('2026-02')]);
      const second = await push(world, [bill('2026-01')]);
      await stages.turn('bill-station', world.partnerOrgId);
      await turn(world);
      expect(await placesByRow(store, first.pushId)).to.deep.equal(['SUPERSEDED', 'CURRENT']);
      const { by } = await store.one<{ by: string }>(
        'SELECT superseded_by_push_id `by` FROM pushed_row_place WHERE push_id = ? AND row_no = 1',
        [first.pushId],
      );
      expect(by).to.equal(second.pushId);
    });

    it('SNP-4 ENG-16 the guard is locked before anything is read: what its holder wrote last is in the row', async () => {
      const world = await makeWorld(['2026-01']);
      await refreshed(world, [bill('2026-01')]);
      await whileTurnWaits(world, (tx) =>
        tx.change(
          'UPDATE fi_monthly_income_difference SET partner_rent = 99.00, financial_version = 5 WHERE partner_org_id = ?',
          [world.partnerOrgId],
        ),
      );
      expect((await snapshotsOf(world))[0]).to.include({ rent: '99.00', version: 5 });
    });

    it('SNP-4 ENG-15 the tasks of one batch lock all their guards first', async () => {
      const world = await makeWorld(['2026-01']);
      await refreshed(world, [bill('2026-01')]);
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      const { statements } = await workDirectly(store, stages.handlerOf(STAGE), claimed);
      expect(statements[0]).to.match(/^INSERT INTO station_guard/);
      await endClaimed(store, claimed);
    });
  });
});
