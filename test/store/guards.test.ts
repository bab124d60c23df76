import { expect } from 'chai';
import { BusyError } from '../../src/errors.ts';
import {
  compareGuards,
  type GuardKey,
  type GuardWithFence,
  lockGuards,
  partnerStationGuard,
  platformStationGuard,
  readFences,
} from '../../src/store/guards.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { openToyStore, signal, untilWaiting } from '../support/engine.ts';

const bare = (...keys: GuardKey[]): GuardWithFence[] => keys.map((key) => ({ key }));

describe('store: guards', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let conflicts = 0;

  before(async () => {
    const onConflict = () => {
      conflicts += 1;
    };
    testStore = await openToyStore();
    store = await testStore.openAnother({ onConflict });
    other = await testStore.openAnother({ onConflict });
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    conflicts = 0;
    await store.change('DELETE FROM station_guard');
  });

  const inTransaction = (on: Store, guards: readonly GuardWithFence[], then: () => Promise<void>) =>
    on.transaction(NEW_READ_COMMITTED, async (tx) => {
      await lockGuards(tx, guards);
      await then();
    });
  const nothing = async () => {};

  it('ENG-17 the order is the database’s own: partner stations first, numbers as numbers, text by its bytes', async () => {
    const keys = [
      platformStationGuard('9'),
      partnerStationGuard('10', 'A'),
      platformStationGuard('18446744073709551615'),
      partnerStationGuard('9', 'b'),
      partnerStationGuard('9', 'B'),
      partnerStationGuard('9', '台'),
      partnerStationGuard('9', '🌞'),
      partnerStationGuard('9', '\uff21'),
      platformStationGuard('10'),
    ];
    await inTransaction(store, bare(...keys), nothing);
    const stored = await store.many<GuardKey>(
      `SELECT kind, partner_org_id partnerOrgId, platform_station_id platformStationId, partner_station_no partnerStationNo
         FROM station_guard ORDER BY kind, partner_org_id, platform_station_id, partner_station_no`,
    );
    expect([...keys].sort(compareGuards)).to.deep.equal(stored);
  });

  it('ENG-17 two sessions that want the same guards in opposite order wait for each other, never for ever', async () => {
    const some = ['3', '1', '2'].map(platformStationGuard);
    const firstHolds = signal();
    const firstMayGo = signal();
    const first = inTransaction(store, bare(...some), async () => {
      firstHolds.give();
      await firstMayGo.given;
    });
    await firstHolds.given;
    const second = inTransaction(other, bare(...some.toReversed()), nothing);
    await untilWaiting(store);
    firstMayGo.give();
    await Promise.all([first, second]);
    expect(conflicts).to.equal(0);
  });

  it('ENG-17 sixteen sessions with guards that overlap in every order never deadlock, whether the rows are there or not', async () => {
    const stations = Array.from({ length: 12 }, (_, index) => platformStationGuard(String(index + 1)));
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 16 }, (_, session) => {
          const mine = stations.toSorted(() => Math.random() - 0.5).slice(0, 6);
          return inTransaction(session % 2 === 0 ? store : other, bare(...mine), nothing);
        }),
      );
    }
    expect(conflicts).to.equal(0);
  });

  it('ENG-16 a guard that is named twice in one call is one guard', async () => {
    const key = platformStationGuard('5');
    await inTransaction(
      store,
      [
        { key, fence: '3' },
        { key, fence: '3' },
      ],
      nothing,
    );
    expect(await readFences(store, [key])).to.deep.equal(new Map([['platform:5', '3']]));
  });

  it('ENG-13 a guard that is held too long is busy: an outcome, no conflict that is tried again', async () => {
    const key = platformStationGuard('6');
    const held = signal();
    const mayGo = signal();
    const holder = inTransaction(store, bare(key), async () => {
      held.give();
      await mayGo.given;
    });
    await held.given;
    const startedMs = performance.now();
    const outcome = await inTransaction(other, bare(key), nothing).catch((error: Error) => error);
    mayGo.give();
    await holder;
    expect(outcome).to.be.instanceOf(BusyError).with.property('message').that.includes('platform:6');
    expect(performance.now() - startedMs, 'one lock wait, not six').to.be.below(8_000);
    expect(conflicts).to.equal(0);
  });

  it('ENG-18 a guard keeps the highest fence; a lower one finds that a later lease was there', async () => {
    const key = partnerStationGuard('9', 'S1');
    await inTransaction(store, [{ key, fence: '7' }], nothing);
    await inTransaction(store, [{ key, fence: '7' }], nothing);
    const outcome = await inTransaction(store, [{ key, fence: '6' }], nothing).catch((error: Error) => error);
    expect(outcome).to.be.instanceOf(BusyError).with.property('message').that.includes('partner:9:S1');
    await inTransaction(store, bare(key), nothing);
    expect(await readFences(store, [key])).to.deep.equal(new Map([['partner:9:S1', '7']]));
  });

  it('ENG-18 of two fences for one guard in one call the higher counts, and the lower is overtaken', async () => {
    const key = platformStationGuard('8');
    const outcome = await inTransaction(
      store,
      [
        { key, fence: '9' },
        { key, fence: '2' },
      ],
      nothing,
    ).then(
      () => 'locked',
      (error: Error) => error.name,
    );
    expect(outcome).to.equal('BusyError');
  });

  it('ENG-18 a guard that one unit names with a fence and another without keeps its fence', async () => {
    const key = platformStationGuard('9');
    await inTransaction(store, [{ key, fence: '4' }, { key }], nothing);
    expect(await readFences(store, [key])).to.deep.equal(new Map([['platform:9', '4']]));
  });

  it('ENG-18 fences of guards that nobody has touched are absent: their floor is 0', async () => {
    expect(await readFences(store, [platformStationGuard('404')])).to.deep.equal(new Map());
    expect(await readFences(store, [])).to.deep.equal(new Map());
  });

  it('ENG-17 more guards than fit one statement are locked in the same order', async () => {
    const many = Array.from({ length: 1_201 }, (_, index) => platformStationGuard(String(index + 1)));
    await inTransaction(store, bare(...many), nothing);
    const row = await store.one<{ guards: string }>('SELECT COUNT(*) guards FROM station_guard');
    expect(Number(row.guards)).to.equal(1_201);
  });
});
