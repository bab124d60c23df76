import { expect } from 'chai';
import { Waker } from '../../queues/wake.ts';
import { scanOnce } from '../../src/scheduler/scan-due-work.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { acceptTasks } from '../../src/tasks/accept-tasks.ts';
import { type Bull, openBull } from '../support/bull.ts';
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
  seedOf,
  signal,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('queues: waking', () => {
  let testStore: TestStore;
  let store: Store;
  let bull: Bull;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    bull = await openBull();
    made = makeEngine(store, { wake: bull.waker });
  });
  afterEach(() => bull.close());

  const untilIdle = () =>
    eventually('all is quiet', async () => {
      const { waiting, active } = await bull.counts();
      return waiting + active === 0;
    });
  const succeeded = async () =>
    Number(
      (await store.one<{ done: string }>('SELECT COUNT(*) done FROM fi_async_task WHERE status = 2')).done,
    );
  /** Counts the turns that took a slot. */
  const countTurns = ({ toy }: TestEngine) => {
    const turns = { taken: 0 };
    toy.prepare = async () => {
      turns.taken += 1;
    };
    return turns;
  };

  it('ENG-6 a job carries stage, partner and slot, nothing else; many wakes of a slot that waits are one', async () => {
    for (let wake = 0; wake < 20; wake++) await bull.waker.wakeSlot(slotOf(2));
    bull.waker.kick(STAGE, PARTNER);
    await eventually('the kick is sent', () => bull.kicks.length === 1);
    const jobs = await bull.waker.queues.find(({ name }) => name === STAGE)!.getJobs('wait');
    expect(jobs.map((job) => job.data)).to.have.deep.members([slotOf(1), slotOf(2)]);
  });

  it('ENG-6 any number of wakes while a slot is at work gives exactly one further turn', async () => {
    await makeSlots(store, 1);
    await makeTask(store, 'first');
    const turns = countTurns(made);
    const atWork = signal();
    const mayEnd = signal();
    made.toy.script('first', async () => {
      atWork.give();
      await mayEnd.given;
    });
    bull.run(made, { concurrency: 4 });
    await bull.waker.wakeSlot(slotOf());
    await atWork.given;
    for (let wake = 0; wake < 10; wake++) await bull.waker.wakeSlot(slotOf());
    expect(await bull.counts()).to.deep.equal({ waiting: 0, active: 1 });
    mayEnd.give();
    await untilIdle();
    expect(turns.taken).to.equal(2);
  });

  it('ENG-6 work that is committed and kicked while the slot makes its last claim is not lost', async () => {
    await makeSlots(store, 1);
    bull.run(made);
    // Kicks that fall into every part of a turn: each task is kicked right after its own commit, and no scan runs.
    for (let index = 0; index < 120; index++) {
      await makeTask(store, `t${index}`);
      bull.waker.kick(STAGE, PARTNER);
    }
    await eventually('all have been worked on', async () => (await succeeded()) === 120);
    await untilIdle();
    expect(await effectKeys(store)).to.have.length(120);
  });

  it('ENG-6 a kick during a turn that fails is not lost either', async () => {
    await makeSlots(store, 1);
    await makeTask(store, 'a');
    const inTurn = signal();
    const mayFail = signal();
    let broken = true;
    const transaction = store.transaction.bind(store);
    const failing = Object.assign(await testStore.openAnother(), {});
    failing.transaction = async (options, work) => {
      if (broken) {
        inTurn.give();
        await mayFail.given;
        broken = false;
        throw new Error('the database was away');
      }
      return transaction(options, work);
    };
    const other = makeEngine(failing, { wake: bull.waker });
    bull.run(other);
    await bull.waker.wakeSlot(slotOf());
    await inTurn.given;
    await bull.waker.wakeSlot(slotOf());
    mayFail.give();
    await eventually('the task is done', async () => (await succeeded()) === 1);
    expect(other.observed.of('trouble').map(([where]) => where)).to.deep.equal([`a turn at ${STAGE}`]);
  });

  it('ENG-6 slices go round robin: a flood of one partner delays the other by a slice, not by the flood', async () => {
    made = makeEngine(store, { wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } });
    await makeSlots(store, 1, '1');
    await makeSlots(store, 1, '2');
    await makeSlots(store, 1, '3');
    const order: string[] = [];
    made.toy.always(async (_tx, task) => {
      if (order.at(-1) !== task.partnerOrgId) order.push(task.partnerOrgId);
    });
    await makeTasks(
      store,
      Array.from({ length: 400 }, (_, index) => `1-${index}`),
      { partner_org_id: '1' },
    );
    await makeTasks(
      store,
      Array.from({ length: 120 }, (_, index) => `2-${index}`),
      { partner_org_id: '2' },
    );
    await makeTasks(
      store,
      Array.from({ length: 120 }, (_, index) => `3-${index}`),
      { partner_org_id: '3' },
    );
    for (const partner of ['1', '2', '3']) await bull.waker.wakeSlot(slotOf(1, partner));
    bull.run(made, { concurrency: 1 });
    await eventually('all are done', async () => (await succeeded()) === 640);
    expect(order.slice(0, 9).join(''), 'each its slice, in turn').to.equal('123123123');
    expect(made.toy.calls.every((call) => call.length <= 50)).to.equal(true);
  });

  it('ENG-6 successors alone carry a backlog through, slice by slice, with idle workers all around', async () => {
    const engines = ['a', 'b', 'c'].map((worker) =>
      makeEngine(store, { worker, wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } }),
    );
    await makeSlots(store, 1);
    await makeTasks(
      store,
      Array.from({ length: 600 }, (_, index) => `t${index}`),
    );
    for (const engine of engines) bull.run(engine, { concurrency: 4 });
    await bull.waker.wakeSlot(slotOf());
    await eventually('all are done, without a scan', async () => (await succeeded()) === 600);
    await untilIdle();
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
  });

  it('ENG-6 so does a wake under the fence, whose successor is a job of another id', async () => {
    const engines = ['a', 'b', 'c'].map((worker) =>
      makeEngine(store, { worker, wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } }),
    );
    await makeSlots(store, 1);
    await makeTasks(
      store,
      Array.from({ length: 600 }, (_, index) => `t${index}`),
    );
    for (const engine of engines) bull.run(engine, { concurrency: 4 });
    await bull.waker.wakeSlotAtFence(slotOf(), '0');
    await eventually('all are done, without a scan', async () => (await succeeded()) === 600);
  });

  it('ENG-6 a full first claim wakes the next slot, and that the next: one kick puts all slots to work', async () => {
    await makeSlots(store, 4);
    await makeTasks(
      store,
      Array.from({ length: 400 }, (_, index) => `t${index}`),
    );
    const slots = new Set<number>();
    const allAtWork = signal();
    made.toy.always(async (_tx, _task, right) => {
      slots.add(right.slotNo);
      await allAtWork.given;
    });
    bull.run(made, { concurrency: 8 });
    bull.waker.kick(STAGE, PARTNER);
    await eventually('all slots are at work', () => slots.size === 4).finally(() => allAtWork.give());
    await eventually('all are done', async () => (await succeeded()) === 400);
    expect(slots.size).to.equal(4);
  });

  it('ENG-5 ENG-6 more workers than slots: never more at work than the cap, as the database saw it', async () => {
    await store.change(
      `CREATE TABLE IF NOT EXISTS toy_interval (slot_no int NOT NULL, fence bigint unsigned NOT NULL, began datetime(6) NOT NULL,
         ended datetime(6) NULL, PRIMARY KEY (slot_no, fence)) ENGINE = InnoDB`,
    );
    await makeSlots(store, 3);
    await makeTasks(
      store,
      Array.from({ length: 300 }, (_, index) => `t${index}`),
    );
    const engines = ['a', 'b', 'c', 'd'].map((worker) =>
      makeEngine(store, { worker, wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } }),
    );
    for (const engine of engines) {
      // From when the slot is held to when its turn's work has been done, by the database's clock.
      engine.toy.prepare = async (right) => {
        await store.change('INSERT INTO toy_interval (slot_no, fence, began) VALUES (?, ?, SYSDATE(6))', [
          right.slotNo,
          right.fence,
        ]);
      };
      const work = engine.toy.work.bind(engine.toy);
      engine.toy.work = async (tx, tasks, right) => {
        const endings = await work(tx, tasks, right);
        await tx.change('UPDATE toy_interval SET ended = SYSDATE(6) WHERE slot_no = ? AND fence = ?', [
          right.slotNo,
          right.fence,
        ]);
        return endings;
      };
      bull.run(engine, { concurrency: 4 });
    }
    for (let wake = 0; wake < 30; wake++)
      await bull.waker.wakeSlotAtFence(slotOf(1 + (wake % 3)), String(wake));
    await eventually('all are done', async () => (await succeeded()) === 300);
    await untilIdle();
    const overlap =
      'a.began < b.ended AND b.began < a.ended AND (a.slot_no, a.fence) <> (b.slot_no, b.fence)';
    const twice = await store.many(
      `SELECT a.slot_no FROM toy_interval a JOIN toy_interval b ON a.slot_no = b.slot_no AND ${overlap}`,
    );
    expect(twice, 'one slot, one holder at a time').to.deep.equal([]);
    const { most } = await store.one<{ most: string }>(
      `SELECT MAX(at_once) most FROM (
         SELECT COUNT(*) at_once FROM toy_interval a JOIN toy_interval b ON b.began <= a.began AND a.began < b.ended
          GROUP BY a.slot_no, a.fence) counted`,
    );
    expect(Number(most)).to.be.at.most(3);
    expect(await effectKeys(store)).to.have.length(300);
  });

  it('ENG-6 the job of a worker that died swallows plain wakes; the id with the fence comes through at once', async () => {
    await makeSlots(store, 1);
    await makeTask(store, 'a');
    await bull.waker.wakeSlot(slotOf());
    await bull.takeJobAndDie(60_000);
    bull.run(made);
    await bull.waker.wakeSlot(slotOf());
    expect(await bull.counts()).to.deep.equal({ waiting: 0, active: 1 });
    expect((await readTask(store, 'a')).status).to.equal(0);
    await bull.waker.wakeSlotAtFence(slotOf(), (await readSlot(store, slotOf()))!.fence);
    await eventually('the task is done', async () => (await readTask(store, 'a')).status === 2, {
      deadlineMs: 10_000,
    });
  });

  it('ENG-6 BullMQ finds the job of a worker that died within two of its looks, and gives it to another', async () => {
    await makeSlots(store, 1);
    await makeTask(store, 'a');
    await bull.waker.wakeSlot(slotOf());
    await bull.takeJobAndDie(200);
    bull.run(made, { jobLockMs: 300 });
    await eventually('the task is done', async () => (await readTask(store, 'a')).status === 2, {
      deadlineMs: 15_000,
    });
  });

  it('ENG-6 a Redis that is emptied during a turn loses no work: the turn commits, the scan wakes what is left', async () => {
    made = makeEngine(store, { wake: bull.waker, limits: { sliceMs: 0, sliceContendedMs: 0 } });
    await makeSlots(store, 1);
    const codes = Array.from({ length: 120 }, (_, index) => `t${String(index).padStart(3, '0')}`);
    await makeTasks(store, codes);
    made.toy.script('t010', () => bull.forget());
    bull.run(made);
    await bull.waker.wakeSlot(slotOf());
    await eventually('the first slice is committed', async () => (await succeeded()) >= 50);
    await eventually('the rest is worked on', async () => {
      await scanOnce(made.engine);
      return (await succeeded()) === 120;
    });
    expect((await effectKeys(store)).toSorted()).to.deep.equal(codes);
  });

  it('ENG-11 a process that stops ends its transaction, hands back the rest uncounted, and leaves its slot and its wake to another', async () => {
    await makeSlots(store, 1);
    const codes = Array.from({ length: 30 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    await makeTasks(store, codes);
    const atWork = signal();
    const mayEnd = signal();
    made.toy.serialKey = (task) => String(Number(task.taskCode.slice(1)) % 10);
    made.toy.script('t05', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const stopping = bull.run(made);
    await bull.waker.wakeSlot(slotOf());
    await atWork.given;
    made.stopping.abort();
    const stopped = stopping.stop();
    mayEnd.give();
    await stopped;
    expect(
      made.toy.calls.map((call) => call.length),
      'no further round is begun',
    ).to.deep.equal([10]);
    for (const code of codes.slice(10))
      expect(await readTask(store, code)).to.include({
        status: 0,
        retryCount: 0,
        crashCount: 0,
        runningAttempt: 1,
      });
    expect(await bull.counts()).to.deep.equal({ waiting: 1, active: 0 });
    bull.run(makeEngine(store, { worker: 'worker-b', wake: bull.waker }));
    await eventually('another goes on', async () => (await succeeded()) === 30);
    expect((await effectKeys(store)).toSorted()).to.deep.equal(codes);
  });

  describe('kicks of a producer', () => {
    const outcomes: string[] = [];
    const kicking = (kickEnabled: boolean, kickShare: number) =>
      new Waker({
        connection: { ...connectionOf() },
        prefix: bull.prefix,
        kickEnabled,
        kickShare,
        onKick: (_stage, outcome) => outcomes.push(outcome),
        onError: () => {},
      });
    /** A fact with its task, and a kick after its commit. */
    const produce = (waker: Waker, end: () => void = () => undefined) =>
      store.transaction(NEW_READ_COMMITTED, async (tx) => {
        await acceptTasks(tx, [seedOf('a')]);
        tx.afterCommit(() => waker.kick(STAGE, PARTNER));
        end();
      });
    beforeEach(() => outcomes.splice(0));

    for (const [why, kickEnabled, kickShare] of [
      ['switched off', false, 1],
      ['outside the share let in', true, 0],
    ] as const)
      it(`ENG-7 LCK-26 a kick that is ${why} leaves the task to the scan`, async () => {
        await makeSlots(store, 1);
        bull.run(made);
        const waker = kicking(kickEnabled, kickShare);
        await produce(waker);
        await waker.close();
        expect(outcomes).to.deep.equal(['off']);
        expect(await bull.counts()).to.deep.equal({ waiting: 0, active: 0 });
        expect((await readTask(store, 'a')).status).to.equal(0);
        await scanOnce(made.engine);
        await eventually('the scan had it done', async () => (await readTask(store, 'a')).status === 2);
      });

    it('ENG-7 LCK-26 a producer that is rolled back kicks nothing; one that commits kicks once', async () => {
      const waker = kicking(true, 1);
      const rolledBack = produce(waker, () => {
        throw new Error('rolled back');
      });
      expect(await Promise.allSettled([rolledBack])).to.have.nested.property('[0].status', 'rejected');
      await produce(waker);
      await eventually('the kick is sent', () => outcomes.length > 0);
      await waker.close();
      expect(outcomes).to.deep.equal(['sent']);
      expect(await bull.counts()).to.deep.equal({ waiting: 1, active: 0 });
    });

    it('ENG-7 LCK-26 a share lets about that share in', async () => {
      const waker = kicking(true, 0.5);
      for (let kick = 0; kick < 400; kick++) waker.kick(STAGE, PARTNER);
      await eventually('all kicks are told of', () => outcomes.length === 400);
      await waker.close();
      // Six standard deviations to either side.
      expect(outcomes.filter((outcome) => outcome === 'sent').length).to.be.within(140, 260);
    });
  });

  it('ENG-6 whether others wait is asked of the queue', async () => {
    expect(await bull.waker.isContended(STAGE)).to.equal(false);
    await bull.waker.wakeSlot(slotOf());
    expect(await bull.waker.isContended(STAGE)).to.equal(true);
  });
});

function connectionOf() {
  const { hostname, port, password } = new URL(process.env.REDIS_URL ?? '');
  return { host: hostname, port: Number(port), password };
}
