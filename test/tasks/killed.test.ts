import { expect } from 'chai';
import type { Store } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { type Child, type ChildOrder, startChild } from '../support/child.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  eventually,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  readSlot,
  readTask,
  slotOf,
} from '../support/engine.ts';
import { effectKeys, listEffects } from '../support/toy-handler.ts';

describe('tasks: processes that are killed or frozen', () => {
  let testStore: TestStore;
  let store: Store;
  const children: Child[] = [];

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
    for (const child of children.splice(0)) {
      child.process.kill('SIGKILL');
      await child.ended();
    }
  });

  const start = (order: Partial<ChildOrder> = {}) => {
    const child = startChild({
      databaseUrl: testStore.databaseUrl,
      worker: `child-${children.length + 1}`,
      slot: slotOf(),
      ...order,
    });
    children.push(child);
    return child;
  };

  it('ENG-11 a task that kills its process three times ends FAILED, CRASHED; its neighbours succeed, each once', async () => {
    const neighbours = Array.from({ length: 20 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    await makeTasks(store, neighbours.slice(0, 10));
    await makeTask(store, 'killer', { task_data: '{"do": "kill"}', due_in_s: -600 });
    await makeTasks(store, neighbours.slice(10), { due_in_s: -300 });

    const deaths: unknown[] = [];
    for (let child = 1; child <= 3; child++) {
      deaths.push(await start().ended());
      expect(await readSlot(store, slotOf()), 'held by the dead').to.include({ holder: `child-${child}` });
      await eventually('the database has noticed the death', async () => {
        const lost = await store.maybeOne(
          "SELECT id FROM fi_async_task WHERE task_code = 'killer' AND status = 1 FOR UPDATE SKIP LOCKED",
        );
        return lost !== null;
      });
      await endLease(store, slotOf());
    }
    const last = makeEngine(store, { worker: 'survivor' });
    expect(await takeTurn(last.engine, last.toy, slotOf(), { contended: false })).to.equal('IDLE');

    expect(deaths).to.deep.equal(['SIGKILL', 'SIGKILL', 'SIGKILL']);
    expect(await readTask(store, 'killer')).to.include({
      status: 3,
      errorCode: 'CRASHED',
      crashCount: 3,
      runningAttempt: 3,
      claimable: null,
    });
    expect(last.toy.halts).to.deep.equal(['killer FAILED CRASHED']);
    expect((await effectKeys(store)).toSorted()).to.deep.equal(neighbours);
    for (const code of neighbours)
      expect(await readTask(store, code)).to.include({ status: 2, retryCount: 0 });
    // Claimed together with the killer once, then never again: only the first death touched them.
    expect(
      Math.max(
        ...(await Promise.all(neighbours.map(async (code) => (await readTask(store, code)).runningAttempt))),
      ),
    ).to.equal(2);
  });

  it('ENG-12 a frozen process frees its rows when its session has been silent for long, and writes nothing when it thaws', async () => {
    await makeTask(store, 'frozen', { task_data: '{"do": "wait"}' });
    await makeTask(store, 'neighbour');
    const child = start({ waitTimeoutS: 2, slotLeaseMs: 3_000 });
    await child.reported('work');
    child.process.kill('SIGSTOP');
    const taker = makeEngine(store, { worker: 'taker' });
    expect(await takeSlot(taker.engine, slotOf()), 'its lock is its right, as long as it has it').to.equal(
      null,
    );

    await eventually('the server has ended the silent session, and the slot can be taken', async () => {
      const outcome = await takeTurn(taker.engine, taker.toy, slotOf(), { contended: false });
      return outcome === 'NOT_TAKEN' ? null : outcome;
    });
    expect(await readTask(store, 'frozen')).to.include({ status: 2, worker: 'taker', runningAttempt: 2 });

    child.process.kill('SIGCONT');
    child.goOn();
    const { outcome } = await child.reported('end');
    expect(outcome).to.equal('FENCED');
    expect(
      (await listEffects(store)).map(({ effectKey, worker }) => [effectKey, worker]),
    ).to.have.deep.members([
      ['frozen', 'taker'],
      ['neighbour', 'taker'],
    ]);
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  it('ENG-9 a process that is frozen between its transactions and overtaken writes nothing when it thaws', async () => {
    await makeTask(store, 'first', { task_data: '{"do": "wait"}' });
    const child = start();
    await child.reported('work');
    // Its session dies while it sleeps, as a network that is cut does it; its slot is taken over meanwhile.
    child.process.kill('SIGSTOP');
    const sessions = await store.many<{ id: string }>(
      `SELECT p.id FROM information_schema.processlist p JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
        WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()`,
    );
    for (const { id } of sessions) await store.change(`KILL ${id}`);
    await eventually('its rows are free', async () => {
      return (await store.maybeOne('SELECT slot_no FROM stage_slot FOR UPDATE SKIP LOCKED')) !== null;
    });
    await endLease(store, slotOf());
    const taker = makeEngine(store, { worker: 'taker' });
    expect(await takeTurn(taker.engine, taker.toy, slotOf(), { contended: false })).to.equal('IDLE');
    child.process.kill('SIGCONT');
    child.goOn();
    expect((await child.reported('end')).outcome).to.equal('FENCED');
    expect((await listEffects(store)).map((effect) => effect.worker)).to.deep.equal(['taker']);
    expect(await readTask(store, 'first')).to.include({ status: 2, retryCount: 0 });
  });
});
