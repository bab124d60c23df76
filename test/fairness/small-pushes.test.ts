/**
 * Promise 5 for the smallest: pushes of one station each, one after another, beside a flood of large stations, in one
 * worker process with the settings it has from the start. What they wait for is less than one batch of the flood.
 */
import { expect } from 'chai';
import { readConfig } from '../../config/config.ts';
import { route } from '../../queues/route.ts';
import { Place } from '../../src/domain/place.ts';
import { noteFigure } from '../support/figures.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { figuresOf, promised, type Waits, waitsOf } from '../support/waits.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

const YEAR = Array.from({ length: 12 }, (_, n) => `2026-${String(n + 1).padStart(2, '0')}`);
const FLOOD_STATIONS = 3_500;
/** So many that the 95th percentile is not the longest. */
const SMALL = 21;
const DEADLINE_MS = 300_000;

describe('pushes of one station', function () {
  this.timeout(DEADLINE_MS);
  let system: TestSystem;
  let worker: WorkerProcess;
  before(async () => {
    system = await startTestSystem({ roles: ['api', 'scheduler'] });
    worker = await startWorkerProcess(system, 'one-worker');
  });
  after(async () => {
    worker?.kill('SIGTERM');
    await worker?.exited;
    await system.stop();
  });

  it('ENG-6 a process takes more turns at a stage than one partner may have slots, so a flood never has them all', () => {
    const { actorConcurrency } = readConfig({ DATABASE_URL: 'mysql://a@b/c', REDIS_URL: 'redis://a' }).tasks;
    for (const { stage, capDefault } of route) expect(actorConcurrency, stage).to.be.above(capDefault);
  });

  it('ENG-6 wait at most twice as long beside a flood as without it, or half a second more', async () => {
    const make = (stations: number, months: readonly string[]) =>
      makeRoofs(system.store, { stations, months });
    const smalls: Roofs[] = [];
    for (let n = 0; n < 3 * SMALL + 1; n++) smalls.push(await make(1, YEAR.slice(0, 2)));
    const flooder = await make(FLOOD_STATIONS, YEAR);
    const take = () => smalls.splice(0, SMALL);
    await pushInTurn(smalls.splice(0, 1));

    const alone = await pushInTurn(take());
    const flood = await accept(flooder);
    await until('the flood to be under way', DEADLINE_MS, async () =>
      (await written(flood)) > 0 ? true : null,
    );
    const inFlood = await pushInTurn(take());
    expect(await written(flood), 'rows of the flood that were written meanwhile').to.be.below(
      FLOOD_STATIONS * YEAR.length,
    );
    noteFigure('a station alone, without a flood, ms (median, 95th percentile, longest)', figuresOf(alone));
    noteFigure(`a station alone, beside a flood of ${FLOOD_STATIONS}, ms`, figuresOf(inFlood));
    await untilDone(system.url, flooder.partner.key, flood, DEADLINE_MS);

    if (inFlood.p95 > promised(alone)) expect(inFlood.p95).to.be.at.most(promised(await pushInTurn(take())));
    await assertConserved(system.store);
  });

  async function accept(roofs: Roofs): Promise<string> {
    const { body } = await push(system.url, roofs.partner.key, roofs.pushOf());
    expect(body.code).to.equal('ACCEPTED');
    return body.pushId;
  }

  async function pushInTurn(all: readonly Roofs[]): Promise<Waits> {
    const pushIds: string[] = [];
    for (const roofs of all) {
      const pushId = await accept(roofs);
      await until('its station to be written', DEADLINE_MS, async () =>
        (await written(pushId)) > 0 ? true : null,
      );
      pushIds.push(pushId);
    }
    return waitsOf(system.store, pushIds);
  }

  /** Rows whose station is done. */
  async function written(pushId: string): Promise<number> {
    const { n } = await system.store.one<{ n: string }>(
      'SELECT COUNT(*) n FROM pushed_row_place WHERE push_id = ? AND place <> ?',
      [pushId, Place.STATION_PENDING],
    );
    return Number(n);
  }
});
