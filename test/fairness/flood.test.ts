/**
 * Promise 5: a partner cannot starve another. One pushes very many stations, twenty others a hundred each while the first
 * are under way; two worker processes, one of them killed in the middle and replaced. The same twenty pushes without the
 * flood, before it and by other partners of the same size, say how long they would have waited; if the machine was quicker
 * then than it is now, they are asked once more after it.
 */
import { expect } from 'chai';
import { routeOf } from '../../queues/route.ts';
import { Place } from '../../src/domain/place.ts';
import { noteFigure } from '../support/figures.ts';
import { sizeOf } from '../support/full-run.ts';
import { type JobWatch, watchJobs } from '../support/job-watch.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import { assertConserved, push, startTestSystem, type TestSystem, until } from '../support/rooftally.ts';
import {
  countEarlyTakings,
  countTakingsFromTheDead,
  type LaneRecord,
  listLaneRecords,
  watchSlots,
} from '../support/slot-watch.ts';
import { figuresOf, promised, type Waits, waitsOf } from '../support/waits.ts';
import { killOneWhileRunning, startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

const FLOOD_STATIONS = sizeOf({ short: 5_000, full: 50_000 });
const OTHERS = 20;
const STATIONS_OF_OTHERS = 100;
const MONTHS = ['2026-01'];
const UNDER_WAY = [Place.STATION_PENDING, Place.DIFF_PENDING, Place.ACCOUNT_PENDING, Place.SNAPSHOT_PENDING];
const DEADLINE_MS = sizeOf({ short: 600_000, full: 3_600_000 });

interface Story {
  readonly alone: Waits;
  readonly inFlood: Waits;
  /** Of the flood's rows, when the others pushed, and when a worker was killed. */
  readonly floodEndedAtPush: number;
  readonly floodEndedAtKill: number;
  readonly pushIds: readonly string[];
}

describe('a flood of one partner', function () {
  this.timeout(DEADLINE_MS);
  let system: TestSystem;
  let workers: WorkerProcess[] = [];
  let jobs: JobWatch;
  let story: Story;
  let lanes: LaneRecord[];
  let flooder: Roofs;

  before(async function () {
    this.timeout(DEADLINE_MS);
    system = await startTestSystem({
      roles: ['api', 'scheduler'],
      environment: { ROOFTALLY_PUSH_STATIONS_MAX: '50000' },
    });
    await watchSlots(system.store);
    jobs = watchJobs(process.env.REDIS_URL!, system.environment.ROOFTALLY_REDIS_PREFIX!);
    workers = await Promise.all(['worker-a', 'worker-b'].map((name) => startWorkerProcess(system, name)));
    story = await tell();
    lanes = await listLaneRecords(system.store);
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all(workers.map((worker) => worker.exited));
    await jobs?.stop();
    await system.stop();
  });

  async function tell(): Promise<Story> {
    const warmUp = await make(STATIONS_OF_OTHERS);
    flooder = await make(FLOOD_STATIONS);
    const before = await makeOthers();
    const during = await makeOthers();

    const warm = [await accept(warmUp)];
    await untilEnded(warm);
    const alone = await pushAll(before);
    await untilEnded(alone);

    const flood = await accept(flooder);
    await untilShareEnded(flood, 0.02);
    const floodEndedAtPush = await endedShare(flood);
    const inFlood = await pushAll(during);
    await untilStationsEnded(inFlood);
    const floodEndedAtKill = await endedShare(flood);
    const { victim } = await killOneWhileRunning(system, workers, DEADLINE_MS);
    workers = [
      ...workers.filter((worker) => worker !== victim),
      await startWorkerProcess(system, 'worker-c'),
    ];
    await untilEnded(inFlood);
    await untilEnded([flood]);
    return {
      alone: await waitsOf(system.store, alone),
      inFlood: await waitsOf(system.store, inFlood),
      floodEndedAtPush,
      floodEndedAtKill,
      pushIds: [...warm, ...alone, flood, ...inFlood],
    };
  }

  const make = (stations: number) => makeRoofs(system.store, { stations, months: MONTHS });

  async function makeOthers(): Promise<Roofs[]> {
    const others: Roofs[] = [];
    for (let n = 0; n < OTHERS; n++) others.push(await make(STATIONS_OF_OTHERS));
    return others;
  }

  async function accept(roofs: Roofs): Promise<string> {
    const { body } = await push(system.url, roofs.partner.key, roofs.pushOf());
    expect(body.code).to.equal('ACCEPTED');
    return body.pushId;
  }

  const pushAll = (all: readonly Roofs[]) => Promise.all(all.map(accept));

  async function rowsUnderWay(pushIds: readonly string[], places: readonly number[]): Promise<number> {
    const { n } = await system.store.one<{ n: string }>(
      'SELECT COUNT(*) n FROM pushed_row_place WHERE push_id IN (?) AND place IN (?)',
      [pushIds, places],
    );
    return Number(n);
  }

  async function endedShare(pushId: string): Promise<number> {
    return 1 - (await rowsUnderWay([pushId], UNDER_WAY)) / (FLOOD_STATIONS * MONTHS.length);
  }

  const untilNone = (what: string, pushIds: readonly string[], places: readonly number[]) =>
    until(
      what,
      DEADLINE_MS,
      async () => ((await rowsUnderWay(pushIds, places)) === 0 ? true : null),
      async () => `${await rowsUnderWay(pushIds, places)} rows under way`,
    );
  const untilEnded = (pushIds: readonly string[]) => untilNone('pushes to end', pushIds, UNDER_WAY);
  const untilStationsEnded = (pushIds: readonly string[]) =>
    untilNone('stations to end', pushIds, [Place.STATION_PENDING]);
  const untilShareEnded = (pushId: string, share: number) =>
    until(`${share} of the flood`, DEADLINE_MS, async () =>
      (await endedShare(pushId)) >= share ? true : null,
    );

  it('ENG-6 the others wait at most twice as long as without it, or half a second more', async () => {
    const { alone, inFlood, floodEndedAtPush } = story;
    noteFigure('waiting without the flood, ms (median, 95th percentile, longest)', figuresOf(alone));
    noteFigure(`waiting in a flood of ${FLOOD_STATIONS} stations, ms`, figuresOf(inFlood));
    expect(floodEndedAtPush, 'the flood was under way').to.be.below(0.5);
    if (inFlood.p95 <= promised(alone)) return;
    const after = await pushAll(await makeOthers());
    await untilEnded(after);
    const aloneAfter = await waitsOf(system.store, after);
    noteFigure('waiting without the flood, after it, ms', figuresOf(aloneAfter));
    expect(inFlood.p95).to.be.at.most(promised(aloneAfter));
  });

  it('ENG-5 nobody ever holds more slots than the cap, in all processes together', async () => {
    const cap = routeOf('bill-station').capDefault;
    const beyond = lanes.filter((lane) => lane.holdersMax > routeOf(lane.stage).capDefault);
    expect(beyond).to.deep.equal([]);
    expect(await countEarlyTakings(system.store), 'slots taken while their holder was in lease').to.equal(0);
    const flood = lanes.find(
      (lane) => lane.stage === 'bill-station' && lane.partnerOrgId === flooder.partner.partnerOrgId,
    );
    expect(flood?.holdersMax, 'the flood used its whole cap').to.equal(cap);
  });

  it('ENG-6 jobs in Redis are never more than there are slots, however long the backlog', async () => {
    const { slots } = await system.store.one<{ slots: string }>('SELECT COUNT(*) slots FROM stage_slot');
    noteFigure('most jobs in Redis, all queues and states', `${jobs.most()} of ${slots} slots`);
    expect(jobs.looks()).to.be.above(50);
    expect(jobs.most()).to.be.within(1, Number(slots));
  });

  it('ENG-11 a worker that dies in the middle leaks no slot, and every row ends CURRENT', async () => {
    expect(story.floodEndedAtKill, 'the flood was under way at the kill').to.be.below(0.9);
    expect(await countTakingsFromTheDead(system.store), 'slots taken over').to.be.at.least(1);
    await until('all slots to be free', 30_000, async () => {
      const held = await system.store.many(
        'SELECT stage FROM stage_slot WHERE holder IS NOT NULL OR task_ids IS NOT NULL',
      );
      return held.length === 0 ? true : null;
    });
    const places = await system.store.many<{ place: number }>(
      'SELECT DISTINCT place FROM pushed_row_place WHERE push_id IN (?)',
      [story.pushIds],
    );
    expect(places.map((row) => row.place)).to.deep.equal([Place.CURRENT]);
    await assertConserved(system.store);
  });
});
