import { expect } from 'chai';
import type { LockReleaseReason } from '../../src/domain/lock-release.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { readTask, statusOf } from '../support/engine.ts';
import {
  lockStatuses,
  makeBillWithLock,
  makeLocks,
  makeOrder,
  makeSubmit,
  readBatch,
  readLocks,
} from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';
import { ScriptedStore } from '../support/scripted-store.ts';

describe('lock release: exactly its own locks', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  /** One column differs, all the others are equal; those that say nothing about ownership differ beside it. */
  const others: Record<string, Record<string, string | number>> = {
    'another order': { payment_order_id: '900001' },
    'another session': { session_id: '900002' },
    'another attempt': { submit_attempt: 2 },
    'another data version': { data_version: '2' },
  };
  for (const [what, difference] of Object.entries(others)) {
    for (const reason of ['BUILD_FAILED', 'COMPENSATION_RELEASE'] as const) {
      it(`LCK-14 leaves the locks of ${what} with everything else equal (${reason})`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store, { batch: { batch_size: 2 } });
        const own = await makeLocks(store, submit, 2);
        const foreign = await makeLocks(store, submit, 2, difference);
        const last = await makeLocks(store, submit, 1);
        const code = await makeRelease(store, submit, reason);
        await makeWorker(store).work();
        expect(await statusOf(store, code)).to.equal('SUCCESS');
        expect(await lockStatuses(store, [...own, ...last])).to.deep.equal([
          'RELEASED',
          'RELEASED',
          'RELEASED',
        ]);
        expect(await lockStatuses(store, foreign)).to.deep.equal(['RESERVED', 'RESERVED']);
      });
    }
  }

  it('LCK-14 another submit of the same order keeps its locks', async () => {
    const { store } = testStore;
    const orderId = await makeOrder(store);
    const failed = await makeSubmit(store, { orderId });
    const later = await makeSubmit(store, {
      orderId,
      version: { target_data_version: '2', version_build_status: 'BUILT' },
    });
    const own = await makeLocks(store, failed, 2);
    const foreign = await makeLocks(store, later, 2);
    await makeRelease(store, failed, 'BUILD_FAILED');
    await makeWorker(store).work();
    expect(await lockStatuses(store, own)).to.deep.equal(['RELEASED', 'RELEASED']);
    expect(await lockStatuses(store, foreign)).to.deep.equal(['RESERVED', 'RESERVED']);
  });

  for (const column of ['payment_order_version_id', 'submit_token'] as const) {
    it(`LCK-14 ${column} decides nothing: the submit's lock goes, whatever it says`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const own = await makeLocks(store, submit, 1, { [column]: '900003' });
      await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect(await lockStatuses(store, own)).to.deep.equal(['RELEASED']);
    });
  }

  it('LCK-17 what was released before keeps its time and reason', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const [early] = await makeLocks(store, submit, 1, {
      lock_status: 'RELEASED',
      release_reason: 'SUBMIT_CANCEL',
      release_time: '2026-01-01 00:00:00.000',
    });
    const before = await readLocks(store, [early!]);
    await makeLocks(store, submit, 1);
    await makeRelease(store, submit, 'COMPENSATION_RELEASE');
    await makeWorker(store).work();
    expect(await readLocks(store, [early!])).to.deep.equal(before);
    expect((await readBatch(store, submit.versionId)).processedCount).to.equal(1);
  });

  for (const [size, locks, batchCount] of [
    [null, 1_000, 1],
    [null, 1_001, 2],
    [0, 1_001, 2],
    [-1, 5, 1],
    [2, 5, 3],
  ] as const)
    it(`LCK-16 with a batch size of ${size ?? 'none'} ${locks} locks go in ${batchCount} batches`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_size: size } });
      const own = await makeLocks(store, submit, locks);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      const { status, result } = await readTask(store, code);
      const progress = { cursor: own.at(-1), releasedCount: locks, batchCount };
      expect([status, result]).to.deep.equal([2, progress]);
      expect(new Set(await lockStatuses(store, own))).to.deep.equal(new Set(['RELEASED']));
    });

  it('LCK-16 each batch is a sign of life: heartbeat of the batch row, update time of batch and task', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
    await makeLocks(store, submit, 2);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    const scripted = new ScriptedStore((await testStore.openAnother()).orm);
    const recent = async () => {
      const row = await store.one<Record<string, string>>(
        `SELECT b.heartbeat_time > NOW(3) - INTERVAL 1 HOUR beat, b.update_time > NOW(3) - INTERVAL 1 HOUR batch,
                t.update_time > NOW(3) - INTERVAL 1 HOUR task
           FROM selection_submit_batch b, fi_async_task t
          WHERE b.payment_order_version_id = ? AND b.batch_phase = 'LOCK_RELEASE' AND t.task_code = ?`,
        [submit.versionId, code],
      );
      return Object.values(row).map(Number);
    };
    const seen: number[][] = [];
    scripted.beforeBegin = async (transaction) => {
      // The claim, the first batch, the second, the end.
      if (transaction === 3) {
        const old = '2020-01-01 00:00:00';
        await store.change(
          'UPDATE selection_submit_batch SET heartbeat_time = ?, update_time = ? WHERE payment_order_version_id = ?',
          [old, old, submit.versionId],
        );
        await store.change('UPDATE fi_async_task SET update_time = ? WHERE task_code = ?', [old, code]);
      }
      if (transaction === 3 || transaction === 4) seen.push(await recent());
    };
    await makeWorker(scripted).work();
    expect(seen).to.deep.equal([
      [0, 0, 0],
      [1, 1, 1],
    ]);
  });

  describe('a selection', () => {
    it('LCK-4 keeps paging, update and count to the bills that it names', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, {
        version: { version_build_status: 'PUBLISHED' },
        batch: { batch_size: 1 },
      });
      const bills = [];
      for (let made = 0; made < 5; made++)
        bills.push(await makeBillWithLock(store, submit, { lock: { lock_status: 'ACTIVE' } }));
      const locks = bills.map((bill) => bill.lockId);
      const named = [bills[1]!.orderBillId, bills[3]!.orderBillId];
      const code = await makeRelease(store, submit, 'PAYMENT_SUCCESS', {}, named);
      await makeWorker(store).work();
      expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect(await lockStatuses(store, locks)).to.deep.equal([
        'ACTIVE',
        'RELEASED',
        'ACTIVE',
        'RELEASED',
        'ACTIVE',
      ]);
      expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 2, batchCount: 2 });
    });

    it('LCK-4 two selections of one reason are two releases, and a DONE batch of the first fools the second not', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { version: { version_build_status: 'PUBLISHED' } });
      const first = await makeBillWithLock(store, submit, { lock: { lock_status: 'ACTIVE' } });
      const second = await makeBillWithLock(store, submit, { lock: { lock_status: 'ACTIVE' } });
      await makeRelease(store, submit, 'PARTIAL_PAYMENT', {}, [first.orderBillId]);
      await makeWorker(store).work();
      expect(await lockStatuses(store, [first.lockId, second.lockId])).to.deep.equal(['RELEASED', 'ACTIVE']);
      await makeRelease(store, submit, 'PARTIAL_PAYMENT', {}, [second.orderBillId]);
      await makeWorker(store).work();
      expect(await lockStatuses(store, [first.lockId, second.lockId])).to.deep.equal([
        'RELEASED',
        'RELEASED',
      ]);
    });
  });

  describe('two reasons for one version', () => {
    const orders: [LockReleaseReason, LockReleaseReason][] = [
      ['BUILD_FAILED', 'COMPENSATION_RELEASE'],
      ['COMPENSATION_RELEASE', 'BUILD_FAILED'],
    ];
    for (const [first, second] of orders) {
      it(`LCK-18 ${first}, then ${second}: each does what its row of the matrix says, a DONE batch proves nothing`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store);
        const reserved = await makeLocks(store, submit, 2);
        const active = await makeLocks(store, submit, 2, { lock_status: 'ACTIVE' });
        const statuses = async () => [
          ...new Set(await lockStatuses(store, reserved)),
          ...new Set(await lockStatuses(store, active)),
        ];
        const firstCode = await makeRelease(store, submit, first);
        await makeWorker(store).work();
        expect(await statuses()).to.deep.equal([
          'RELEASED',
          first === 'BUILD_FAILED' ? 'ACTIVE' : 'RELEASED',
        ]);
        expect((await readBatch(store, submit.versionId)).status).to.equal('DONE');

        const secondCode = await makeRelease(store, submit, second);
        await makeWorker(store).work();
        expect(await statuses()).to.deep.equal(['RELEASED', 'RELEASED']);
        expect((await readBatch(store, submit.versionId)).status).to.equal('DONE');
        const counts = async (code: string) =>
          ((await readTask(store, code)).result as { releasedCount: number }).releasedCount;
        expect([await counts(firstCode), await counts(secondCode)]).to.deep.equal(
          first === 'BUILD_FAILED' ? [2, 2] : [4, 0],
        );
      });
    }

    it('LCK-18 a lock that came behind a DONE batch is found by the next reason', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_status: 'DONE', last_item_id: '999999999' } });
      const ids = await makeLocks(store, submit, 1);
      await makeRelease(store, submit, 'COMPENSATION_RELEASE');
      await makeWorker(store).work();
      expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED']);
    });

    it('LCK-16 is busy while another task of the version has the batch under way, and goes on when it has ended', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const ids = await makeLocks(store, submit, 2);
      const owner = await makeRelease(store, submit, 'SUBMIT_CANCEL', { status: 1, running_attempt: 4 });
      const { id } = await readTask(store, owner);
      await store.change(
        `UPDATE selection_submit_batch SET batch_status = 'RUNNING', owner_task_id = ?, owner_attempt = 4
          WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'`,
        [id, submit.versionId],
      );
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      const waiting = await readTask(store, code);
      expect(await statusOf(store, code)).to.equal('PENDING');
      expect(waiting.busySince).to.not.equal(null);
      expect(waiting).to.deep.include({ retryCount: 0, errorCode: null });
      expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED', 'RESERVED']);

      await store.change('UPDATE fi_async_task SET status = 4 WHERE id = ?', [id]);
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [code]);
      await makeWorker(store).work();
      expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RELEASED']);
    });

    it('LCK-16 an owner that runs, but under another attempt than the batch names, has let go of it', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const ids = await makeLocks(store, submit, 1);
      const owner = await makeRelease(store, submit, 'SUBMIT_CANCEL', { status: 1, running_attempt: 5 });
      await store.change(
        `UPDATE selection_submit_batch SET batch_status = 'RUNNING', owner_task_id = ?, owner_attempt = 4
          WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'`,
        [(await readTask(store, owner)).id, submit.versionId],
      );
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED']);
    });

    it('LCK-22 a failure leaves the batch alone that another has under way', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const owner = await makeRelease(store, submit, 'SUBMIT_CANCEL', { status: 1, running_attempt: 4 });
      await store.change(
        `UPDATE selection_submit_batch SET batch_status = 'RUNNING', owner_task_id = ?, owner_attempt = 4
          WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'`,
        [(await readTask(store, owner)).id, submit.versionId],
      );
      await store.change('DELETE FROM selection_session WHERE id = ?', [submit.sessionId]);
      const before = await readBatch(store, submit.versionId);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect(await readTask(store, code)).to.deep.include({
        status: 3,
        errorCode: 'RELEASE_CONTEXT_MISSING',
      });
      expect(await readBatch(store, submit.versionId)).to.deep.equal(before);
    });
  });
});
