/** A partner that was not made through the control plane, and so without slots, is served like the others. */
import { expect } from 'chai';
import { makeRoofs } from '../support/roofs.ts';
import { placesOf, push, startTestSystem, type TestSystem, untilDone } from '../support/rooftally.ts';

describe('a partner without slots', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());

  it('ENG-5 ENG-7 its push goes the whole way', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: ['2026-01'] });
    await system.store.change('DELETE FROM stage_slot WHERE partner_org_id = ?', [
      roofs.partner.partnerOrgId,
    ]);
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId, 20_000);
    expect(done.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 2 });
  });
});
