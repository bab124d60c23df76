/** The main road, through HTTP: a push travels from acceptance to the snapshot, and every row says where it is. */
import { expect } from 'chai';
import { makeRoofs } from '../support/roofs.ts';
import {
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  untilDone,
} from '../support/rooftally.ts';

describe('a push travels the whole chain', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  it('COV-1 COV-4 all good: every row is CURRENT and the push COMPLETE', async () => {
    const roofs = await makeRoofs(system.store, { stations: 7, months: ['2026-01', '2026-02', '2026-03'] });
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    expect(reply.status).to.equal(202);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 21 });
    expect(done.state).to.equal('COMPLETE');
    expect(done.stationOutcome).to.equal('SUCCESS');
    expect(done.funnel.map((stage) => [stage.rows, stage.amount])).to.deep.equal(
      Array(8).fill([21, '2520.00']),
    );
  });
});
