/** Promise 1, with real processes: workers are killed and Redis is emptied in the middle of pushes; nothing is lost or done twice. */
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Place } from '../../src/domain/place.ts';
import { noteFigure } from '../support/figures.ts';
import { sizeOf } from '../support/full-run.ts';
import { makeRoofs } from '../support/roofs.ts';
import {
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { killOneWhileRunning, startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

const ROUNDS = sizeOf({ short: 10, full: 30 });
const STATIONS = 400;
const MONTHS = ['2026-01', '2026-02', '2026-03'];
const ROWS = STATIONS * MONTHS.length;
const UNDER_WAY = [Place.STATION_PENDING, Place.DIFF_PENDING, Place.ACCOUNT_PENDING, Place.SNAPSHOT_PENDING];

describe('kill -9 and FLUSHALL in the middle of a push', function () {
  this.timeout(ROUNDS * 30_000);
  let system: TestSystem;
  let redis: Redis;
  let workers: WorkerProcess[] = [];
  before(async () => {
    system = await startTestSystem({ roles: ['api', 'scheduler'] });
    redis = new Redis(process.env.REDIS_URL!);
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all(workers.map((worker) => worker.exited));
    redis.disconnect();
    await system.stop();
  });

  const start = (name: string) => startWorkerProcess(system, name, { ROOFTALLY_ACTOR_CONCURRENCY: '2' });

  async function endedShare(pushId: string): Promise<number> {
    const { open } = await system.store.one<{ open: string }>(
      'SELECT COUNT(*) open FROM pushed_row_place WHERE push_id = ? AND place IN (?)',
      [pushId, UNDER_WAY],
    );
    return 1 - Number(open) / ROWS;
  }

  const untilShare = (pushId: string, share: number) =>
    until(`${share * 100} % of push ${pushId}`, 60_000, async () => {
      const ended = await endedShare(pushId);
      return ended >= share ? ended : null;
    });

  it('ENG-6 ENG-7 ENG-11 round after round: each push completes, every row CURRENT, every place as the facts say', async () => {
    const roofs = await makeRoofs(system.store, { stations: STATIONS, months: MONTHS });
    workers = [await start('worker-a'), await start('worker-b')];
    for (let round = 1; round <= ROUNDS; round++) {
      const reply = await push(
        system.url,
        roofs.partner.key,
        roofs.pushOf(() => ({ rent: `${100 + round}.00` })),
      );
      expect(reply.body.code).to.equal('ACCEPTED');
      const { pushId } = reply.body;

      const atFlush = await untilShare(pushId, 0.2);
      await redis.flushall();
      expect(atFlush, 'share ended at FLUSHALL').to.be.within(0.2, 0.8);

      const { victim, taskIds } = await killOneWhileRunning(system, workers, 20_000);
      const atKill = await endedShare(pushId);
      expect(atKill, 'share ended at the kill').to.be.within(0.2, 0.8);
      expect(taskIds).to.not.be.empty;
      workers = [...workers.filter((worker) => worker !== victim), await start(`worker-${round}`)];

      const done = await untilDone(system.url, roofs.partner.key, pushId, 60_000);
      expect(done.state).to.equal('COMPLETE');
      expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: ROWS });
      await assertConserved(system.store);
    }
    noteFigure('rounds of kill -9 and FLUSHALL, each push complete', `${ROUNDS} of ${ROWS} rows`);
    const twice = await system.store.many(
      `SELECT task_id, platform_station_id, COUNT(*) n FROM account_refresh_outcome WHERE outcome = 'REFRESHED'
        GROUP BY task_id, platform_station_id HAVING n > 1`,
    );
    expect(twice, 'accounts refreshed twice for one task').to.deep.equal([]);
  });
});
