import { expect } from 'chai';
import { FencedOutError, RowCountError } from '../../src/errors.ts';
import {
  cancelIfRunning,
  failIfRunning,
  finishIfRunning,
  finishOrRenew,
  handBackIfRunning,
  lockRunningTasks,
  recordProgressIfRunning,
  stopIfRunning,
  type TaskRun,
} from '../../src/store/running-tasks.ts';
import { lockSlotIfHeld } from '../../src/store/slots.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  readSlot,
  readTask,
  STAGE,
  signal,
  slotOf,
  type TestEngine,
  untilWaiting,
} from '../support/engine.ts';
import { effectKeys, listEffects } from '../support/toy-handler.ts';

describe('tasks: the fence', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let old: TestEngine;
  let taker: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    old = makeEngine(store, { worker: 'worker-old' });
    taker = makeEngine(other, { worker: 'worker-new' });
  });

  const turnOf = ({ engine, toy }: TestEngine) => takeTurn(engine, toy, slotOf(), { contended: false });

  /** Lets `old` claim, then be overtaken before its work begins: the second round of its batch comes too late. */
  const overtakenBetweenRounds = async (whenOvertaken: () => Promise<void>) => {
    old.toy.serialKey = () => 'same';
    old.toy.script('first', async (tx) => {
      tx.afterCommit(whenOvertaken);
    });
    return turnOf(old);
  };

  it('ENG-9 the holder of a slot that was taken over commits nothing: the rescued task is worked on once', async () => {
    await makeTasks(store, ['first', 'second']);
    const outcome = await overtakenBetweenRounds(async () => {
      await endLease(other, slotOf());
      expect(await turnOf(taker)).to.equal('IDLE');
    });
    expect(outcome).to.equal('FENCED');
    expect(old.observed.of('fenced')).to.deep.equal([[STAGE]]);
    const effects = await listEffects(store);
    expect(effects.map(({ effectKey, worker }) => [effectKey, worker])).to.deep.equal([
      ['first', 'worker-old'],
      ['second', 'worker-new'],
    ]);
    expect(await readTask(store, 'second')).to.include({
      status: 2,
      crashCount: 0,
      runningAttempt: 2,
      retryCount: 0,
    });
    expect(old.toy.calls).to.deep.equal([['first']]);
  });

  it('ENG-9 a lease that ends at this very instant is lost, though nobody has taken the slot', async () => {
    await makeTasks(store, ['first', 'second']);
    const outcome = await overtakenBetweenRounds(() => endLease(other, slotOf(), 'now'));
    expect(outcome).to.equal('FENCED');
    expect(await effectKeys(store)).to.deep.equal(['first']);
    expect(await readTask(store, 'second')).to.include({ status: 0, crashCount: 0 });
  });

  it('ENG-9 the same process under a later fence is another holder', async () => {
    const first = (await takeSlot(old.engine, slotOf()))!.right;
    await endLease(store, slotOf());
    const second = (await takeSlot(old.engine, slotOf()))!.right;
    const holds = (right: typeof first) =>
      store.transaction(NEW_READ_COMMITTED, (tx) => lockSlotIfHeld(tx, right));
    expect([await holds(first), await holds(second)]).to.deep.equal([false, true]);
    expect(await holds({ ...second, holder: 'worker-new' })).to.equal(false);
    expect(await holds({ ...second, slotNo: 2 })).to.equal(false);
  });

  it('ENG-9 the lock is the right: whoever holds the slot row delays a taker’s answer by nothing and its work by all', async () => {
    await makeTask(store, 'long');
    const atWork = signal();
    const mayEnd = signal();
    old.toy.script('long', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const turn = turnOf(old);
    await atWork.given;
    // Whoever wants to end the lease by force waits for the row as well.
    const force = endLease(other, slotOf());
    await untilWaiting(store);
    expect(await turnOf(taker)).to.equal('NOT_TAKEN');
    mayEnd.give();
    expect(await turn).to.equal('IDLE');
    await force;
    expect(await readTask(store, 'long')).to.include({ status: 2, worker: 'worker-old' });
  });

  it('ENG-9 a handler that finds its right lost writes nothing, and its tasks are given back uncounted', async () => {
    await makeTasks(store, ['first', 'second']);
    old.toy.serialKey = () => 'same';
    old.toy.script('second', async () => {
      throw new FencedOutError('a task row');
    });
    expect(await turnOf(old)).to.equal('FENCED');
    expect(await effectKeys(store)).to.deep.equal(['first']);
    expect(await readTask(store, 'second')).to.include({ status: 0, crashCount: 0, retryCount: 0 });
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  describe('terminal writes', () => {
    const run = async (code: string): Promise<TaskRun & { requestGeneration: number; taskCode: string }> => {
      const task = await readTask(store, code);
      return { ...task, taskCode: code };
    };
    type Write = (
      tx: Transaction,
      runs: readonly (TaskRun & { requestGeneration: number })[],
    ) => Promise<unknown>;
    const end = { finalResult: 'FULL_SUCCESS', result: null };
    const WRITES: Record<string, Write> = {
      finishIfRunning: (tx, runs) => finishIfRunning(tx, runs, end),
      finishOrRenew: (tx, runs) => finishOrRenew(tx, runs, end),
      failIfRunning: (tx, [first]) =>
        failIfRunning(tx, first!, { code: 'X', message: 'x', retryable: true, dueInMs: 0 }),
      handBackIfRunning: (tx, runs) => handBackIfRunning(tx, runs, { dueInMs: 0 }),
      stopIfRunning: (tx, runs) => stopIfRunning(tx, runs),
      cancelIfRunning: (tx, [first]) => cancelIfRunning(tx, first!, { code: 'X', message: 'x' }),
      recordProgressIfRunning: (tx, [first]) => recordProgressIfRunning(tx, first!, {}),
    };

    for (const [name, write] of Object.entries(WRITES)) {
      it(`ENG-10 ${name} of another attempt, another state or no task hits no row, and all is rolled back`, async () => {
        await makeTask(store, 'mine', { status: 1, running_attempt: 4 });
        await makeTask(store, 'ended', { status: 2, running_attempt: 4 });
        const mine = await run('mine');
        const ended = await run('ended');
        const refused = [
          [{ ...mine, runningAttempt: 3 }],
          [{ ...mine, runningAttempt: 5 }],
          [ended],
          [{ ...mine, id: '999999999' }],
        ];
        for (const runs of refused) {
          const outcome = await store
            .transaction(NEW_READ_COMMITTED, async (tx) => {
              await makeTask(tx, 'written before');
              await write(tx, runs);
            })
            .catch((error) => error);
          expect(outcome).to.be.instanceOf(RowCountError);
        }
        expect(await readTask(store, 'mine')).to.include({ status: 1, runningAttempt: 4, errorCode: null });
        expect(
          await store.maybeOne("SELECT id FROM fi_async_task WHERE task_code = 'written before'"),
        ).to.equal(null);
        await store.transaction(NEW_READ_COMMITTED, (tx) => write(tx, [mine]));
      });
    }

    it('ENG-10 one wrong attempt among many refuses them all', async () => {
      for (const [code, attempt] of [
        ['a', 1],
        ['b', 2],
        ['c', 3],
      ] as const)
        await makeTask(store, code, { status: 1, running_attempt: attempt });
      const runs = [await run('a'), { ...(await run('b')), runningAttempt: 3 }, await run('c')];
      const outcome = await store
        .transaction(NEW_READ_COMMITTED, (tx) => finishIfRunning(tx, runs, end))
        .catch((error: Error) => error.message);
      expect(outcome).to.equal('finishing tasks: expected 3 rows, hit 2');
      expect((await readTask(store, 'a')).status).to.equal(1);
      runs[1] = await run('b');
      await store.transaction(NEW_READ_COMMITTED, (tx) => finishIfRunning(tx, runs, end));
      expect((await readTask(store, 'b')).status).to.equal(2);
    });

    it('ENG-10 a write that finds the row as it wants it still counts it', async () => {
      await makeTask(store, 'same', { status: 1, running_attempt: 1 });
      const [same] = [await run('same')];
      await store.transaction(NEW_READ_COMMITTED, async (tx) => {
        await recordProgressIfRunning(tx, same!, {});
        await recordProgressIfRunning(tx, same!, {});
      });
    });

    it('ENG-10 locking the rows of runs gives those that are still ours, in order of id', async () => {
      await makeTask(store, 'a', { status: 1, running_attempt: 1 });
      await makeTask(store, 'b', { status: 1, running_attempt: 2 });
      await makeTask(store, 'c', { status: 2, running_attempt: 1 });
      const runs = [await run('c'), await run('b'), await run('a')];
      const locked = await store.transaction(NEW_READ_COMMITTED, (tx) => lockRunningTasks(tx, runs));
      expect(locked.map((task) => task.taskCode)).to.deep.equal(['a', 'b']);
    });

    it('SNP-2 a task that was asked for again meanwhile is PENDING once more; its neighbours are finished', async () => {
      await makeTask(store, 'asked again', { status: 1, running_attempt: 1, request_generation: 2 });
      await makeTask(store, 'asked once', { status: 1, running_attempt: 1 });
      const runs = [{ ...(await run('asked again')), requestGeneration: 1 }, await run('asked once')];
      const renewed = await store.transaction(NEW_READ_COMMITTED, (tx) => finishOrRenew(tx, runs, end));
      expect(renewed).to.equal(1);
      expect(await readTask(store, 'asked again')).to.include({ status: 0, claimable: 1 });
      expect(await readTask(store, 'asked once')).to.include({ status: 2 });
    });
  });
});
