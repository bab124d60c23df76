import { expect } from 'chai';
import { Failure } from '../../src/errors.ts';
import { recordProgressIfRunning } from '../../src/store/running-tasks.ts';
import type { Store } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  dueInMs,
  endLease,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  readSlot,
  readTask,
  STAGE,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('tasks: rescue', () => {
  let testStore: TestStore;
  let store: Store;
  let dead: TestEngine;
  let next: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    dead = makeEngine(store, { worker: 'worker-dead' });
    next = makeEngine(store, { worker: 'worker-next' });
  });

  /** What a process that died leaves: the slot held, its tasks RUNNING, and nobody there. */
  const dieInTurn = async () => {
    const taken = await takeSlot(dead.engine, slotOf());
    await endLease(store, slotOf());
    return taken!;
  };
  const turn = () => takeTurn(next.engine, next.toy, slotOf(), { contended: false });

  it('ENG-11 the tasks of a lost slot are PENDING again with one crash more; attempts and failures stand', async () => {
    await makeTask(store, 'a', { status: 3, retry_count: 2, running_attempt: 5, busy_since: '2026-01-01' });
    await dieInTurn();
    const taken = await takeSlot(next.engine, slotOf());
    expect(await readTask(store, 'a')).to.include({
      status: 1,
      crashCount: 1,
      retryCount: 2,
      runningAttempt: 7,
      worker: 'worker-next',
      slotFence: taken!.right.fence,
    });
    expect(next.observed.of('rescued')).to.deep.equal([[STAGE, 1]]);
  });

  it('ENG-11 rescue, new holder and first claim are one commit: at no instant is nobody responsible', async () => {
    await makeTasks(store, ['a', 'b']);
    const lost = await dieInTurn();
    const taken = await takeSlot(next.engine, slotOf());
    expect(
      taken?.claim.tasks.map((task) => task.taskCode),
      'a suspect is claimed alone',
    ).to.deep.equal(['a']);
    expect(BigInt(taken!.right.fence)).to.equal(BigInt(lost.right.fence) + 1n);
    expect(await readTask(store, 'b')).to.include({ status: 0, crashCount: 1, claimable: 1 });
    expect((await readSlot(store, slotOf()))?.taskIds).to.deep.equal([(await readTask(store, 'a')).id]);
  });

  it('ENG-11 the third crash is the end: FAILED, CRASHED, not claimable, and what waits for it is told', async () => {
    await makeTask(store, 'killer', { crash_count: 2, manually_due: 1 });
    await dieInTurn();
    expect(await turn()).to.equal('IDLE');
    expect(await readTask(store, 'killer')).to.include({
      status: 3,
      crashCount: 3,
      retryCount: 8,
      errorCode: 'CRASHED',
      errorMessage: 'The process died 3 times while it did this work',
      claimable: null,
      manuallyDue: 0,
    });
    expect(next.toy.halts).to.deep.equal(['killer FAILED CRASHED']);
    expect(await effectKeys(store)).to.deep.equal([]);
  });

  it('ENG-11 what was finished, handed back or claimed again since is left alone by a rescue', async () => {
    await makeTasks(store, ['finished', 'elsewhere', 'before', 'after', 'stuck']);
    await makeSlots(store, 2).catch(() => undefined);
    await dieInTurn();
    await store.change("UPDATE fi_async_task SET status = 2 WHERE task_code = 'finished'");
    await store.change("UPDATE fi_async_task SET slot_no = 2 WHERE task_code = 'elsewhere'");
    for (const [code, step] of [
      ['before', -1],
      ['after', 1],
    ] as const)
      await store.change('UPDATE fi_async_task SET slot_fence = slot_fence + ? WHERE task_code = ?', [
        step,
        code,
      ]);
    await takeSlot(next.engine, slotOf());
    expect(await readTask(store, 'finished')).to.include({ status: 2, crashCount: 0 });
    expect(await readTask(store, 'elsewhere')).to.include({ status: 1, crashCount: 0, slotNo: 2 });
    for (const code of ['before', 'after'])
      expect(await readTask(store, code), `${code} this fence`).to.include({ status: 1, crashCount: 0 });
    expect(await readTask(store, 'stuck')).to.include({ crashCount: 1 });
  });

  it('ENG-11 recorded progress forgives crashes', async () => {
    await makeTask(store, 'steps', { crash_count: 2 });
    let step = 0;
    dead.toy.effectKey = () => `step ${++step}`;
    dead.toy.script('steps', async (tx, task) => {
      await recordProgressIfRunning(tx, task, { cursor: step });
      return { kind: 'continues' };
    });
    const { engine } = makeEngine(store, { worker: 'worker-dead', limits: { sliceMs: 0 } });
    await takeTurn(engine, dead.toy, slotOf(), { contended: false });
    expect(await readTask(store, 'steps')).to.include({ status: 0, crashCount: 0, finalResult: 'RUNNING' });
    await dieInTurn();
    await takeSlot(next.engine, slotOf());
    expect((await readTask(store, 'steps')).crashCount).to.equal(1);
  });

  it('ENG-11 success forgives crashes: a task that is asked for again is no suspect', async () => {
    await makeTask(store, 'again', { crash_count: 1 });
    await makeTask(store, 'renewed', { crash_count: 1 });
    next.toy.script('renewed', async (tx) => {
      await tx.change("UPDATE fi_async_task SET request_generation = 2 WHERE task_code = 'renewed'");
      return { kind: 'succeeded-unless-renewed' };
    });
    next.toy.effectKey = (task) => `${task.taskCode} ${task.runningAttempt}`;
    const oneEach = { ...next.engine, limits: { ...next.engine.limits, sliceMs: 0 } };
    for (let suspects = 0; suspects < 2; suspects++)
      await takeTurn(oneEach, next.toy, slotOf(), { contended: false });
    expect(await readTask(store, 'again')).to.include({ status: 2, crashCount: 0 });
    expect(await readTask(store, 'renewed')).to.include({ status: 0, crashCount: 0 });
  });

  it('ENG-11 a graceful hand-back counts nothing: slice over, process stopping', async () => {
    await makeTasks(store, ['a', 'b', 'c']);
    next.toy.serialKey = () => 'same';
    next.toy.script('a', async () => next.stopping.abort());
    expect(await turn()).to.equal('MORE');
    expect(await readTask(store, 'a')).to.include({ status: 2 });
    for (const code of ['b', 'c']) {
      expect(await readTask(store, code)).to.include({
        status: 0,
        crashCount: 0,
        retryCount: 0,
        runningAttempt: 1,
        claimable: 1,
      });
      expect(await dueInMs(store, code)).to.be.at.most(0);
    }
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
    expect(next.wake.slots, 'another process goes on').to.deep.equal([`${STAGE}/7/1`]);
  });

  it('a crash that cannot be told to what waits for the task wedges no slot: the task waits and is told again', async () => {
    await makeTask(store, 'killer', { crash_count: 2, due_in_s: -600 });
    await makeTask(store, 'neighbour');
    await dieInTurn();
    next.toy.haltWith = async () => {
      throw new Failure('PLACES', 'places do not add up');
    };
    await turn();
    expect(await readTask(store, 'neighbour')).to.include({ status: 2 });
    expect(await readTask(store, 'killer')).to.include({
      status: 0,
      crashCount: 2,
      errorCode: 'NOT_RECORDED',
    });
    expect(await dueInMs(store, 'killer')).to.be.above(100_000);
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
    expect(next.observed.of('trouble')).to.have.length.above(0);
  });

  it('a slot that died with nothing in hand is simply taken', async () => {
    await dieInTurn();
    await store.change('UPDATE stage_slot SET task_ids = NULL');
    expect(await turn()).to.equal('IDLE');
    expect(next.observed.of('rescued')).to.deep.equal([]);
  });

  it('ENG-4 ENG-11 a manual run of a task without attempts survives a crash: it runs, or ends as failed', async () => {
    await makeTask(store, 'by hand', { status: 3, retry_count: 8, manually_due: 1 });
    const lost = await dieInTurn();
    expect(lost.claim.tasks).to.have.length(1);
    expect(await turn()).to.equal('IDLE');
    expect(await readTask(store, 'by hand')).to.include({ status: 2, manuallyDue: 0 });
  });
});
