/** Who may work on an account task, and what becomes of work whose right is gone (ACC-1, ACC-2, ENG-9). */
import { expect } from 'chai';
import type { AccountRefresh } from '../../src/domain/account-refresh.ts';
import { Failure, FencedOutError } from '../../src/errors.ts';
import { requestStop } from '../../src/store/stage-control.ts';
import type { Store } from '../../src/store/transaction.ts';
import { type Round, runRound, type Turn } from '../../src/tasks/run-round.ts';
import { cancelTask, stopTask } from '../../src/tasks/steer-task.ts';
import { readSlot, readTask, statusOf } from '../support/engine.ts';
import { type Columns, type MadeMapping, makeMapping } from '../support/factory.ts';
import {
  acceptPush,
  bill,
  type Claimed,
  claim,
  makeStagedPartner,
  openStages,
  type Stages,
  unclaim,
} from '../support/stages.ts';
import { whileTurnWaits } from '../support/while-waiting.ts';

const STAGE = 'account-shard';

describe('actors: the right to an account task', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages({ lockWaitTimeoutS: 30 });
    store = stages.store;
  });
  after(() => stages.close());

  interface World {
    readonly partnerOrgId: string;
    readonly stations: readonly MadeMapping[];
    readonly codes: readonly string[];
  }
  /** Compared: the account tasks wait. */
  async function makeWorld(stationCount = 1): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store);
    const stations: MadeMapping[] = [];
    for (let made = 0; made < stationCount; made++) stations.push(await makeMapping(store, partnerOrgId));
    await acceptPush(
      store,
      partnerOrgId,
      stations.map((mapping) => ({ mapping, bills: [bill('2026-01')] })),
    );
    await stages.turnsUpTo('income-diff', partnerOrgId);
    await store.change(
      "UPDATE fi_customer_bill_partner SET partner_query_status = 'VERIFIED' WHERE partner_org_id = ?",
      [partnerOrgId],
    );
    const tasks = await store.many<{ code: string }>(
      'SELECT task_code code FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id',
      [partnerOrgId, STAGE],
    );
    return { partnerOrgId, stations, codes: tasks.map((task) => task.code) };
  }
  const turnOf = ({ right }: Claimed): Turn => {
    const handler = stages.handlerOf(STAGE);
    return { engine: stages.engine, handler, right, limits: { isOver: () => true } };
  };
  const workOf = ({ tasks }: Claimed): Round => ({ tasks, broken: null });
  const turn = (world: World) => stages.turn(STAGE, world.partnerOrgId);
  const outcomeCount = async (world: World) => {
    const row = await store.one<{ count: string }>(
      `SELECT COUNT(*) count FROM account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id WHERE t.partner_org_id = ?`,
      [world.partnerOrgId],
    );
    return Number(row.count);
  };
  const statuses = async (world: World) => {
    const rows = await store.many<{ status: string }>(
      'SELECT DISTINCT payment_status status FROM fi_monthly_income_difference WHERE partner_org_id = ?',
      [world.partnerOrgId],
    );
    return rows.map((row) => row.status);
  };

  describe('a claim', () => {
    it('ACC-1 a holder that ends one shard claims the next at once, under the same right, in the same transaction', async () => {
      const world = await makeWorld(26);
      const [first, second] = world.codes;
      expect(world.codes).to.have.length(2);
      stages.wake.kicks.length = 0;
      const { taskData } = await readTask(store, second!);
      await whileTurnWaits(
        stages,
        (taskData as AccountRefresh).platformAccountScopes[0]!.platformStationId,
        () => turn(world),
        async (tx) => {
          const ended = await readTask(tx, first!);
          const next = await readTask(tx, second!);
          expect(ended).to.include({ status: 2, finalResult: 'FULL_SUCCESS' });
          expect(next).to.include({ status: 1, slotNo: ended.slotNo, slotFence: ended.slotFence });
          const slot = await readSlot(tx, { stage: STAGE, partnerOrgId: world.partnerOrgId, slotNo: 1 });
          expect(slot).to.deep.include({ fence: ended.slotFence, taskIds: [next.id] });
          expect(stages.wake.kicks).to.not.include(`${STAGE}/${world.partnerOrgId}`);
        },
      );
      expect(await statusOf(store, second!)).to.equal('SUCCESS');
    });

    it('ACC-1 ENG-5 ENG-8 two slots of a partner have different shards in hand, a third finds nothing; a slot is taken once', async () => {
      const world = await makeWorld(26);
      const one = await claim(stages, STAGE, world.partnerOrgId, 1);
      const two = await claim(stages, STAGE, world.partnerOrgId, 2);
      const three = await claim(stages, STAGE, world.partnerOrgId, 3);
      expect([...one.tasks, ...two.tasks].map((task) => task.taskCode)).to.have.members([...world.codes]);
      expect(three.tasks).to.deep.equal([]);
      const again = await claim(stages, STAGE, world.partnerOrgId, 1).catch((error: Error) => error.message);
      expect(again).to.include('taken');
      for (const claimed of [one, two, three]) await unclaim(store, claimed);
    });

    it('ACC-1 ACC-11 what is stopped is not claimed', async () => {
      const world = await makeWorld();
      expect(await stopTask(stages.engine, { taskCode: world.codes[0]!, actor: 'test' })).to.deep.equal({
        kind: 'done',
      });
      await turn(world);
      expect(await readTask(store, world.codes[0]!)).to.include({ status: 0, runningAttempt: 0 });
    });

    it('ACC-1 ACC-11 what was asked to stop after it was claimed is put back before anything is done', async () => {
      const world = await makeWorld();
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      await requestStop(store, claimed.tasks[0]!.id, 'test');
      await runRound(turnOf(claimed), workOf(claimed), [], { begun: false, slot: null });
      expect(await readTask(store, world.codes[0]!)).to.include({ status: 0, activation: 0, retryCount: 0 });
      expect(await outcomeCount(world)).to.equal(0);
      await unclaim(store, claimed);
    });

    it('ACC-1 what was cancelled is not claimed', async () => {
      const world = await makeWorld();
      await cancelTask(stages.engine, { taskCode: world.codes[0]!, actor: 'test', reason: 'no' });
      await turn(world);
      expect(await readTask(store, world.codes[0]!)).to.include({ status: 4, runningAttempt: 0 });
    });

    for (const [what, column, value] of [
      ['business key', 'business_key', 'ACCOUNT_STAT_RECALCULATE|of another'],
      ['code', 'task_code', 'RIPSBR:0123'],
    ] as const) {
      it(`ACC-1 a task whose ${what} is another’s fails for good, as itself; no account is touched or blamed`, async () => {
        const world = await makeWorld();
        await store.change(`UPDATE fi_async_task SET ${column} = ? WHERE task_code = ?`, [
          value,
          world.codes[0]!,
        ]);
        await turn(world);
        const task = await readTask(store, column === 'task_code' ? value : world.codes[0]!);
        expect(task).to.include({ status: 3, errorCode: 'BAD_TASK_IDENTITY', claimable: null, result: null });
        expect(await outcomeCount(world)).to.equal(0);
        expect(await statuses(world)).to.deep.equal(['NOT_VERIFIED']);
      });
    }
  });

  describe('a write', () => {
    const ofTask: [what: string, columns: Columns][] = [
      ['is deleted', { del_flag: 1 }],
      ['is of another type', { task_type: 'ANOTHER' }],
      ['has another code', { task_code: 'RIPSBR:another' }],
      ['runs no more', { status: 0 }],
      ['is another worker’s', { worker: 'worker-b' }],
      ['runs under another attempt', { running_attempt: 2 }],
      ['is at another stage', { stage: 'account-full' }],
      ['is another partner’s', { partner_org_id: '1' }],
      ['runs in another slot', { slot_no: 2 }],
      ['runs under another fence', { slot_fence: '99' }],
    ];
    const ofSlot: [what: string, columns: Columns][] = [
      ['is another partner’s', { partner_org_id: '1' }],
      ['is at another stage', { stage: 'account-full', slot_no: 9 }],
      ['names another task', { task_ids: '["1"]' }],
      ['names no task', { task_ids: null }],
      ['has another holder', { holder: 'worker-b' }],
      ['is free', { holder: null }],
      ['has another fence', { fence: '99' }],
      ['has a lease that is over', { lease_end: '2020-01-01' }],
      ['has no lease', { lease_end: null }],
    ];
    const cases = [
      ...ofTask.map(([what, columns]) => ({ what: `the task ${what}`, table: 'fi_async_task', columns })),
      ...ofSlot.map(([what, columns]) => ({ what: `the slot ${what}`, table: 'stage_slot', columns })),
    ];
    for (const { what, table, columns } of cases) {
      it(`ACC-2 ENG-9 is not made where ${what}: neither the work nor its failure`, async () => {
        const world = await makeWorld();
        const claimed = await claim(stages, STAGE, world.partnerOrgId);
        const key =
          table === 'stage_slot'
            ? { sql: 'stage = ? AND partner_org_id = ? AND slot_no = 1', values: [STAGE, world.partnerOrgId] }
            : { sql: 'id = ?', values: [claimed.tasks[0]!.id] };
        await store.changeExactly(
          1,
          'another state',
          `UPDATE ${table} SET ${Object.keys(columns)
            .map((name) => `${name} = ?`)
            .join(', ')} WHERE ${key.sql}`,
          [...Object.values(columns), ...key.values],
        );
        const failure = new Failure('FACTS_MISSING', 'a failure of the account');
        for (const broken of [null, { thrown: failure, notRecorded: null }]) {
          const round = { tasks: claimed.tasks, broken };
          const outcome = await runRound(turnOf(claimed), round, [], { begun: false, slot: null }).catch(
            (error: Error) => error,
          );
          expect(outcome, broken === null ? 'work' : 'failure').to.be.instanceOf(FencedOutError);
        }
        expect(await outcomeCount(world)).to.equal(0);
        expect(await statuses(world)).to.deep.equal(['NOT_VERIFIED']);
        const task = await store.one(
          'SELECT result, retry_count retryCount, error_code errorCode FROM fi_async_task WHERE id = ?',
          [claimed.tasks[0]!.id],
        );
        expect(task).to.deep.equal({ result: null, retryCount: 0, errorCode: null });
      });
    }

    it('ACC-2 is made with everything as it was claimed', async () => {
      const world = await makeWorld();
      const claimed = await claim(stages, STAGE, world.partnerOrgId);
      await runRound(turnOf(claimed), workOf(claimed), [], { begun: false, slot: null });
      expect(await statusOf(store, world.codes[0]!)).to.equal('SUCCESS');
      expect(await statuses(world)).to.deep.equal(['PAYABLE']);
      expect(await outcomeCount(world)).to.equal(1);
    });
  });
});
