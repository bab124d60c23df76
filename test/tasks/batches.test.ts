import { expect } from 'chai';
import { BusyError, Failure } from '../../src/errors.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { acceptTasks } from '../../src/tasks/accept-tasks.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  dueInMs,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  PARTNER,
  readSlot,
  readTask,
  STAGE,
  seedOf,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

const fifty = Array.from({ length: 50 }, (_, index) => `t${String(index).padStart(2, '0')}`);

describe('tasks: batches', () => {
  let testStore: TestStore;
  let store: Store;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect', 'task_stop_request'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    made = makeEngine(store);
  });

  const turn = () => takeTurn(made.engine, made.toy, slotOf(), { contended: false });
  const breaks = (code: string) =>
    made.toy.script(code, async () => {
      throw new Error(`${code} breaks`);
    });

  it('ENG-15 fifty tasks are one transaction while all goes well', async () => {
    await makeTasks(store, fifty);
    await turn();
    expect(made.toy.calls).to.deep.equal([fifty]);
    expect(await effectKeys(store)).to.deep.equal(fifty);
  });

  it('ENG-15 one that breaks is found by halving: it alone fails, the forty-nine succeed once', async () => {
    await makeTasks(store, fifty);
    breaks('t37');
    await turn();
    expect((await effectKeys(store)).toSorted()).to.deep.equal(fifty.filter((code) => code !== 't37'));
    for (const code of fifty) expect((await readTask(store, code)).status).to.equal(code === 't37' ? 3 : 2);
    expect(await readTask(store, 't37')).to.include({ retryCount: 1, errorMessage: 't37 breaks' });
    expect(made.toy.calls.filter((call) => call.length === 1 && call[0] === 't37')).to.have.length(1);
    expect(made.observed.of('batchHalved')).to.have.length.within(5, 6);
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  it('ENG-15 two that break, first and last, are both found', async () => {
    await makeTasks(store, fifty);
    breaks('t00');
    breaks('t49');
    await turn();
    expect(await effectKeys(store)).to.have.length(48);
    expect([(await readTask(store, 't00')).status, (await readTask(store, 't49')).status]).to.deep.equal([
      3, 3,
    ]);
  });

  it('ENG-15 all that break fail each by themselves', async () => {
    const eight = fifty.slice(0, 8);
    await makeTasks(store, eight);
    for (const code of eight) breaks(code);
    expect(await turn()).to.equal('IDLE');
    for (const code of eight)
      expect(await readTask(store, code)).to.include({
        status: 3,
        retryCount: 1,
        errorMessage: `${code} breaks`,
      });
  });

  it('ENG-15 what a check finds before the first write is set aside by its ending; nothing is halved', async () => {
    await makeTasks(store, fifty);
    const blocked = new Failure('PAYMENT_LOCKED', 'a month is locked', { retryable: false });
    for (const code of ['t10', 't20'])
      made.toy.script(code, async () => ({ kind: 'failed', failure: blocked }));
    await turn();
    expect(made.toy.calls).to.have.length(1);
    expect(await readTask(store, 't10')).to.include({
      status: 3,
      retryCount: 8,
      errorCode: 'PAYMENT_LOCKED',
    });
    expect(made.toy.halts).to.deep.equal(['t10 FAILED PAYMENT_LOCKED', 't20 FAILED PAYMENT_LOCKED']);
    expect((await readTask(store, 't11')).status).to.equal(2);
    expect(made.observed.of('ended').map(([, label, tasks]) => [label, tasks])).to.have.deep.members([
      ['failed-for-good', 2],
      ['succeeded', 48],
    ]);
  });

  it('ENG-15 equal serial keys run in order, each in a transaction of its own that sees what the former left', async () => {
    await makeTasks(store, ['a1', 'b1', 'a2', 'c1', 'a3', 'b2']);
    made.toy.serialKey = (task) => task.taskCode.slice(0, 1);
    const seen: string[][] = [];
    made.toy.always(async () => {
      const committed = await store.many<{ effectKey: string }>(
        'SELECT effect_key effectKey FROM toy_effect ORDER BY id',
      );
      seen.push(committed.map((row) => row.effectKey));
    });
    await turn();
    expect(made.toy.calls).to.deep.equal([['a1', 'b1', 'c1'], ['a2', 'b2'], ['a3']]);
    expect(seen.at(-1)).to.have.members(['a1', 'b1', 'c1', 'a2', 'b2']);
  });

  it('ENG-15 one that breaks does not take back those of equal key before it, nor keep those behind it', async () => {
    await makeTasks(store, ['a1', 'a2', 'a3', 'b1']);
    made.toy.serialKey = (task) => task.taskCode.slice(0, 1);
    breaks('a2');
    await turn();
    expect(await effectKeys(store)).to.deep.equal(['a1', 'b1', 'a3']);
  });

  it('ENG-15 the endings of one batch may differ; each is written as it says', async () => {
    const codes = ['succeeds', 'fails', 'waits', 'is busy', 'is cancelled', 'goes on'];
    await makeTasks(store, codes);
    made.toy.effectKey = (task) => `${task.taskCode} ${made.toy.calls.length}`;
    made.toy.script('succeeds', async () => ({
      kind: 'succeeded',
      finalResult: 'PARTIAL_SUCCESS',
      result: { skipped: 2 },
    }));
    made.toy.script('fails', async () => ({ kind: 'failed', failure: new Failure('F', 'f') }));
    made.toy.script('waits', async () => ({
      kind: 'postponed',
      dueInMs: 60_000,
      error: { code: 'W', message: 'w' },
    }));
    made.toy.script('is busy', async () => ({ kind: 'postponed', dueInMs: 60_000, busy: true }));
    made.toy.script('is cancelled', async () => ({ kind: 'cancelled', code: 'GONE', message: 'superseded' }));
    made.toy.script('goes on', async () => (made.toy.calls.length < 3 ? { kind: 'continues' } : undefined));
    await turn();
    expect(await readTask(store, 'succeeds')).to.deep.include({
      status: 2,
      finalResult: 'PARTIAL_SUCCESS',
      result: { skipped: 2 },
    });
    expect(await readTask(store, 'fails')).to.include({ status: 3, retryCount: 1 });
    expect(await readTask(store, 'waits')).to.include({ status: 0, errorCode: 'W', busySince: null });
    expect((await readTask(store, 'is busy')).busySince).to.be.a('string');
    expect(await readTask(store, 'is cancelled')).to.include({
      status: 4,
      retryCount: 8,
      errorMessage: 'superseded',
    });
    expect(made.toy.halts).to.deep.equal(['is cancelled CANCELLED GONE']);
    expect(await readTask(store, 'goes on')).to.include({ status: 2, runningAttempt: 1 });
    expect(made.toy.calls).to.deep.equal([codes, ['goes on'], ['goes on']]);
  });

  it('ENG-6 a task with more steps than a slice holds goes back, due at once, uncounted; a successor is queued', async () => {
    made = makeEngine(store, { limits: { sliceMs: 0 } });
    await makeTask(store, 'steps', { busy_since: '2026-01-01' });
    made.toy.script('steps', async () => ({ kind: 'continues' }));
    expect(await turn()).to.equal('MORE');
    expect(await readTask(store, 'steps')).to.include({
      status: 0,
      finalResult: 'RUNNING',
      retryCount: 0,
      crashCount: 0,
    });
    expect(await dueInMs(store, 'steps')).to.be.at.most(0);
    expect(made.wake.slots).to.deep.equal([`${STAGE}/${PARTNER}/1`]);
  });

  it('ENG-6 a slice that is over ends the turn after the batch at work; the successor is queued before the release', async () => {
    made = makeEngine(store, { limits: { sliceMs: 0 } });
    await makeTasks(store, [...fifty, 'one more']);
    const heldWhenQueued: (string | null | undefined)[] = [];
    made.wake.wakeSlot = async (slot) => {
      made.wake.slots.push(`${slot.slotNo}`);
      heldWhenQueued.push((await readSlot(store, slot))?.holder);
    };
    expect(await turn()).to.equal('MORE');
    expect(made.toy.calls).to.deep.equal([fifty]);
    expect(made.wake.slots, 'a full claim wakes the next slot, the end of the slice its own').to.deep.equal([
      '2',
      '1',
    ]);
    expect(heldWhenQueued.at(-1)).to.equal('worker-a');
    expect((await readTask(store, 'one more')).status).to.equal(0);
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  it('ENG-6 where others wait the slice is the short one', async () => {
    made = makeEngine(store, { limits: { sliceContendedMs: 0 } });
    await makeTasks(store, [...fifty, 'one more']);
    expect(await takeTurn(made.engine, made.toy, slotOf(), { contended: true })).to.equal('MORE');
    expect(made.toy.calls).to.have.length(1);
  });

  it('ENG-6 a first claim that was not full wakes nobody', async () => {
    await makeTasks(store, ['a', 'b']);
    await turn();
    expect(made.wake.slots).to.deep.equal([]);
  });

  it('ENG-6 a wake that is refused costs nothing: the slot is given back, the scan finds the rest', async () => {
    made = makeEngine(store, { limits: { sliceMs: 0 } });
    await makeTasks(store, [...fifty, 'one more']);
    made.wake.wakeSlot = async () => {
      throw new Error('redis is away');
    };
    expect(await turn()).to.equal('MORE');
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
    expect(made.observed.of('trouble')).to.have.length(2);
  });

  it('ENG-2 tasks that work makes stand and fall with it', async () => {
    await makeTasks(store, ['good', 'bad']);
    for (const code of ['good', 'bad'])
      made.toy.script(code, async (tx) => {
        await acceptTasks(tx, [seedOf(`made by ${code}`, { partnerOrgId: '99' })]);
        tx.afterCommit(() => made.wake.kick(STAGE, code));
        if (code === 'bad') throw new Error('bad');
      });
    await turn();
    expect((await readTask(store, 'made by good')).status).to.equal(0);
    expect(await store.maybeOne("SELECT id FROM fi_async_task WHERE task_code = 'made by bad'")).to.equal(
      null,
    );
    expect(made.wake.kicks).to.deep.equal([`${STAGE}/good`]);
  });

  it('COV-4 what is told of a batch is told once, after its commit', async () => {
    await makeTasks(store, ['a', 'b']);
    let tries = 0;
    made.toy.script('b', async (tx) => {
      tries += 1;
      expect(made.observed.of('ended')).to.deep.equal([]);
      if (tries === 1)
        await tx.change("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'");
    });
    await turn();
    expect(tries).to.equal(2);
    expect(made.observed.of('ended').map(([stage, label, tasks]) => [stage, label, tasks])).to.deep.equal([
      [STAGE, 'succeeded', 2],
    ]);
    expect(made.observed.of('claimed')).to.have.length(1);
  });

  describe('inside leases', () => {
    const busy = new Set<string>();
    let log: string[];

    beforeEach(() => {
      busy.clear();
      log = [];
      made.toy.around = async (tasks, run) => {
        log.push(`asked ${tasks.map((task) => task.taskCode).join(' ')}`);
        const free = tasks.filter((task) => !busy.has(task.taskCode));
        try {
          if (free.length > 0) await run(free);
        } finally {
          log.push('released');
        }
        return tasks.filter((task) => busy.has(task.taskCode));
      };
    });

    it('ENG-18 tasks whose leases others hold go back in the same commit; the others are worked on', async () => {
      await makeTasks(store, ['a', 'b', 'c']);
      busy.add('b');
      expect(await turn()).to.equal('IDLE');
      expect(made.toy.calls).to.deep.equal([['a', 'c']]);
      expect(await readTask(store, 'b')).to.include({ status: 0, retryCount: 0, crashCount: 0 });
      expect((await readTask(store, 'b')).busySince).to.be.a('string');
      expect(await dueInMs(store, 'b')).to.be.within(-5_000, 500);
      expect(log).to.deep.equal(['asked a b c', 'released']);
      expect(made.observed.of('ended').map(([, label, tasks]) => [label, tasks])).to.deep.equal([
        ['postponed', 1],
        ['succeeded', 2],
      ]);
    });

    it('ENG-18 where all are busy nothing is worked on, and the slot is free again', async () => {
      await makeTasks(store, ['a', 'b']);
      for (const code of ['a', 'b']) busy.add(code);
      expect(await turn()).to.equal('IDLE');
      expect(made.toy.calls).to.deep.equal([]);
      for (const code of ['a', 'b'])
        expect(await readTask(store, code)).to.include({ status: 0, retryCount: 0 });
      expect(await readSlot(store, slotOf())).to.include({ holder: null });
    });

    it('ENG-18 the leases are released after commit and rollback; halves ask for their own', async () => {
      await makeTasks(store, ['a', 'b']);
      breaks('b');
      await turn();
      expect(log).to.deep.equal(['asked a b', 'released', 'asked a', 'released', 'asked b', 'released']);
      expect([(await readTask(store, 'a')).status, (await readTask(store, 'b')).status]).to.deep.equal([
        2, 3,
      ]);
    });

    it('leases that cannot be given back after the commit undo nothing', async () => {
      await makeTasks(store, ['a', 'b']);
      made.toy.around = async (tasks, run) => {
        await run(tasks);
        throw new Error('redis is away');
      };
      expect(await turn()).to.equal('IDLE');
      expect(made.toy.calls).to.deep.equal([['a', 'b']]);
      expect(await effectKeys(store)).to.deep.equal(['a', 'b']);
      expect((await readTask(store, 'a')).retryCount).to.equal(0);
      expect(made.observed.of('trouble')).to.have.length(1);
    });

    it('leases that break for one task break that task alone', async () => {
      await makeTasks(store, ['a', 'b', 'c']);
      made.toy.around = async (tasks, run) => {
        if (tasks.some((task) => task.taskCode === 'b')) throw new Error('no lease can be named after it');
        await run(tasks);
        return [];
      };
      await turn();
      expect(await effectKeys(store)).to.deep.equal(['a', 'c']);
      expect(await readTask(store, 'b')).to.include({ status: 3, retryCount: 1 });
    });

    it('a handler that swallows what its work threw leaves no task running', async () => {
      await makeTasks(store, ['a', 'b']);
      breaks('b');
      made.toy.around = async (tasks, run) => {
        await run(tasks).catch(() => undefined);
        return [];
      };
      await turn();
      for (const code of ['a', 'b'])
        expect(await readTask(store, code)).to.include({ status: 0, crashCount: 0 });
      expect(await effectKeys(store)).to.deep.equal([]);
    });

    it('ENG-14 a busy task that was asked to stop stops', async () => {
      const [id] = await makeTasks(store, ['b']);
      busy.add('b');
      await store.change("INSERT INTO task_stop_request (task_id, requested_by) VALUES (?, 'ops')", [id!]);
      await turn();
      expect(await readTask(store, 'b')).to.include({ status: 0, activation: 0 });
      expect(await store.many('SELECT * FROM task_stop_request')).to.deep.equal([]);
    });

    it('ENG-13 a busy guard inside the leases is busy too', async () => {
      await makeTasks(store, ['a', 'b']);
      made.toy.script('b', async () => {
        throw new BusyError('a guard');
      });
      await turn();
      expect([(await readTask(store, 'a')).status, (await readTask(store, 'b')).status]).to.deep.equal([
        2, 0,
      ]);
    });
  });

  it('ENG-2 a finished task is never rebuilt: accepting it again changes nothing', async () => {
    await makeTask(store, 'done', { status: 2, final_result: 'FULL_SUCCESS' });
    const before = await readTask(store, 'done');
    await store.transaction(NEW_READ_COMMITTED, (tx) => acceptTasks(tx, [seedOf('done')]));
    expect(await readTask(store, 'done')).to.deep.equal(before);
    await turn();
    expect(made.toy.calls).to.deep.equal([]);
  });
});
