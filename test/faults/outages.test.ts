/**
 * Promise 1 against the world around us: databases that restart, connections that are cut, a Redis that is away, workers
 * that freeze or are told to stop. In the middle of a push each time; afterwards all of it is done, and once.
 */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Stack } from '../../src/stack/embedded-stack.ts';
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { listDifferenceVersions, type PushedRoofs, workOf } from '../support/effects.ts';
import { KILLABLE } from '../support/killed-process.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { removeSmallStack, startSmallStack } from '../support/small-stack.ts';
import { spawnServe, startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

const INSTANCE = 'outages';
const STATIONS = 150;
const MONTHS = ['2026-01', '2026-02', '2026-03'];
const ROWS = STATIONS * MONTHS.length;
const DONE_DEADLINE_MS = 120_000;
const REDIS_AWAY_MS = 25_000;

describe('outages in the middle of a push', function () {
  this.timeout(240_000);
  let stack: Stack;
  let system: TestSystem;
  let roofs: Roofs;
  let workers: WorkerProcess[] = [];
  let rent = 100;

  before(async () => {
    stack = await startSmallStack(INSTANCE);
    system = await startTestSystem({ roles: ['api', 'scheduler'], stack });
    roofs = await makeRoofs(system.store, { stations: STATIONS, months: MONTHS });
    workers = await Promise.all([startWorker('worker-a'), startWorker('worker-b')]);
    await run(async () => {});
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all(workers.map((worker) => worker.exited));
    await system.stop();
    await stack.stop();
    removeSmallStack(INSTANCE);
  });

  const startWorker = (name: string) =>
    startWorkerProcess(system, name, { ROOFTALLY_ACTOR_CONCURRENCY: '2' });

  /** Pushes all of it anew; `disturb` runs while rows are under way. Then all is as if nothing had happened. */
  async function run(disturb: (pushId: string) => Promise<unknown>): Promise<PushedRoofs> {
    const versions = await listDifferenceVersions(system.store, roofs.partner.partnerOrgId);
    rent += 1;
    const reply = await push(
      system.url,
      roofs.partner.key,
      roofs.pushOf(() => ({ rent: `${rent}.00` })),
    );
    expect(reply.body.code).to.equal('ACCEPTED');
    const { pushId } = reply.body;
    await disturb(pushId);
    const done = await untilDone(system.url, roofs.partner.key, pushId, DONE_DEADLINE_MS);
    expect(done.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: ROWS });
    const pushed = { pushId, partnerOrgId: roofs.partner.partnerOrgId };
    expect(await workOf(system.store, pushed)).to.include({ handedOver: STATIONS, accountLogs: STATIONS });
    expect(
      await listDifferenceVersions(system.store, pushed.partnerOrgId),
      'each written once',
    ).to.deep.equal(versions.length === 0 ? Array(ROWS).fill(1) : versions.map((version) => version + 1));
    await assertConserved(system.store);
    return pushed;
  }

  /** Some rows have ended, some have not: the middle. */
  const untilUnderWay = (pushId: string) =>
    until('some rows to be on their way', 60_000, async () => {
      const places = await placesOf(system.store, pushId);
      return (places.STATION_PENDING ?? 0) < ROWS && (places.CURRENT ?? 0) < ROWS ? true : null;
    });

  it('ENG-7 Redis is away for 25 s: what is under way goes on or waits, and all of it is found again', async () => {
    await run(async (pushId) => {
      await untilUnderWay(pushId);
      await stack.redis.kill();
      const back = performance.now() + REDIS_AWAY_MS;
      // Accepting needs no Redis: the same rows under another identity get their receipts meanwhile.
      const meanwhile = await push(system.url, roofs.partner.key, roofs.pushOf(undefined, []), 'meanwhile');
      expect(meanwhile.status).to.equal(202);
      await until('Redis to have been away', REDIS_AWAY_MS + 5_000, async () =>
        performance.now() >= back ? true : null,
      );
      await stack.redis.start();
    });
  });

  it('ENG-2 ENG-13 MySQL is killed and comes back: no attempt is spent, nothing is lost or doubled', async () => {
    const pushed = await run(async (pushId) => {
      await untilUnderWay(pushId);
      await stack.mysql.kill();
      await stack.mysql.start();
    });
    expect(await workOf(system.store, pushed)).to.include({ attemptsSpent: 0 });
  });

  it('ENG-2 ENG-13 connections are killed again and again: no attempt is spent, nothing is lost or doubled', async () => {
    const pushed = await run(async (pushId) => {
      for (let round = 0; round < 5; round++) {
        await untilUnderWay(pushId);
        await killOtherConnections(system);
      }
    });
    expect(await workOf(system.store, pushed)).to.include({ attemptsSpent: 0 });
  });

  it('ENG-13 ENG-17 workers lose deadlocks: they try again at once, and no attempt is spent', async () => {
    let lost = 0;
    const pushed = await run(async (pushId) => {
      lost = await provokeDeadlocks(system, pushId);
    });
    expect(lost, 'deadlocks that workers lost').to.be.greaterThan(0);
    expect(await workOf(system.store, pushed)).to.include({ attemptsSpent: 0 });
  });

  it('ENG-11 ENG-14 a worker is told to stop in the middle: neither attempt nor crash is counted', async () => {
    const pushed = await run(async (pushId) => {
      await untilUnderWay(pushId);
      const [first, ...others] = workers;
      first!.kill('SIGTERM');
      expect(await first!.exited).to.equal(0);
      workers = [...others, await startWorker('worker-c')];
    });
    expect(await workOf(system.store, pushed)).to.include({ attemptsSpent: 0, crashes: 0 });
  });

  for (const stage of ['bill-station', 'account-shard'] as const) {
    it(`ENG-9 a worker freezes with ${stage} tasks in hand until others did them: it wakes up and writes nothing`, async () => {
      const frozen = spawnServe(system, 'frozen', {
        environment: {
          TEST_KILL_POINT: `tryTake ${stage} committed`,
          TEST_KILL_SIGNAL: 'SIGSTOP',
          ROOFTALLY_ACTOR_CONCURRENCY: '2',
        },
        nodeOptions: KILLABLE,
      });
      try {
        // The others begin when it stands still, so that it has something in hand.
        for (const worker of workers) worker.kill('SIGSTOP');
        const pushed = await run(async () => {
          await untilStopped(frozen.child.pid!);
          for (const worker of workers) worker.kill('SIGCONT');
        });
        const before = await workOf(system.store, pushed);
        frozen.child.kill('SIGCONT');
        // It is alive again, and has given up what it had: it stops in order at once.
        frozen.child.kill('SIGTERM');
        expect(await frozen.exited).to.equal(0);
        expect(await workOf(system.store, pushed)).to.deep.equal(before);
        await assertConserved(system.store);
      } finally {
        for (const worker of workers) worker.kill('SIGCONT');
        frozen.child.kill('SIGKILL');
        await frozen.exited;
      }
    });
  }
});

