import { expect } from 'chai';
import { route } from '../../queues/route.ts';
import { keepSlots } from '../../src/scheduler/keep-slots.ts';
import type { Store } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, makeSlots, makeTask, openToyStore, STAGE } from '../support/engine.ts';
import { makePartner } from '../support/factory.ts';

describe('scheduler: slots for everybody', () => {
  let testStore: TestStore;
  let store: Store;
  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'partner'])
      await store.change(`DELETE FROM ${table}`);
  });

  const keep = () => keepSlots().runOnce(makeEngine(store).engine);
  async function slotsOf(partnerOrgId: string): Promise<Record<string, number>> {
    const rows = await store.many<{ stage: string; n: string }>(
      'SELECT stage, COUNT(*) n FROM stage_slot WHERE partner_org_id = ? GROUP BY stage',
      [partnerOrgId],
    );
    return Object.fromEntries(rows.map((row) => [row.stage, Number(row.n)]));
  }
  const defaults = Object.fromEntries(route.map(({ stage, capDefault }) => [stage, capDefault]));

  it('ENG-5 a partner that came without slots gets those of every stage, by its caps', async () => {
    const { partnerOrgId } = await makePartner(store, { caps: JSON.stringify({ [STAGE]: 2 }) });
    await keep();
    expect(await slotsOf(partnerOrgId)).to.deep.equal({ ...defaults, [STAGE]: 2 });
  });

  it('ENG-5 a stage that is newer than the partner gets its slots; those of the other stages stay as they are', async () => {
    const { partnerOrgId } = await makePartner(store);
    await makeSlots(store, 1, partnerOrgId);
    await keep();
    expect(await slotsOf(partnerOrgId)).to.deep.equal({ ...defaults, [STAGE]: 1 });
    await keep();
    expect(await slotsOf(partnerOrgId)).to.deep.equal({ ...defaults, [STAGE]: 1 });
  });

  it('ENG-7 many partners are looked after in one run', async () => {
    const partners: string[] = [];
    for (let count = 0; count < 130; count++) partners.push((await makePartner(store)).partnerOrgId);
    await keep();
    for (const partnerOrgId of partners) expect(await slotsOf(partnerOrgId)).to.deep.equal(defaults);
  });

  it('ENG-5 work that belongs to nobody has slots as soon as there is some', async () => {
    await keep();
    expect(await slotsOf('0')).to.deep.equal({});
    await makeTask(store, 'nobody’s', { partner_org_id: '0' });
    await keep();
    expect(await slotsOf('0')).to.deep.equal({ [STAGE]: defaults[STAGE]! });
  });
});
