/** A database at work is not one at fault: the rules look at it at every stage, and all the while (INV-1). */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeRoofs } from '../support/roofs.ts';
import { placesOf, push, startTestSystem, type TestSystem, until, untilDone } from '../support/rooftally.ts';
import { assertVerified } from '../support/verify.ts';

const MONTHS = ['2026-01', '2026-02'];

/** Where the rows of a push wait while a stage is held. */
const WAITING: readonly [StageName, string][] = [
  ['bill-station', 'STATION_PENDING'],
  ['income-diff', 'DIFF_PENDING'],
  ['account-shard', 'ACCOUNT_PENDING'],
  ['bill-snapshot', 'SNAPSHOT_PENDING'],
];

describe('inspection: a database at work', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());

  for (const [stage, place] of WAITING) {
    it(`INV-1 nothing is found while corrected bills wait at ${stage}, nor while they go on`, async () => {
      const roofs = await makeRoofs(system.store, { stations: 3, months: MONTHS });
      const first = await push(system.url, roofs.partner.key, roofs.pushOf());
      await untilDone(system.url, roofs.partner.key, first.body.pushId);
      await setStagePaused(system.store, stage, true, 'test');
      const corrected = roofs.pushOf(() => ({ rent: '99.00', deductionAmount: '3.00' }));
      const { pushId } = (await push(system.url, roofs.partner.key, corrected)).body;
      await until(`the rows to wait at ${stage}`, 15_000, async () =>
        (await placesOf(system.store, pushId))[place] === 6 ? true : null,
      );
      await assertVerified(system.store);
      await setStagePaused(system.store, stage, false, 'test');
      await untilDone(system.url, roofs.partner.key, pushId);
      await assertVerified(system.store);
    });
  }

  it('INV-1 nothing is found at any instant of many pushes of the same bills', async () => {
    const roofs = await makeRoofs(system.store, { stations: 20, months: MONTHS });
    const pushes: Promise<unknown>[] = [];
    for (let rent = 1; rent <= 6; rent++) {
      const stations = roofs.pushOf(() => ({ rent: `${100 + rent}.00` }));
      const reply = push(system.url, roofs.partner.key, stations);
      pushes.push(reply.then(({ body }) => untilDone(system.url, roofs.partner.key, body.pushId)));
    }
    let working = true;
    let looks = 0;
    const ended = Promise.all(pushes).finally(() => {
      working = false;
    });
    while (working) {
      await assertVerified(system.store);
      looks += 1;
    }
    await ended;
    expect(looks).to.be.greaterThan(3);
  });
});