/** Every session of the system's database but our own, as an administrator or a load balancer would. */
async function killOtherConnections(system: TestSystem): Promise<void> {
  const sessions = await system.store.many<{ id: string }>(
    "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command <> 'Killed'",
  );
  // One that has ended by itself meanwhile is no fault.
  for (const { id } of sessions) await system.store.change(`KILL ${Number(id)}`).catch(() => {});
}

async function deadlocksOf(system: TestSystem): Promise<number> {
  const { n } = await system.store.one<{ n: string }>(
    "SELECT count n FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'",
  );
  return Number(n);
}

/**
 * Locks bills first and their stations' guards afterwards: against the order that all of ours keep (ENG-17). Having
 * changed more rows than a worker, it is the worker that the database sacrifices.
 * @returns how many deadlocks workers lost
 */
async function provokeDeadlocks(system: TestSystem, pushId: string): Promise<number> {
  let lostByUs = 0;
  const intruder = await system.database.openAnother({
    onConflict: () => {
      lostByUs += 1;
    },
  });
  await intruder.change('CREATE TABLE IF NOT EXISTS weight (id INT PRIMARY KEY)');
  const values = Array.from({ length: 5_000 }, (_, id) => `(${id})`).join(', ');
  const start = await deadlocksOf(system);
  const lostByWorkers = async () => (await deadlocksOf(system)) - start - lostByUs;
  for (let round = 0; round < 50 && (await lostByWorkers()) < 1; round++) {
    await intruder
      .transaction(NEW_READ_COMMITTED, async (tx) => {
        await tx.change('DELETE FROM weight');
        await tx.change(`INSERT INTO weight VALUES ${values}`);
        const stations = await tx.many<{ id: string }>(
          `SELECT m.platform_station_id id FROM fi_customer_bill_partner b
             JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
             JOIN station_mapping m ON m.partner_org_id = a.partner_org_id AND m.partner_station_no = a.partner_station_no
            WHERE b.push_id <> ? FOR UPDATE OF b SKIP LOCKED`,
          [pushId],
        );
        for (const id of new Set(stations.map((station) => station.id)))
          await lockGuards(tx, [{ key: platformStationGuard(id) }]);
      })
      .catch(() => {});
  }
  return lostByWorkers();
}

/** The state of a process that SIGSTOP holds, as the operating system tells it. */
async function untilStopped(pid: number): Promise<void> {
  await until('the process to stand still', 60_000, async () =>
    (await readFile(`/proc/${pid}/stat`, 'utf8')).includes(') T ') ? true : null,
  );
}
