import { MikroORM } from '@mikro-orm/mysql';
import { expect } from 'chai';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { NEW_READ_COMMITTED, Store } from '../../src/store/transaction.ts';
import { type Bull, openBull, requireRedisUrl } from '../support/bull.ts';
import { type Line, openLine } from '../support/cut-line.ts';
import type { TestStore } from '../support/database.ts';
import {
  eventually,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  PARTNER,
  readSlot,
  readTask,
  STAGE,
  signal,
  slotOf,
} from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('queues: while Redis or the database is away', () => {
  let testStore: TestStore;
  let store: Store;
  let line: Line | null = null;
  let bull: Bull;
  let behindLine: MikroORM | null = null;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
  });
  afterEach(async () => {
    line?.mend();
    await bull.close();
    // A worker that still takes turns would open the database anew.
    await behindLine?.close(true);
    await line?.close();
    behindLine = null;
    line = null;
  });

  const statusIs = (code: string, status: number) =>
    eventually(`${code} has status ${status}`, async () => (await readTask(store, code)).status === status);

  it('ENG-7 a turn under way ends in order while Redis is away; kicks fail at once; afterwards workers go on', async () => {
    line = await openLine(requireRedisUrl());
    bull = await openBull(line.url);
    const made = makeEngine(store, { wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } });
    await makeTask(store, 'during');
    const atWork = signal();
    const mayEnd = signal();
    made.toy.script('during', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const actors = bull.run(made, { jobLockMs: 1_000 });
    await bull.waker.wakeSlot(slotOf());
    await atWork.given;
    line.cut();
    mayEnd.give();
    await statusIs('during', 2);
    await eventually(
      'the slot is given back',
      async () => (await readSlot(store, slotOf()))?.holder === null,
    );
    const startedMs = performance.now();
    bull.waker.kick(STAGE, PARTNER);
    await eventually('the kick has failed', () => bull.kicks.includes(`${STAGE} failed`));
    expect(performance.now() - startedMs).to.be.below(4_000);
    await makeTask(store, 'afterwards');
    line.mend();
    await eventually('a wake comes through, and a worker takes the slot', async () => {
      await bull.waker
        .wakeSlotAtFence(slotOf(), (await readSlot(store, slotOf()))!.fence)
        .catch(() => undefined);
      return (await readTask(store, 'afterwards')).status === 2;
    });
    expect((await readTask(store, 'during')).crashCount).to.equal(0);
    expect(actors.workers.every((worker) => worker.isRunning())).to.equal(true);
  });

  it('ENG-11 a process can stop in order while Redis is away', async () => {
    line = await openLine(requireRedisUrl());
    bull = await openBull(line.url);
    const made = makeEngine(store, { wake: bull.waker });
    await makeTask(store, 'during');
    const atWork = signal();
    const mayEnd = signal();
    made.toy.script('during', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const actors = bull.run(made);
    await bull.waker.wakeSlot(slotOf());
    await atWork.given;
    line.cut();
    made.stopping.abort();
    mayEnd.give();
    let stopped = false;
    void actors.stop().then(() => {
      stopped = true;
    });
    await statusIs('during', 2);
    await eventually(
      'the slot is given back',
      async () => (await readSlot(store, slotOf()))?.holder === null,
    );
    await eventually('the workers have stopped', () => stopped, { deadlineMs: 15_000 });
  });

  it('ENG-11 ENG-13 a database that goes away in the middle of a turn spends neither attempt nor crash, and nothing is done twice', async () => {
    line = await openLine(testStore.databaseUrl);
    bull = await openBull();
    behindLine = await MikroORM.init({
      ...mikroOrmOptions({ databaseUrl: line.url, poolMax: 8 }),
      logger: () => {},
    });
    const storeBehindLine = new Store(behindLine);
    const made = makeEngine(storeBehindLine, { wake: bull.waker });
    const codes = Array.from({ length: 120 }, (_, index) => `t${String(index).padStart(3, '0')}`);
    await makeTasks(store, codes);
    const atWork = signal();
    const mayGoOn = signal();
    let first = true;
    made.toy.script('t070', async () => {
      if (!first) return;
      first = false;
      atWork.give();
      await mayGoOn.given;
    });
    bull.run(made);
    await bull.waker.wakeSlot(slotOf());
    await atWork.given;
    line.cut();
    mayGoOn.give();
    const databaseLine = line;
    await eventually('the turn has noticed', () => databaseLine.refused() >= 2);
    line.mend();
    await eventually(
      'the slot is given back',
      async () => (await readSlot(store, slotOf()))?.holder === null,
    );
    await bull.waker.wakeSlot(slotOf());
    await eventually('all are done', async () => (await effectKeys(store)).length === 120);
    expect((await effectKeys(store)).toSorted()).to.deep.equal(codes);
    await statusIs('t119', 2);
    for (const code of codes)
      expect(await readTask(store, code)).to.include({ status: 2, retryCount: 0, crashCount: 0 });
    // The pool has recovered: as many sessions at once as it may have.
    await Promise.all(
      Array.from({ length: 8 }, () =>
        storeBehindLine.transaction(NEW_READ_COMMITTED, (tx) => tx.one('SELECT 1 one')),
      ),
    );
  });

  it('ENG-6 workers whose connection is half-open notice it, and connect anew', async () => {
    line = await openLine(requireRedisUrl());
    bull = await openBull(requireRedisUrl(), line.url);
    const made = makeEngine(store, { wake: bull.waker });
    bull.run(made, { jobLockMs: 500 });
    await makeTask(store, 'before');
    await bull.waker.wakeSlot(slotOf());
    await statusIs('before', 2);
    line.silence();
    await makeTask(store, 'afterwards');
    await eventually('a wake comes through', async () => {
      await bull.waker.wakeSlotAtFence(slotOf(), (await readSlot(store, slotOf()))!.fence);
      return (await readTask(store, 'afterwards')).status === 2;
    });
    expect(made.observed.of('trouble').map(([where]) => where)).to.include('the workers’ Redis');
  });

  it('ENG-11 ENG-13 a database that goes silent in the middle of a turn costs neither attempt nor crash', async () => {
    line = await openLine(testStore.databaseUrl);
    bull = await openBull();
    behindLine = await MikroORM.init({
      ...mikroOrmOptions({ databaseUrl: line.url, poolMax: 4, silenceMaxMs: 500, waitTimeoutS: 1 }),
      logger: () => {},
    });
    const silentLine = line;
    const made = makeEngine(new Store(behindLine), { wake: bull.waker });
    await makeTasks(store, ['a', 'b']);
    made.toy.script('a', async () => {
      if (made.toy.calls.length === 1) silentLine.silence();
    });
    bull.run(made);
    // The session holds its rows until the server ends it; then the slot is given back, and woken as the scan would.
    await eventually(
      'both are done',
      async () => {
        await bull.waker.wakeSlot(slotOf());
        return (await effectKeys(store)).length === 2;
      },
      { deadlineMs: 20_000 },
    );
    await statusIs('b', 2);
    for (const code of ['a', 'b'])
      expect(await readTask(store, code)).to.include({ retryCount: 0, crashCount: 0 });
  });

  it('ENG-7 kicks find their way again by themselves after their connection was half-open', async () => {
    line = await openLine(requireRedisUrl());
    bull = await openBull(line.url, requireRedisUrl());
    line.silence();
    await eventually(
      'a kick is sent',
      () => {
        bull.waker.kick(STAGE, PARTNER);
        return bull.kicks.includes(`${STAGE} sent`);
      },
      { everyMs: 100, deadlineMs: 20_000 },
    );
  });
});
