import { expect } from 'chai';
import type { SlotRight } from '../../src/store/slots.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { type Claim, claimTasks } from '../../src/tasks/claim-tasks.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  dueInMs,
  holdRows,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  PARTNER,
  readSlot,
  readTask,
  STAGE,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { makePartner } from '../support/factory.ts';
import { ScriptedStore } from '../support/scripted-store.ts';

describe('tasks: claiming', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let made: TestEngine;
  let right: SlotRight;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect', 'stage_control', 'partner'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 2);
    made = makeEngine(store);
    right = (await takeSlot(made.engine, slotOf()))!.right;
  });

  const claim = (limit = 50): Promise<Claim> =>
    store.transaction(NEW_READ_COMMITTED, (tx) => claimTasks(made.engine, tx, right, limit));
  const codes = (claimed: Claim) => claimed.tasks.map((task) => task.taskCode);

  it('ENG-8 oldest due first, then fewest failures, then the lowest id', async () => {
    const due = { next_execute_time: '2026-01-01 00:00:00.000' };
    await makeTask(store, 'failed twice', { ...due, retry_count: 2, status: 3 });
    await makeTask(store, 'never failed, later id', due);
    await makeTask(store, 'later due', { next_execute_time: '2026-01-01 00:00:00.001' });
    await makeTask(store, 'never failed, latest id', due);
    await makeTask(store, 'due first', {
      next_execute_time: '2025-12-31 23:59:59.999',
      retry_count: 7,
      status: 3,
    });
    expect(codes(await claim())).to.deep.equal([
      'due first',
      'never failed, later id',
      'never failed, latest id',
      'failed twice',
      'later due',
    ]);
  });

  it('ENG-8 a claim writes attempt, slot, fence, worker; clears the error; names the batch and moves the lease on', async () => {
    const id = await makeTask(store, 'a', {
      status: 3,
      retry_count: 1,
      running_attempt: 4,
      error_code: 'X',
      error_message: 'what went wrong',
      slot_no: 9,
      slot_fence: '1',
      worker: 'worker-before',
      busy_since: '2026-01-01',
    });
    await store.change('UPDATE stage_slot SET lease_end = lease_end - INTERVAL 20 SECOND');
    await store.change("UPDATE fi_async_task SET update_time = '2026-01-01'");
    const { tasks } = await claim();
    const { fresh } = await store.one<{ fresh: number }>(
      'SELECT update_time > NOW(3) - INTERVAL 1 MINUTE fresh FROM fi_async_task',
    );
    expect(Number(fresh), 'update_time').to.equal(1);
    expect(tasks[0]).to.include({ id, status: 1, runningAttempt: 5, slotNo: 1, errorMessage: null });
    expect(await readTask(store, 'a')).to.include({
      status: 1,
      runningAttempt: 5,
      retryCount: 1,
      slotNo: 1,
      slotFence: right.fence,
      worker: 'worker-a',
      errorCode: null,
      errorMessage: null,
      claimable: null,
    });
    const slot = await readSlot(store, slotOf());
    expect(slot?.taskIds).to.deep.equal([id]);
    expect(slot?.leaseMs).to.be.above(15_000);
  });

  it('ENG-8 what is not due, stopped, ended, used up, of another partner or stage is left alone', async () => {
    await makeTask(store, 'due in a minute', { due_in_s: 60 });
    await makeTask(store, 'stopped', { activation: 0 });
    await makeTask(store, 'ended', { status: 2 });
    await makeTask(store, 'used up', { status: 3, retry_count: 8 });
    await makeTask(store, 'of another partner', { partner_org_id: '8' });
    await makeTask(store, 'of another stage', { stage: 'bill-snapshot' });
    expect(await claim()).to.deep.equal({ tasks: [], full: false });
    expect((await readSlot(store, slotOf()))?.taskIds).to.deep.equal([]);
  });

  describe('rows that the database does not let be claimed', () => {
    /** @param condition of the row as it would become */
    const refuse = (condition: string) =>
      store.change(
        `CREATE TRIGGER refuse_claim BEFORE UPDATE ON fi_async_task FOR EACH ROW
           BEGIN IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF; END`,
      );
    afterEach(() => store.change('DROP TRIGGER IF EXISTS refuse_claim'));
    const told = () => made.observed.of('trouble').map(([where]) => where);

    it('LCK-25 ENG-8 are put off, reported, and left out of a batch that is claimed without them', async () => {
      await makeTasks(store, ['a', 'b', 'c', 'd']);
      await refuse("NEW.status = 1 AND NEW.task_code IN ('a', 'c')");
      expect(codes(await claim())).to.deep.equal(['b', 'd']);
      expect(told()).to.deep.equal(['claiming a', 'claiming c']);
      for (const code of ['a', 'c'])
        expect(await readTask(store, code)).to.include({
          status: 0,
          retryCount: 0,
          runningAttempt: 0,
          errorCode: 'NOT_CLAIMED',
          errorMessage: 'It could not be claimed: not this one',
        });
      expect(await dueInMs(store, 'a')).to.be.above(60_000);
      expect((await readSlot(store, slotOf()))?.taskIds).to.have.length(2);
    });

    it('LCK-25 ENG-8 are passed over where not even that can be written, and do not hide what is due behind them', async () => {
      await makeTasks(store, ['a', 'b', 'c']);
      await refuse("NEW.task_code IN ('a', 'b')");
      expect(codes(await claim(1))).to.deep.equal(['c']);
      expect(await readTask(store, 'a')).to.include({ status: 0, errorCode: null });
    });

    it('LCK-25 ENG-8 when there are many, it is not about them: nothing is claimed and the error is told', async () => {
      await makeTasks(
        store,
        Array.from({ length: 20 }, (_, index) => `t${index}`),
      );
      await refuse('NEW.status = 1');
      const error = await claim().then(
        () => null,
        (thrown: Error) => thrown,
      );
      expect(error?.message).to.contain('not this one');
      expect(await readTask(store, 't0')).to.include({ status: 0, errorCode: null });
    });
  });

  it('ENG-8 rows that another session holds are passed over without waiting', async () => {
    await makeTasks(store, ['a', 'b', 'c']);
    const held = await holdRows(other, 'SELECT id FROM fi_async_task WHERE task_code = ? FOR UPDATE', ['b']);
    const startedMs = performance.now();
    expect(codes(await claim())).to.deep.equal(['a', 'c']);
    expect(performance.now() - startedMs).to.be.below(5_000);
    await held.release();
  });

  it('ENG-8 two slots that claim at once share the tasks: none is claimed twice, none is left', async () => {
    await makeTasks(
      store,
      Array.from({ length: 60 }, (_, index) => `t${index}`),
    );
    const second = makeEngine(other, { worker: 'worker-b' });
    const rightB = (await takeSlot({ ...second.engine }, slotOf(2)))!;
    const claims = await Promise.all([claim(), claim(), claim()]);
    const all = [...claims.flatMap(codes), ...rightB.claim.tasks.map((task) => task.taskCode)];
    expect(new Set(all).size).to.equal(all.length);
    expect(all).to.have.length(60);
  });

  it('ENG-8 a claim says whether it was full: more may be due than was taken', async () => {
    await makeTasks(store, ['a', 'b', 'c']);
    const first = await claim(2);
    const second = await claim(2);
    expect([codes(first), first.full]).to.deep.equal([['a', 'b'], true]);
    expect([codes(second), second.full]).to.deep.equal([['c'], false]);
  });

  it('ENG-8 one commit finishes a batch and claims the next', async () => {
    await makeTasks(
      store,
      Array.from({ length: 120 }, (_, index) => `t${index}`),
    );
    const counting = new ScriptedStore(other.orm);
    const { engine, toy } = makeEngine(counting, { worker: 'worker-b' });
    expect(await takeTurn(engine, toy, slotOf(2), { contended: false })).to.equal('IDLE');
    expect(toy.calls.map((call) => call.length)).to.deep.equal([50, 50, 20]);
    expect(counting.transactions, 'taking with the first claim, three batches, giving back').to.equal(5);
    const row = await store.one<{ done: string }>('SELECT COUNT(*) done FROM fi_async_task WHERE status = 2');
    expect(Number(row.done)).to.equal(120);
  });

  it('ENG-8 a claim touches only the rows that it takes, whatever else is waiting', async () => {
    await makeTasks(
      store,
      Array.from({ length: 30 }, (_, index) => `mine ${index}`),
    );
    await makeTasks(
      store,
      Array.from({ length: 200 }, (_, index) => `later ${index}`),
      { due_in_s: 600 },
    );
    await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      await claimTasks(made.engine, tx, right, 5);
      const row = await tx.one<{ locked: string }>(
        `SELECT trx_rows_locked locked FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID()`,
      );
      expect(Number(row.locked)).to.be.below(30);
    });
  });

  it('ENG-14 a paused stage gives no tasks; the pause stands in the database and ends there', async () => {
    await makeTask(store, 'a');
    await setStagePaused(other, STAGE, true, 'ops');
    expect(codes(await claim())).to.deep.equal([]);
    await setStagePaused(other, STAGE, false, 'ops');
    expect(codes(await claim())).to.deep.equal(['a']);
  });

  it('ENG-14 a pause of another stage pauses nothing here', async () => {
    await makeTask(store, 'a');
    await setStagePaused(other, 'income-diff', true, 'ops');
    expect(codes(await claim())).to.deep.equal(['a']);
  });

  it('ENG-14 a paused partner gives no tasks; another partner’s work goes on', async () => {
    await makePartner(store, { partner_org_id: PARTNER, paused: 1 });
    await makePartner(store, { partner_org_id: '8' });
    await makeSlots(store, 1, '8');
    await makeTask(store, 'of the paused one');
    await makeTask(store, 'of the other', { partner_org_id: '8' });
    expect(codes(await claim())).to.deep.equal([]);
    expect(codes((await takeSlot(made.engine, slotOf(1, '8')))!.claim)).to.deep.equal(['of the other']);
    await store.change('UPDATE partner SET paused = 0 WHERE partner_org_id = ?', [PARTNER]);
    expect(codes(await claim())).to.deep.equal(['of the paused one']);
  });

  it('ENG-14 a pause takes effect within a turn: what is at work is finished, nothing more is begun', async () => {
    await makeTasks(
      store,
      Array.from({ length: 60 }, (_, index) => `t${String(index).padStart(2, '0')}`),
    );
    const { engine, toy } = makeEngine(other, { worker: 'worker-b' });
    toy.script('t10', async () => {
      await setStagePaused(store, STAGE, true, 'ops');
    });
    expect(await takeTurn(engine, toy, slotOf(2), { contended: false })).to.equal('IDLE');
    expect(toy.calls.map((call) => call.length)).to.deep.equal([50]);
  });

  it('ENG-11 a suspect at the head is claimed alone', async () => {
    await makeTasks(store, ['suspect'], { crash_count: 1, due_in_s: -9_000 });
    await makeTasks(store, ['a', 'b']);
    const first = await claim();
    expect([codes(first), first.full]).to.deep.equal([['suspect'], true]);
    expect(codes(await claim())).to.deep.equal(['a', 'b']);
  });

  it('ENG-11 what stands before a suspect is claimed without it; two suspects never share a batch', async () => {
    await makeTask(store, 'a', { due_in_s: -90 });
    await makeTask(store, 'suspect 1', { due_in_s: -80, crash_count: 1 });
    await makeTask(store, 'suspect 2', { due_in_s: -70, crash_count: 2 });
    await makeTask(store, 'b', { due_in_s: -60 });
    const batches: string[][] = [];
    for (let index = 0; index < 5; index++) batches.push(codes(await claim()));
    expect(batches).to.deep.equal([['a'], ['suspect 1'], ['suspect 2'], ['b'], []]);
  });
});
