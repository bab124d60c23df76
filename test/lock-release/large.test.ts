import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { DyingStore } from '../support/dying-store.ts';
import { endLease, readTask, slotOf, statusOf } from '../support/engine.ts';
import { makeLocks, makeSubmit, PAYMENT_PARTNER, readBatch } from '../support/payment-factory.ts';
import { makeRelease, makeReleaseSlots, makeWorker, type ReleaseWorker } from '../support/release-world.ts';

const LOCKS = 200_000;
const BATCH_SIZE = 1_000;
const BATCHES_BEFORE_DEATH = 100;
const COMPARED = 20;
const SLOWER_AT_MOST = 1.3;

describe('lock release: 200,000 locks of one submit', function () {
  this.timeout(240_000);
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());

  it('LCK-16 no transaction touches more than a batch; killed in the middle it goes on from its cursor, and stays as quick', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: BATCH_SIZE } });
    const ids = await makeLocks(store, submit, LOCKS);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');

    // One transaction takes the slot and claims, then each batch is one.
    const dying = new DyingStore(store.orm).dieAfter(1 + BATCHES_BEFORE_DEATH);
    const first = makeWorker(dying, { worker: 'first', limits: { sliceMs: 600_000 } });
    await first.work();

    const cursor = ids[BATCHES_BEFORE_DEATH * BATCH_SIZE - 1];
    const dead = await readTask(store, code);
    expect(dead.result).to.deep.equal({
      cursor,
      releasedCount: BATCHES_BEFORE_DEATH * BATCH_SIZE,
      batchCount: BATCHES_BEFORE_DEATH,
    });
    expect(await statusOf(store, code)).to.equal('RUNNING');
    expect((await readBatch(store, submit.versionId)).lastItemId).to.equal(cursor);

    await endLease(store, slotOf(1, PAYMENT_PARTNER, 'lock-release'));
    const second = makeWorker(store, { worker: 'second', limits: { sliceMs: 600_000 } });
    expect(await second.work()).to.equal('IDLE');
    expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect((await readTask(store, code)).result).to.deep.equal({
      cursor: ids.at(-1),
      releasedCount: LOCKS,
      batchCount: LOCKS / BATCH_SIZE,
    });
    expect(await readBatch(store, submit.versionId)).to.deep.include({
      status: 'DONE',
      processedCount: LOCKS,
    });
    // Each batch is one statement, so its rows carry one time, and no time more rows than a batch has.
    const { most } = await store.one<{ most: string }>(
      `SELECT MAX(locks) most FROM (SELECT COUNT(*) locks FROM fi_resident_income_payment_bill_lock
         WHERE payment_order_id = ? AND lock_status = 'RELEASED' GROUP BY release_time) per_statement`,
      [submit.orderId],
    );
    expect(Number(most)).to.equal(BATCH_SIZE);

    const times = [first, second].flatMap(continuedMs);
    expect(times).to.have.length(LOCKS / BATCH_SIZE);
    const early = median(times.slice(0, COMPARED));
    const late = median(times.slice(-COMPARED));
    // A machine that slowed down meanwhile slows the first batches of a fresh submit as well, made right afterwards.
    const fresh = late <= early * SLOWER_AT_MOST ? early : await timeFirstBatches();
    const told = `first batches ${early.toFixed(1)} ms, last ${late.toFixed(1)} ms, first of a fresh one ${fresh.toFixed(1)} ms`;
    expect(late, told).to.be.at.most(fresh * SLOWER_AT_MOST);
  });

  /** @returns the median time of the first batches of another submit, in ms */
  async function timeFirstBatches(): Promise<number> {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: BATCH_SIZE } });
    await makeLocks(store, submit, COMPARED * BATCH_SIZE);
    await makeRelease(store, submit, 'BUILD_FAILED');
    const worker = makeWorker(store, { worker: 'third', limits: { sliceMs: 600_000 } });
    await worker.work();
    const times = continuedMs(worker);
    expect(times).to.have.length(COMPARED);
    return median(times);
  }
});

/** How long each batch took that was not the run's last step. */
function continuedMs({ observed }: ReleaseWorker): number[] {
  return observed
    .of('ended')
    .filter(([, label]) => label === 'continued')
    .map(([, , , tookMs]) => tookMs as number);
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)]!;
}
