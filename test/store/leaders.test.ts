import { expect } from 'chai';
import { stepDown, tryLead } from '../../src/store/leaders.ts';
import type { Store } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { openToyStore } from '../support/engine.ts';

const LEASE_MS = 30_000;

describe('store: the leader’s place', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(() => store.change('DELETE FROM scheduler_leader'));

  const leader = () =>
    store.one<{ holder: string | null; fence: string }>('SELECT holder, fence FROM scheduler_leader');
  const endTerm = () => store.change('UPDATE scheduler_leader SET lease_end = SYSDATE(3)');

  it('ENG-7 the first who asks leads, and stays leader; nobody else does', async () => {
    expect(await tryLead(store, 'scan', 'a', LEASE_MS)).to.equal(true);
    expect(await tryLead(other, 'scan', 'b', LEASE_MS)).to.equal(false);
    expect(await tryLead(store, 'scan', 'a', LEASE_MS)).to.equal(true);
    expect(await leader()).to.deep.equal({ holder: 'a', fence: '1' });
  });

  it('ENG-7 of many who ask at once, where there is no row and where a term is over, exactly one leads', async () => {
    for (const ending of [async () => {}, endTerm]) {
      await ending();
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, asker) =>
          tryLead(asker % 2 === 0 ? store : other, 'scan', `asker-${asker}`, LEASE_MS),
        ),
      );
      expect(answers.filter((leads) => leads)).to.have.length(1);
    }
  });

  it('ENG-7 a term that ends now is over: another leads, under a higher fence, and the former does not', async () => {
    await tryLead(store, 'scan', 'a', LEASE_MS);
    await endTerm();
    expect(await tryLead(other, 'scan', 'b', LEASE_MS)).to.equal(true);
    expect(await tryLead(store, 'scan', 'a', LEASE_MS)).to.equal(false);
    expect(await leader()).to.deep.equal({ holder: 'b', fence: '2' });
  });

  it('ENG-7 whoever steps down leaves the place free at once; who does not lead cannot give it away', async () => {
    await tryLead(store, 'scan', 'a', LEASE_MS);
    await stepDown(other, 'scan', 'b');
    expect(await tryLead(other, 'scan', 'b', LEASE_MS)).to.equal(false);
    await stepDown(store, 'scan', 'a');
    expect(await tryLead(other, 'scan', 'b', LEASE_MS)).to.equal(true);
  });

  it('ENG-7 places of different names are led apart', async () => {
    expect(await tryLead(store, 'scan', 'a', LEASE_MS)).to.equal(true);
    expect(await tryLead(other, 'retention', 'b', LEASE_MS)).to.equal(true);
  });
});
