import { expect } from 'chai';
import { type RunningScheduler, type SchedulerJob, startScheduler } from '../../src/scheduler/scheduler.ts';
import type { Store } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { eventually, makeEngine, openToyStore, type TestEngine } from '../support/engine.ts';

const LEASE_MS = 1_000;

describe('scheduler: who runs the jobs', () => {
  let testStore: TestStore;
  let store: Store;
  let running: RunningScheduler[];
  let ran: string[];

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    await store.change('DELETE FROM scheduler_leader');
    running = [];
    ran = [];
  });
  afterEach(() => Promise.all(running.map((scheduler) => scheduler.stop())));

  const job = (name = 'job', everyMs = 20): SchedulerJob => ({
    name,
    everyMs,
    runOnce: async (engine) => {
      ran.push(`${name} by ${engine.worker}`);
    },
  });
  const start = (worker: string, jobs: readonly SchedulerJob[] = [job()], on = store, leaseMs = LEASE_MS) => {
    const made = makeEngine(on, { worker });
    const scheduler = startScheduler(made.engine, { leaseMs, jobs });
    running.push(scheduler);
    return { ...made, scheduler };
  };
  const holder = async () =>
    (await store.maybeOne<{ holder: string | null }>('SELECT holder FROM scheduler_leader'))?.holder ?? null;
  const runsBy = (worker: string) => ran.filter((run) => run.endsWith(worker)).length;

  it('ENG-7 of several, one leads, and it alone runs the jobs', async () => {
    for (const worker of ['a', 'b', 'c']) start(worker, [job()], store, 30_000);
    await eventually('the jobs run', () => ran.length >= 20);
    expect(new Set(ran).size).to.equal(1);
  });

  it('ENG-7 a leader that stops steps down, and a follower finds the place within a lease', async () => {
    const first = start('a');
    await eventually('a leads', () => runsBy('a') > 0);
    start('b');
    await first.scheduler.stop();
    expect(await holder()).to.not.equal('a');
    const sinceMs = performance.now();
    await eventually('b leads', () => runsBy('b') > 0);
    expect(performance.now() - sinceMs).to.be.below(LEASE_MS * 6);
  });

  it('ENG-7 the place of a leader that died is free when its lease is over, not before', async () => {
    await store.change(
      "INSERT INTO scheduler_leader (name, holder, fence, lease_end) VALUES ('scheduler', 'dead', 7, SYSDATE(3) + INTERVAL 1 SECOND)",
    );
    start('b');
    await eventually('b leads', async () => (await holder()) === 'b');
    const { fence } = await store.one<{ fence: string }>('SELECT fence FROM scheduler_leader');
    expect(fence).to.equal('8');
    await eventually('its jobs run', () => runsBy('b') > 0);
  });

  it('ENG-7 a leader that was overtaken while it slept runs nothing more', async () => {
    const other = await testStore.openAnother();
    let asked = 0;
    const one = other.maybeOne.bind(other);
    other.maybeOne = async (...statement) => {
      const answer = await one(...(statement as Parameters<typeof one>));
      asked += 1;
      return answer as never;
    };
    start('a', [job()], other, 200);
    await eventually('a leads', () => runsBy('a') > 0);
    await store.change(
      "UPDATE scheduler_leader SET holder = 'other', fence = fence + 1, lease_end = SYSDATE(3) + INTERVAL 60 SECOND",
    );
    const before = asked;
    await eventually('a has asked again', () => asked > before + 1);
    const runs = ran.length;
    await eventually('and again', () => asked > before + 3);
    expect(ran).to.have.length(runs);
    expect(await holder()).to.equal('other');
  });

  it('a job that fails is told and tried again; the others go on', async () => {
    const bad: SchedulerJob = {
      name: 'bad',
      everyMs: 20,
      runOnce: async () => {
        throw new Error('no');
      },
    };
    const { observed } = start('a', [bad, job('good')]);
    await eventually('both were tried twice', () => ran.length >= 2 && observed.of('trouble').length >= 2);
    expect(observed.of('trouble')[0]?.[0]).to.equal('scheduler: bad');
  });

  it('a job runs at its own interval, whatever the others’ is', async () => {
    start('a', [job('often', 20), job('seldom', 60_000)]);
    await eventually('the one ran often', () => ran.filter((run) => run.startsWith('often')).length >= 10);
    expect(ran.filter((run) => run.startsWith('seldom'))).to.have.length(1);
  });

  it('a database that is away for a while costs the place, not the loop', async () => {
    const other = await testStore.openAnother();
    let away = true;
    const change = other.change.bind(other);
    other.change = async (...statement) => {
      if (away) throw new Error('connect ECONNREFUSED');
      return change(...statement);
    };
    const { observed }: TestEngine = start('a', [job()], other);
    await eventually('it was told', () => observed.of('trouble').length >= 1);
    expect(ran).to.deep.equal([]);
    away = false;
    await eventually('it leads', () => ran.length > 0);
  });

  it('stopping does not wait for a lease or an interval', async () => {
    const { scheduler } = start('a', [job('seldom', 60_000)]);
    await eventually('it leads', () => ran.length > 0);
    const startedMs = performance.now();
    await scheduler.stop();
    await scheduler.stop();
    expect(performance.now() - startedMs).to.be.below(5_000);
    expect(await holder()).to.equal(null);
  });
});
