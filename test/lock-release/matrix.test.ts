import { expect } from 'chai';
import { LOCK_RELEASE_REASONS, type LockReleaseReason } from '../../src/domain/lock-release.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { readTask, statusOf } from '../support/engine.ts';
import { lockStatuses, makeLocks, makeSubmit, readBatch, readLocks } from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';
import { ScriptedStore } from '../support/scripted-store.ts';

/** LCK-15 in full, written down once more: what each reason does to a lock of each status. */
const FREED_BY: Record<LockReleaseReason, readonly string[]> = {
  BUILD_FAILED: ['RESERVED'],
  INVALID_REVISE_SESSION: ['RESERVED'],
  SUBMIT_CANCEL: ['RESERVED'],
  REVISE_FAILED: ['RESERVED'],
  REVIEW_REJECTED: [],
  REVIEW_APPROVED_UNQUALIFIED: ['RESERVED', 'ACTIVE'],
  PAYMENT_SUCCESS: ['RESERVED', 'ACTIVE'],
  PARTIAL_PAYMENT: ['RESERVED', 'ACTIVE'],
  PAYMENT_FAIL: ['RESERVED', 'ACTIVE'],
  ORDER_VOID: ['RESERVED', 'ACTIVE'],
  RESUBMIT_REFRESH: ['RESERVED', 'ACTIVE'],
  REVISE_REMOVED: ['RESERVED', 'ACTIVE'],
  COMPENSATION_RELEASE: ['RESERVED', 'ACTIVE'],
};

describe('lock release: the matrix reason × status', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  it('LCK-27 the set of reasons is closed', () => {
    expect(Object.keys(FREED_BY)).to.have.members([...LOCK_RELEASE_REASONS]);
  });

  for (const reason of LOCK_RELEASE_REASONS) {
    for (const status of ['RESERVED', 'ACTIVE', 'RELEASED']) {
      const freed = FREED_BY[reason].includes(status);
      it(`LCK-15 ${reason} ${freed ? 'releases' : 'leaves'} what is ${status}`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store);
        const ids = await makeLocks(store, submit, 2, { lock_status: status });
        const code = await makeRelease(store, submit, reason);
        await makeWorker(store).work();
        expect(await lockStatuses(store, ids)).to.deep.equal([
          freed ? 'RELEASED' : status,
          freed ? 'RELEASED' : status,
        ]);
        const [lock] = await readLocks(store, ids);
        expect(lock!.releaseReason).to.equal(freed ? reason : null);
        if (reason === 'REVIEW_REJECTED') expect(await statusOf(store, code)).to.equal('CANCELLED');
      });
    }
  }

  it('LCK-17 a released lock gives up its key, keeps whose it was, and says when and why', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const [id] = await makeLocks(store, submit, 1);
    const owners =
      'SELECT payment_order_id, payment_order_version_id, session_id, submit_attempt, data_version, partner_org_id FROM fi_resident_income_payment_bill_lock WHERE id = ?';
    const before = await store.one(owners, [id!]);
    await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store).work();
    const [lock] = await readLocks(store, [id!]);
    expect(lock!.lockKey).to.equal(`${lock!.platformStationId}:2026-05:RELEASED:${id}`);
    expect(lock!.releaseTime).to.not.equal(null);
    expect(await store.one(owners, [id!])).to.deep.equal(before);
  });

  it('LCK-18, LCK-24, LCK-28 the end: batch DONE, task SUCCESS with its summary, due time and retries untouched', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 2 } });
    const ids = await makeLocks(store, submit, 5);
    const code = await makeRelease(store, submit, 'BUILD_FAILED', { retry_count: 1 });
    const before = await readTask(store, code);
    await makeWorker(store).work();
    const task = await readTask(store, code);
    expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect(task).to.deep.include({
      retryCount: 1,
      nextExecuteTime: before.nextExecuteTime,
      errorCode: null,
      errorMessage: `BUILD_FAILED of version ${submit.versionId}: 5 locks released in 3 batches, none left`,
      result: { cursor: ids.at(-1), releasedCount: 5, batchCount: 3 },
    });
    expect(await readBatch(store, submit.versionId)).to.deep.include({
      status: 'DONE',
      lastItemId: ids.at(-1),
      processedCount: 5,
      payableCount: 0,
      unqualifiedCount: 0,
      leaseVersion: 1,
      workerId: 'worker-a',
      ownerTaskId: task.id,
      ownerAttempt: 1,
    });
  });

  it('LCK-18 no locks at all is a success', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const code = await makeRelease(store, submit, 'ORDER_VOID');
    await makeWorker(store).work();
    expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect((await readBatch(store, submit.versionId)).status).to.equal('DONE');
  });

  it('LCK-16 LCK-28 each batch moves on, in its own commit, the cursor, its mirror with owner and counts, and the heartbeats', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 2 } });
    const ids = await makeLocks(store, submit, 5);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    const { id } = await readTask(store, code);
    const long = '2026-01-01 00:00:00.000';
    const seen: object[] = [];
    const look = async () => {
      const { result } = await readTask(store, code);
      const { status, lastItemId, processedCount, ownerTaskId, ownerAttempt, workerId, leaseVersion } =
        await readBatch(store, submit.versionId);
      const fresh = await store.one(
        `SELECT t.update_time > ? taskTouched, b.heartbeat_time > ? batchBeats FROM fi_async_task t
           JOIN selection_submit_batch b ON b.payment_order_version_id = ? AND b.batch_phase = 'LOCK_RELEASE'
          WHERE t.id = ?`,
        [long, long, submit.versionId, id],
      );
      const batch = { status, lastItemId, processedCount, ownerTaskId, ownerAttempt, workerId, leaseVersion };
      seen.push({ result, batch, fresh });
    };
    const age = async () => {
      await store.change('UPDATE fi_async_task SET update_time = ?', [long]);
      await store.change('UPDATE selection_submit_batch SET heartbeat_time = ?', [long]);
    };
    const scripted = new ScriptedStore(store.orm);
    scripted.beforeBegin = async (transaction) => {
      // The claim is the first; then each batch, and what the one before it left.
      if (transaction === 3 || transaction === 4) await look();
      await age();
    };
    await makeWorker(scripted).work();
    const stateAfter = (batches: number) => ({
      result: { cursor: ids[2 * batches - 1], releasedCount: 2 * batches, batchCount: batches },
      batch: {
        status: 'RUNNING',
        lastItemId: ids[2 * batches - 1],
        processedCount: 2 * batches,
        ownerTaskId: id,
        ownerAttempt: 1,
        workerId: 'worker-a',
        leaseVersion: 1,
      },
      fresh: { taskTouched: '1', batchBeats: '1' },
    });
    expect(seen).to.deep.equal([stateAfter(1), stateAfter(2)]);
  });

  for (const size of [null, 0, -1]) {
    it(`LCK-16 a batch size of ${size} means 1,000`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_size: size } });
      await makeLocks(store, submit, 1_001);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 1_001, batchCount: 2 });
    });
  }
});
