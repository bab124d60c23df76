import { expect } from 'chai';
import { lockContext } from '../../actors/lock-release/context.ts';
import { progressOf } from '../../actors/lock-release/progress.ts';
import { releaseNextBatch } from '../../actors/lock-release/release-batch.ts';
import {
  type LockReleaseReason,
  readIdentity,
  stopsAtPublishBoundary,
} from '../../src/domain/lock-release.ts';
import { listNextLockIds, releaseRange } from '../../src/store/lock-releases.ts';
import { lockRunningTasks } from '../../src/store/running-tasks.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { readTask, statusOf } from '../support/engine.ts';
import {
  lockStatuses,
  type MadeSubmit,
  makeLocks,
  makeRevise,
  makeSubmit,
  readBatch,
  readSession,
} from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';

const FAILURES: LockReleaseReason[] = [
  'BUILD_FAILED',
  'INVALID_REVISE_SESSION',
  'SUBMIT_CANCEL',
  'REVISE_FAILED',
];

/** The two ways in which a version may be published, each without the other. */
const PUBLISHED = {
  'the version says PUBLISHED': { version: { version_build_status: 'PUBLISHED' } },
  'the order points at it': { order: { current_publish_version: '1' } },
};

describe('lock release: the publish boundary', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  for (const [how, parts] of Object.entries(PUBLISHED)) {
    for (const reason of FAILURES) {
      it(`LCK-13 ${reason} is cancelled for good where ${how}, and nothing is touched`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store, parts);
        const ids = await makeLocks(store, submit, 2);
        const code = await makeRelease(store, submit, reason);
        await makeWorker(store).work();
        const task = await readTask(store, code);
        expect(await statusOf(store, code)).to.equal('CANCELLED');
        expect(task).to.deep.include({ errorCode: 'PUBLISHED', retryCount: 3, maxRetryCount: 3 });
        expect(task.nextExecuteTime).to.not.equal(null);
        expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED', 'RESERVED']);
        expect(await readBatch(store, submit.versionId)).to.deep.include({ status: 'INIT', leaseVersion: 0 });
      });
    }
  }

  it('LCK-13 the reasons that speak of a published version are not stopped by it', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, PUBLISHED['the version says PUBLISHED']);
    const ids = await makeLocks(store, submit, 2, { lock_status: 'ACTIVE' });
    await makeRelease(store, submit, 'ORDER_VOID');
    await makeWorker(store).work();
    expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RELEASED']);
  });

  describe('each of its three places alone holds', () => {
    /** A task that this test runs itself, and what it would work on, read while the version was not published yet. */
    async function readBeforePublishing(): Promise<{ submit: MadeSubmit; ids: string[]; code: string }> {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const ids = await makeLocks(store, submit, 3);
      const code = await makeRelease(store, submit, 'BUILD_FAILED', { status: 1, running_attempt: 1 });
      return { submit, ids, code };
    }

    const publishNow = async (tx: Transaction, submit: MadeSubmit, how: keyof typeof PUBLISHED) => {
      if (how === 'the version says PUBLISHED')
        await tx.change(
          "UPDATE fi_resident_income_payment_order_version SET version_build_status = 'PUBLISHED' WHERE id = ?",
          [submit.versionId],
        );
      else
        await tx.change(
          'UPDATE fi_resident_income_payment_order SET current_publish_version = 1 WHERE id = ?',
          [submit.orderId],
        );
    };

    const contextOf = async (tx: Transaction, code: string) => {
      const { id } = await readTask(tx, code);
      const [task] = (await lockRunningTasks(tx, [{ id, runningAttempt: 1 }])) as [TaskRow];
      const read = readIdentity(task);
      if ('fault' in read) throw new Error(read.fault);
      expect(stopsAtPublishBoundary(read.identity.lockReleaseReason)).to.equal(true);
      return { task, context: await lockContext(tx, read.identity) };
    };

    for (const how of Object.keys(PUBLISHED) as (keyof typeof PUBLISHED)[]) {
      it(`LCK-13 the check before anything comes first: not even whose the batch is is asked, where ${how}`, async () => {
        const { store } = testStore;
        const { submit, ids, code } = await readBeforePublishing();
        await store.change('UPDATE fi_async_task SET status = 0 WHERE task_code = ?', [code]);
        // Another release has the batch under way: without the first check this one would wait for it.
        const owner = await makeRelease(store, submit, 'ORDER_VOID', { status: 1, running_attempt: 1 });
        await store.change(
          `UPDATE selection_submit_batch SET batch_status = 'RUNNING', owner_task_id = ?, owner_attempt = 1
            WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'`,
          [(await readTask(store, owner)).id, submit.versionId],
        );
        await store.transaction(NEW_READ_COMMITTED, (tx) => publishNow(tx, submit, how));
        await makeWorker(store).work();
        expect(await statusOf(store, code)).to.equal('CANCELLED');
        expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED', 'RESERVED', 'RESERVED']);
      });

      it(`LCK-13 the release of a batch: what was read before is not believed, where ${how}`, async () => {
        const { store } = testStore;
        const { submit, ids, code } = await readBeforePublishing();
        const outcome = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
          const { task, context } = await contextOf(tx, code);
          await publishNow(tx, submit, how);
          return releaseNextBatch(tx, task, context, progressOf(task));
        });
        expect(outcome).to.deep.equal({ kind: 'published' });
        expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED', 'RESERVED', 'RESERVED']);
        expect((await readBatch(store, submit.versionId)).status).to.equal('INIT');
      });

      it(`LCK-13 the UPDATE itself hits no row, where ${how}`, async () => {
        const { store } = testStore;
        const { submit, ids, code } = await readBeforePublishing();
        const released = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
          const { context } = await contextOf(tx, code);
          expect(await listNextLockIds(tx, context.scope, '0', 10)).to.deep.equal(ids);
          await publishNow(tx, submit, how);
          const range = { after: '0', upTo: ids.at(-1)! };
          return releaseRange(tx, context.scope, range, { reason: 'BUILD_FAILED', boundary: true });
        });
        expect(released).to.equal(0);
        expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED', 'RESERVED', 'RESERVED']);
      });
    }

    it('LCK-13 the UPDATE also needs the order not to be deleted', async () => {
      const { store } = testStore;
      const { submit, ids, code } = await readBeforePublishing();
      await store.change('UPDATE fi_resident_income_payment_order SET deleted = 1 WHERE id = ?', [
        submit.orderId,
      ]);
      const released = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
        const { context } = await contextOf(tx, code);
        const range = { after: '0', upTo: ids.at(-1)! };
        return releaseRange(tx, context.scope, range, { reason: 'BUILD_FAILED', boundary: true });
      });
      expect(released).to.equal(0);
    });
  });

  for (const [reason, freed] of [
    ['BUILD_FAILED', false],
    ['COMPENSATION_RELEASE', true],
  ] as const)
    it(`LCK-13 of an order that is deleted ${reason} releases ${freed ? 'all' : 'nothing: each batch gives the boundary to its UPDATE'}`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { order: { deleted: 1 } });
      const ids = await makeLocks(store, submit, 2);
      const code = await makeRelease(store, submit, reason);
      await makeWorker(store).work();
      expect(new Set(await lockStatuses(store, ids))).to.deep.equal(
        new Set([freed ? 'RELEASED' : 'RESERVED']),
      );
      expect(await statusOf(store, code)).to.equal(freed ? 'SUCCESS' : 'FAILED');
    });

  it('LCK-13 published after some batches: cancelled with the counts, and what is left stays', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 2 } });
    const ids = await makeLocks(store, submit, 4);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    // The slice ends after the first batch.
    await makeWorker(store, { limits: { sliceMs: 0 } }).work();
    expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 2 });
    await store.change(
      "UPDATE fi_resident_income_payment_order_version SET version_build_status = 'PUBLISHED' WHERE id = ?",
      [submit.versionId],
    );
    await makeWorker(store).work();
    const task = await readTask(store, code);
    expect(await statusOf(store, code)).to.equal('CANCELLED');
    expect(task.errorCode).to.equal('PUBLISHED_AFTER_RELEASE');
    expect(task.errorMessage).to.contain('2 locks released in 1 batches');
    expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RELEASED', 'RESERVED', 'RESERVED']);
    expect((await readBatch(store, submit.versionId)).status).to.equal('FAILED');
  });

  describe('the publish incident', () => {
    const publishRevise = (submit: MadeSubmit, pointer: string, versionBuildStatus = 'PUBLISHED') =>
      testStore.store.transaction(NEW_READ_COMMITTED, async (tx) => {
        await tx.change(
          'UPDATE fi_resident_income_payment_order_version SET version_build_status = ? WHERE id = ?',
          [versionBuildStatus, submit.versionId],
        );
        await tx.change(
          'UPDATE fi_resident_income_payment_order SET current_publish_version = ? WHERE id = ?',
          [pointer, submit.orderId],
        );
      });

    for (const reason of FAILURES) {
      for (const status of ['SUBMITTING', 'SUBMIT_FAILED', 'PUBLISHING', 'PUBLISHED']) {
        const moves = status !== 'PUBLISHED';
        it(`LCK-20 ${reason} of a REVISE refused at the boundary marks its ${status} session`, async () => {
          const { store } = testStore;
          const submit = await makeRevise(store, { session: { status, state_version: 7 } });
          await publishRevise(submit, '2');
          await makeRelease(store, submit, reason);
          await makeWorker(store).work();
          expect(await readSession(store, submit.sessionId)).to.deep.equal({
            status: moves ? 'PUBLISHED_LOCK_SYNCING' : status,
            activeSubmitId: submit.versionId,
            activeReviseKey: `REVISE:${submit.orderId}`,
            activeScopeKey: `7:REVISE:${submit.orderId}`,
            invalidatedFlag: 1,
            invalidatedReason: 'INVALID_REVISE_SESSION_PUBLISHED_INCIDENT',
            failurePhase: 'AUTH_REVISE_INVARIANT_LOCK_RELEASE_AFTER_PUBLISH_REJECTED',
            stateVersion: 8,
          });
          const { pointer } = await store.one<{ pointer: string }>(
            'SELECT current_publish_version pointer FROM fi_resident_income_payment_order WHERE id = ?',
            [submit.orderId],
          );
          expect(pointer).to.equal('2');
        });
      }
    }

    for (const [what, versionBuildStatus, pointer] of [
      ['the version says', 'PUBLISHED', '1'],
      ['the order says', 'BUILD_FAILED', '2'],
    ] as const)
      it(`LCK-20 the session is marked, but not moved on, where only ${what} that it is published`, async () => {
        const { store } = testStore;
        const submit = await makeRevise(store);
        await publishRevise(submit, pointer, versionBuildStatus);
        await makeRelease(store, submit, 'BUILD_FAILED');
        await makeWorker(store).work();
        expect(await readSession(store, submit.sessionId)).to.deep.include({
          status: 'SUBMIT_FAILED',
          invalidatedFlag: 1,
        });
      });

    it('LCK-20 the mark is a sign of life: heartbeat and update time are now', async () => {
      const { store } = testStore;
      const submit = await makeRevise(store);
      await publishRevise(submit, '2');
      await store.change(
        "UPDATE selection_session SET heartbeat_time = '2026-01-01', update_time = '2026-01-01'",
      );
      await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      const now = await store.one(
        `SELECT heartbeat_time > '2026-01-02' beats, update_time > '2026-01-02' touched FROM selection_session WHERE id = ?`,
        [submit.sessionId],
      );
      expect(now).to.deep.equal({ beats: '1', touched: '1' });
    });

    it('LCK-20 a NEW session is not marked', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, PUBLISHED['the version says PUBLISHED']);
      await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect(await readSession(store, submit.sessionId)).to.deep.include({
        status: 'SUBMIT_FAILED',
        invalidatedFlag: 0,
        stateVersion: 0,
      });
    });
  });
});
