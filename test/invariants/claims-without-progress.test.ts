/** What counts as getting nowhere (INV-1): a claim does; an end or a recorded step forgives all, a busy guard its own. */
import { expect } from 'chai';
import {
  finishIfRunning,
  handBackIfRunning,
  markRunning,
  recordProgressIfRunning,
} from '../../src/store/running-tasks.ts';
import type { Store } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { insertNumberedRow } from '../support/factory.ts';

describe('inspection: claims without progress', () => {
  let testStore: TestStore;
  let store: Store;
  let id: string;

  before(async () => {
    testStore = await openTestStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    id = await insertNumberedRow(store, 'fi_async_task', {
      task_type: 'TEST',
      task_code: `TEST:${process.hrtime.bigint()}`,
      business_key: 'key',
      task_data: '{}',
      max_retry_count: 8,
      next_execute_time: '2026-01-01 00:00:00.000',
      stage: 'bill-station',
    });
  });

  let attempt = 0;
  const claim = async () => {
    await markRunning(store, [id], { slotNo: 1, fence: '1', worker: 'me' });
    const row = await store.one<{ attempt: number }>(
      'SELECT running_attempt attempt FROM fi_async_task WHERE id = ?',
      [id],
    );
    attempt = row.attempt;
  };
  const run = () => ({ id, runningAttempt: attempt });
  const counted = async () =>
    (await store.one<{ n: number }>('SELECT claims_without_progress n FROM fi_async_task WHERE id = ?', [id]))
      .n;

  it('INV-1 each claim that ends in a hand-back counts', async () => {
    for (let claims = 1; claims <= 3; claims++) {
      await claim();
      await handBackIfRunning(store, [run()], { dueInMs: 0 });
      expect(await counted()).to.equal(claims);
    }
  });

  it('INV-1 ENG-13 a claim that only found a busy guard does not count', async () => {
    await claim();
    await handBackIfRunning(store, [run()], { dueInMs: 0 });
    for (let claims = 0; claims < 4; claims++) {
      await claim();
      await handBackIfRunning(store, [run()], { dueInMs: 0, busy: true });
    }
    expect(await counted()).to.equal(1);
  });

  it('INV-1 a recorded step forgives them, and so does an end', async () => {
    await claim();
    await claim();
    await recordProgressIfRunning(store, run(), { cursor: '1' });
    expect(await counted()).to.equal(0);
    await claim();
    await finishIfRunning(store, [run()], { finalResult: 'FULL_SUCCESS', result: null });
    expect(await counted()).to.equal(0);
  });
});
