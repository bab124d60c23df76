import { expect } from 'chai';
import { BusyError, Failure } from '../../src/errors.ts';
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  dueInMs,
  endLease,
  eventually,
  holdRows,
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
import { ScriptedStore } from '../support/scripted-store.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('tasks: failure', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let conflicts = 0;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    other = testStore.store;
    store = await testStore.openAnother({
      onConflict: () => {
        conflicts += 1;
      },
    });
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    conflicts = 0;
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect', 'station_guard', 'task_stop_request'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    made = makeEngine(store);
  });

  const turn = () => takeTurn(made.engine, made.toy, slotOf(), { contended: false });
  const fails = (code: string, error: Error) =>
    made.toy.script(code, async () => {
      throw error;
    });

  it('ENG-13 the work rolls back; another transaction of the same attempt records failure, error and due time', async () => {
    await makeTask(store, 'bad', { running_attempt: 3 });
    fails('bad', new Failure('SOME_CODE', 'what went wrong'));
    expect(await turn()).to.equal('IDLE');
    expect(await effectKeys(store)).to.deep.equal([]);
    expect(await readTask(store, 'bad')).to.include({
      status: 3,
      retryCount: 1,
      runningAttempt: 4,
      crashCount: 0,
      errorCode: 'SOME_CODE',
      errorMessage: 'what went wrong',
      claimable: 1,
    });
    expect(await readSlot(store, slotOf())).to.include({ holder: null, taskIds: null });
  });

  for (const [failures, earliestMs, latestMs] of [
    [0, 1_600, 2_400],
    [1, 3_200, 4_800],
    [5, 51_200, 76_800],
    [6, 102_400, 153_600],
  ] as const) {
    it(`ENG-13 after failure ${failures + 1} a chain stage waits between ${earliestMs} and ${latestMs} ms`, async () => {
      await makeTask(store, 'bad', {
        status: failures === 0 ? 0 : 3,
        retry_count: failures,
        max_retry_count: 20,
      });
      fails('bad', new Error('again'));
      await turn();
      expect(await dueInMs(store, 'bad')).to.be.within(earliestMs - 5_000, latestMs);
    });
  }

  it('ENG-13 the error is kept at 1,000 characters, whatever they are', async () => {
    await makeTask(store, 'long');
    fails('long', new Failure('X'.repeat(60), '台🌞'.repeat(700)));
    await turn();
    const task = await readTask(store, 'long');
    expect(task.errorCode).to.equal('X'.repeat(40));
    expect([...task.errorMessage!].length).to.be.at.most(1_000);
    expect(task.errorMessage!.startsWith('台🌞台🌞')).to.equal(true);
  });

  it('ENG-13 a failure that must not be retried uses up all attempts, and what waits for the task is told', async () => {
    await makeTask(store, 'bad');
    fails('bad', new Failure('PAYMENT_LOCKED', 'a month is locked', { retryable: false }));
    await turn();
    expect(await readTask(store, 'bad')).to.include({ status: 3, retryCount: 8, claimable: null });
    expect(made.toy.halts).to.deep.equal(['bad FAILED PAYMENT_LOCKED']);
  });

  it('ENG-13 the last attempt that fails is the end; those before are not', async () => {
    await makeTask(store, 'bad', { max_retry_count: 2 });
    fails('bad', new Error('again'));
    await turn();
    expect(made.toy.halts).to.deep.equal([]);
    await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3)');
    await turn();
    expect(await readTask(store, 'bad')).to.include({ status: 3, retryCount: 2, claimable: null });
    expect(made.toy.halts).to.deep.equal(['bad FAILED INFRASTRUCTURE']);
    expect(made.observed.of('ended').map(([, label]) => label)).to.deep.equal(['failed', 'failed-for-good']);
  });

  it('ENG-13 a retry that succeeds leaves no error behind', async () => {
    await makeTask(store, 'mended', { status: 3, retry_count: 3, error_code: 'X', error_message: 'x' });
    await turn();
    expect(await readTask(store, 'mended')).to.include({ status: 2, errorCode: null, errorMessage: null });
  });

  it('ENG-13 a deadlock runs the work again at once and is no failure', async () => {
    await makeTasks(store, ['mine', 'theirs']);
    await store.change("UPDATE fi_async_task SET activation = 0 WHERE task_code = 'theirs'");
    const platform = (id: string) => ({ key: platformStationGuard(id) });
    const mineHolds = signal();
    const theirsHolds = signal();
    const opponent = other.transaction(NEW_READ_COMMITTED, async (tx) => {
      await lockGuards(tx, [platform('2')]);
      // Heavier than the work, so that the database picks the work.
      for (let weight = 100; weight < 160; weight++) await lockGuards(tx, [platform(String(weight))]);
      theirsHolds.give();
      await mineHolds.given;
      await lockGuards(tx, [platform('1')]);
    });
    await theirsHolds.given;
    made.toy.script('mine', async (tx) => {
      await lockGuards(tx, [platform('1')]);
      if (made.toy.calls.length === 1) {
        mineHolds.give();
        await untilWaiting(other);
      }
      await lockGuards(tx, [platform('2')]);
    });
    expect(await turn()).to.equal('IDLE');
    await opponent;
    expect(conflicts).to.equal(1);
    expect(made.toy.calls).to.deep.equal([['mine'], ['mine']]);
    expect(await readTask(store, 'mine')).to.include({ status: 2, retryCount: 0, runningAttempt: 1 });
    expect(await effectKeys(store)).to.deep.equal(['mine']);
  });

  it('ENG-13 conflicts that do not end are an ordinary failure', async () => {
    await makeTask(store, 'unlucky');
    made.toy.script('unlucky', async (tx) => {
      await tx.change("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'");
    });
    await turn();
    expect(conflicts).to.equal(5);
    expect(await readTask(store, 'unlucky')).to.include({
      status: 3,
      retryCount: 1,
      errorCode: 'INFRASTRUCTURE',
    });
  });

  it('ENG-13 a busy guard is no failure: due in half a second, and since when it waits is kept', async () => {
    await makeTask(store, 'waits', { retry_count: 2, status: 3 });
    fails('waits', new BusyError('a guard'));
    expect(await turn()).to.equal('IDLE');
    const first = await readTask(store, 'waits');
    expect(first).to.include({ status: 0, retryCount: 2, errorCode: null });
    expect(first.busySince).to.be.a('string');
    expect(await dueInMs(store, 'waits')).to.be.within(-5_000, 500);
    await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3)');
    await turn();
    expect((await readTask(store, 'waits')).busySince).to.equal(first.busySince);
    expect(made.observed.of('trouble')).to.deep.equal([]);
  });

  it('ENG-13 work that ends its waiting forgets since when it waited', async () => {
    for (const code of ['waited', 'breaks']) await makeTask(store, code, { busy_since: '2026-01-01' });
    fails('breaks', new Error('broken'));
    await turn();
    expect(await readTask(store, 'waited')).to.include({ status: 2, busySince: null });
    expect(await readTask(store, 'breaks')).to.include({ status: 3, busySince: null });
  });

  it('ENG-12 ENG-13 a held guard is busy for its station alone; waits longer than the lease cost neither slot nor crash', async () => {
    made = makeEngine(store, { limits: { slotLeaseMs: 2_500 } });
    await makeTasks(store, ['waits', 'a', 'b', 'c']);
    const held = await holdRows(
      other,
      `INSERT INTO station_guard (kind, partner_org_id, platform_station_id, partner_station_no) VALUES (2, 0, 5, '')
       ON DUPLICATE KEY UPDATE fence = fence`,
    );
    // Halved twice before anything commits, each time after a wait of a second: three in all.
    made.toy.script('waits', async (tx) => {
      await tx.change('SET SESSION innodb_lock_wait_timeout = 1');
      await lockGuards(tx, [{ key: platformStationGuard('5') }]);
    });
    expect(await turn()).to.equal('IDLE');
    await held.release();
    expect(made.toy.calls.map((call) => call.length)).to.deep.equal([4, 2, 1, 1, 2]);
    for (const code of ['a', 'b', 'c'])
      expect(await readTask(store, code)).to.include({ status: 2, crashCount: 0 });
    expect(await readTask(store, 'waits')).to.include({ status: 0, crashCount: 0, retryCount: 0 });
  });

  it('ENG-13 how a failure ends may be the business’s: the handler’s own ending counts', async () => {
    await makeTask(store, 'account');
    fails('account', new Failure('ACCOUNT', 'one account failed'));
    made.toy.onFailure = async (_tx, _task, failure) => ({
      kind: 'postponed',
      dueInMs: 10_000,
      finalResult: 'RUNNING',
      error: { code: failure.code, message: failure.message },
    });
    await turn();
    expect(await readTask(store, 'account')).to.include({
      status: 0,
      finalResult: 'RUNNING',
      retryCount: 0,
      errorMessage: 'one account failed',
    });
    expect(await dueInMs(store, 'account')).to.be.within(3_000, 10_000);
  });

  it('ENG-13 a task of many steps goes on after a failure with a smaller step, though the slice is over', async () => {
    made = makeEngine(store, { limits: { sliceMs: 0 } });
    await makeTask(store, 'steps');
    let size = 8;
    made.toy.script('steps', async () => {
      if (size > 1) throw new Error('too large a step');
    });
    made.toy.onFailure = async () => {
      size /= 2;
      return { kind: 'continues' };
    };
    await turn();
    expect(made.toy.calls).to.have.length(4);
    expect(await readTask(store, 'steps')).to.include({ status: 2, retryCount: 0 });
  });

  it('a failure that cannot be recorded holds up nobody: it waits, shown, uncounted, and its neighbours succeed', async () => {
    await makeTasks(store, ['before', 'bad', 'after']);
    fails('bad', new Failure('BAD', 'bad', { retryable: false }));
    made.toy.haltWith = async () => {
      throw new Error('places do not add up');
    };
    expect(await turn()).to.equal('IDLE');
    expect(await effectKeys(store)).to.deep.equal(['before', 'after']);
    expect(await readTask(store, 'bad')).to.deep.include({
      status: 0,
      retryCount: 0,
      errorCode: 'NOT_RECORDED',
      errorMessage: 'Its failure could not be recorded: places do not add up',
    });
    expect(await dueInMs(store, 'bad'), 'as long as its type ever waits').to.be.above(100_000);
    made.toy.haltWith = null;
    await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3)');
    await turn();
    expect(await readTask(store, 'bad')).to.include({ status: 3, retryCount: 8, errorCode: 'BAD' });
  });

  it('a handler that forgets an ending fails that task alone, by name', async () => {
    await makeTasks(store, ['good', 'forgotten']);
    const work = made.toy.work.bind(made.toy);
    made.toy.work = async (tx, tasks, right) => {
      const endings = await work(tx, tasks, right);
      return new Map(
        [...endings].filter(([id]) => tasks.find((task) => task.id === id)?.taskCode !== 'forgotten'),
      );
    };
    await turn();
    expect(await readTask(store, 'good')).to.include({ status: 2 });
    expect(await readTask(store, 'forgotten')).to.include({ status: 3, errorCode: 'INTERNAL' });
    expect((await readTask(store, 'forgotten')).errorMessage).to.include('no ending for task forgotten');
  });

  it('ING-8 what breaks unforeseen is told with the trace that its task follows from', async () => {
    const parentTraceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    await makeTask(store, 'traced', { task_data: JSON.stringify({ parentTraceId }) });
    fails('traced', new Error('out of the blue'));
    await turn();
    const [where, error, traceId] = made.observed.of('trouble')[0]!;
    expect([where, (error as Error).message, traceId]).to.deep.equal([
      `${STAGE} traced`,
      'out of the blue',
      parentTraceId,
    ]);
  });

  it('a preparation that fails is told and holds up nothing that is due', async () => {
    await makeTask(store, 'due');
    made.toy.prepare = async () => {
      throw new Error('no segment could be closed');
    };
    expect(await turn()).to.equal('IDLE');
    expect(await readTask(store, 'due')).to.include({ status: 2 });
    expect(made.observed.of('trouble')[0]?.[0]).to.equal(`preparing a turn at ${STAGE}`);
  });

  it('STA-17 what a preparation made due is claimed in the same turn, and the next slot woken if there is more', async () => {
    made = makeEngine(store, { stage: 'account-shard' });
    await makeSlots(store, 1, '7', 'account-shard');
    made.toy.prepare = async () => {
      await makeTasks(store, ['a', 'b'], { stage: 'account-shard' });
      delete made.toy.prepare;
    };
    expect(
      await takeTurn(made.engine, made.toy, slotOf(1, '7', 'account-shard'), { contended: false }),
    ).to.equal('IDLE');
    expect(await effectKeys(store)).to.deep.equal(['a', 'b']);
    expect(made.wake.slots).to.deep.equal(['account-shard/7/2']);
  });

  it('a database that is away for a moment in the middle of a turn spends neither attempt nor crash', async () => {
    const lossy = new ScriptedStore(store.orm);
    made = makeEngine(lossy);
    await makeTasks(store, ['a', 'b', 'c']);
    // 1 takes; from 2 on nothing can be begun, until the third try to give back.
    lossy.beforeBegin = (transaction) => {
      if (transaction >= 2 && transaction <= 4) throw new Error('connect ECONNREFUSED');
    };
    const failure = await turn().catch((error: Error) => error.message);
    expect(failure).to.include('ECONNREFUSED');
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
    for (const code of ['a', 'b', 'c'])
      expect(await readTask(store, code)).to.include({ status: 0, retryCount: 0, crashCount: 0 });
  });

  it('a fault before the slot was seen is nobody’s failure: the turn ends, the task is given back uncounted', async () => {
    const flickering = new ScriptedStore(store.orm);
    made = makeEngine(flickering);
    await makeTask(store, 'a');
    flickering.beforeBegin = (transaction) => {
      if (transaction === 2) throw new Error('too many connections');
    };
    expect(await turn().catch((error: Error) => error.message)).to.equal('too many connections');
    expect(await readTask(store, 'a')).to.include({ status: 0, retryCount: 0, crashCount: 0 });
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  it('a connection that dies in the middle of a batch: the batch is worked on all the same, nothing twice', async () => {
    const codes = ['a', 'b', 'c', 'd'];
    await makeTasks(store, codes);
    let killed = false;
    made.toy.script('c', async (tx) => {
      if (killed) return;
      killed = true;
      const { id } = await tx.one<{ id: string }>('SELECT CONNECTION_ID() id');
      await other.change(`KILL ${id}`);
      await eventually('the session has ended', async () => {
        const row = await other.maybeOne('SELECT id FROM information_schema.processlist WHERE id = ?', [id]);
        return row === null;
      });
    });
    await turn();
    expect((await effectKeys(store)).toSorted()).to.deep.equal(codes);
    for (const code of codes) expect(await readTask(store, code)).to.include({ status: 2, retryCount: 0 });
  });

  it('a slot whose lease ended without a taker is given back, not lost: it counts no crash', async () => {
    await makeTasks(store, ['first', 'second']);
    made.toy.serialKey = () => 'same';
    made.toy.script('first', async (tx) => {
      tx.afterCommit(() => endLease(other, slotOf()));
    });
    expect(await turn()).to.equal('FENCED');
    expect(await readTask(store, 'first')).to.include({ status: 2 });
    expect(await readTask(store, 'second')).to.include({ status: 0, crashCount: 0 });
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });
});
