import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { dueInMs, readTask, statusOf } from '../support/engine.ts';
import { insertNumberedRow } from '../support/factory.ts';
import {
  lockStatuses,
  type MadeSubmit,
  makeLocks,
  makeRevise,
  makeSubmit,
  readBatch,
} from '../support/payment-factory.ts';
import {
  forgetTasks,
  makeRelease,
  makeReleaseSlots,
  makeWorker,
  type ReleaseWorker,
} from '../support/release-world.ts';

const MINUTE_MS = 60_000;

describe('lock release: failures', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  const dueNow = (code: string) =>
    testStore.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [code]);
  const byHand = (code: string) =>
    testStore.store.change(
      'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE task_code = ?',
      [code],
    );
  const cancelBatch = (versionId: string) =>
    testStore.store.change(
      "UPDATE selection_submit_batch SET batch_status = 'CANCELLED' WHERE payment_order_version_id = ?",
      [versionId],
    );

  it('LCK-22 waits 10, 15, 20 minutes; the third failure is not taken automatically, by hand it is, and its count goes on', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    await makeLocks(store, submit, 1);
    await cancelBatch(submit.versionId);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    for (const [failures, minutes] of [
      [1, 10],
      [2, 15],
      [3, 20],
    ] as const) {
      await dueNow(code);
      await makeWorker(store).work();
      expect(await readTask(store, code)).to.deep.include({ status: 3, retryCount: failures });
      expect(await dueInMs(store, code)).to.be.closeTo(minutes * MINUTE_MS, 5_000);
    }
    await dueNow(code);
    await makeWorker(store).work();
    expect((await readTask(store, code)).runningAttempt).to.equal(3);

    await byHand(code);
    await makeWorker(store).work();
    expect(await readTask(store, code)).to.deep.include({ status: 3, retryCount: 4, runningAttempt: 4 });
    expect(await dueInMs(store, code)).to.be.closeTo(25 * MINUTE_MS, 5_000);

    await store.change(
      "UPDATE selection_submit_batch SET batch_status = 'INIT' WHERE payment_order_version_id = ?",
      [submit.versionId],
    );
    await byHand(code);
    await makeWorker(store).work();
    expect(await readTask(store, code)).to.deep.include({ status: 2, retryCount: 4 });
  });

  it('LCK-28 a CANCELLED batch never runs: an ordinary failure, and it stays CANCELLED', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const ids = await makeLocks(store, submit, 1);
    await cancelBatch(submit.versionId);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store).work();
    expect(await readTask(store, code)).to.deep.include({ status: 3, errorCode: 'RELEASE_BATCH_CANCELLED' });
    expect((await readBatch(store, submit.versionId)).status).to.equal('CANCELLED');
    expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED']);
  });

  for (const status of ['INIT', 'FAILED', 'RUNNING']) {
    it(`LCK-28 a batch that is ${status} and nobody's becomes RUNNING, then DONE`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_status: status, lease_version: 3 } });
      await makeLocks(store, submit, 1);
      await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect(await readBatch(store, submit.versionId)).to.deep.include({ status: 'DONE', leaseVersion: 4 });
    });
  }

  it('LCK-28 the retry columns of a batch schedule nothing: they hold no release up, and a failure sets no time', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, {
      batch: { batch_status: 'FAILED', retry_count: 99, next_retry_time: '2099-01-01' },
    });
    await makeLocks(store, submit, 1);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store).work();
    expect(await statusOf(store, code)).to.equal('SUCCESS');

    const failing = await makeSubmit(store);
    await makeRelease(store, failing, 'BUILD_FAILED');
    await store.change('DELETE FROM selection_session WHERE id = ?', [failing.sessionId]);
    await makeWorker(store).work();
    const retry = await store.one(
      `SELECT batch_status status, retry_count retries, next_retry_time next FROM selection_submit_batch
        WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'`,
      [failing.versionId],
    );
    expect(retry).to.deep.equal({ status: 'FAILED', retries: 1, next: null });
  });

  const missing: Record<string, string> = {
    version: 'DELETE FROM fi_resident_income_payment_order_version WHERE id = ?',
    order: `DELETE o FROM fi_resident_income_payment_order o
              JOIN fi_resident_income_payment_order_version v ON v.payment_order_id = o.id WHERE v.id = ?`,
    session: `DELETE s FROM selection_session s
                JOIN fi_resident_income_payment_order_version v ON v.session_id = s.id WHERE v.id = ?`,
    batch:
      "DELETE FROM selection_submit_batch WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE'",
  };
  for (const [what, statement] of Object.entries(missing)) {
    it(`LCK-12 a missing ${what} is a failure, and nothing is made up`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const ids = await makeLocks(store, submit, 1);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      await store.change(statement, [submit.versionId]);
      await makeWorker(store).work();
      expect(await readTask(store, code)).to.deep.include({
        status: 3,
        retryCount: 1,
        errorCode: 'RELEASE_CONTEXT_MISSING',
      });
      expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED']);
    });
  }

  it('LCK-12 of several batches of the phase the first by number is meant, whatever its id', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_no: 2 } });
    await insertNumberedRow(store, 'selection_submit_batch', {
      payment_order_version_id: submit.versionId,
      session_id: submit.sessionId,
      batch_phase: 'LOCK_RELEASE',
      batch_no: 1,
    });
    await makeLocks(store, submit, 1);
    await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store).work();
    const batches = await store.many(
      `SELECT batch_no, batch_status, processed_count FROM selection_submit_batch
        WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_RELEASE' ORDER BY batch_no`,
      [submit.versionId],
    );
    expect(batches).to.deep.equal([
      { batch_no: 1, batch_status: 'DONE', processed_count: 1 },
      { batch_no: 2, batch_status: 'INIT', processed_count: 0 },
    ]);
  });

  /** Each is wrong in one thing alone, in a task that is that version's otherwise; and what its failure says of it. */
  const right = { lockReleaseReason: 'BUILD_FAILED', taskScene: 'LOCK_RELEASE' };
  const breaches: Record<string, [columns: (versionId: string) => Record<string, string>, fault: string]> = {
    'data that is no object': [() => ({ task_data: '"BUILD_FAILED"' }), 'the data cannot be read'],
    'no version': [() => ({ task_data: JSON.stringify(right) }), 'paymentOrderVersionId is no id'],
    'version 0': [
      () => ({
        task_data: JSON.stringify({ ...right, paymentOrderVersionId: '0' }),
        business_key: 'LOCK_RELEASE:0:BUILD_FAILED',
      }),
      'paymentOrderVersionId is no id',
    ],
    'a reason that is none': [
      (paymentOrderVersionId) => ({
        task_data: JSON.stringify({ ...right, paymentOrderVersionId, lockReleaseReason: 'WHATEVER' }),
        business_key: `LOCK_RELEASE:${paymentOrderVersionId}:WHATEVER`,
      }),
      'the reason is not known',
    ],
    'another scene': [
      (paymentOrderVersionId) => ({
        task_data: JSON.stringify({ ...right, paymentOrderVersionId, taskScene: 'lock_release' }),
      }),
      'the scene is another',
    ],
    'a key of another version': [
      () => ({ business_key: 'LOCK_RELEASE:999999:BUILD_FAILED' }),
      'the business key is not',
    ],
    'a code of another key': [
      () => ({ task_code: 'RIPLR:00000000000000000000000000000000' }),
      'the code is not that of its key',
    ],
  };
  for (const [what, [columnsOf, fault]] of Object.entries(breaches)) {
    it(`LCK-9 ${what}: an ordinary failure, no cancellation, nothing released`, async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const columns = columnsOf(submit.versionId);
      const ids = await makeLocks(store, submit, 1);
      const made = await makeRelease(store, submit, 'BUILD_FAILED', columns);
      const code = columns.task_code ?? made;
      if (columns.task_code !== undefined)
        await store.change('UPDATE fi_async_task SET task_code = ? WHERE task_code = ?', [code, made]);
      await makeWorker(store).work();
      const task = await readTask(store, code);
      expect(task).to.deep.include({ status: 3, retryCount: 1, errorCode: 'BAD_TASK_IDENTITY' });
      expect(task.errorMessage).to.contain(fault);
      expect(await lockStatuses(store, ids)).to.deep.equal(['RESERVED']);
    });
  }

  it('LCK-11 LCK-23 a historical REVIEW_REJECTED is cancelled for good, even if version, batch and locks are gone', async () => {
    const { store } = testStore;
    const due = '2026-01-01 00:00:00.000';
    const code = await makeRelease(store, { versionId: '123456789' }, 'REVIEW_REJECTED', {
      retry_count: 1,
      next_execute_time: due,
    });
    await makeWorker(store).work();
    expect(await statusOf(store, code)).to.equal('CANCELLED');
    expect(await readTask(store, code)).to.deep.include({ retryCount: 3, errorCode: 'REVIEW_REJECTED' });
    const kept = await store.one('SELECT next_execute_time due FROM fi_async_task WHERE task_code = ?', [
      code,
    ]);
    expect(kept, 'the due time is kept').to.deep.equal({ due });
    await byHand(code);
    await makeWorker(store).work();
    expect((await readTask(store, code)).runningAttempt, 'and it never comes back').to.equal(1);
  });

  it('LCK-18 a lock that came behind the cursor fails the count, and the next attempt looks from the start', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 2 } });
    const [behind, ...ids] = await makeLocks(store, submit, 3);
    await store.change(
      `UPDATE fi_resident_income_payment_bill_lock SET lock_status = 'ACTIVE' WHERE id = ?`,
      [behind!],
    );
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store, { limits: { sliceMs: 0 } }).work();
    await store.change(
      `UPDATE fi_resident_income_payment_bill_lock SET lock_status = 'RESERVED' WHERE id = ?`,
      [behind!],
    );
    await makeWorker(store).work();
    expect(await readTask(store, code)).to.deep.include({
      status: 3,
      errorCode: 'LOCKS_LEFT',
      retryCount: 1,
    });
    expect(await readBatch(store, submit.versionId)).to.deep.include({
      status: 'FAILED',
      lastErrorCode: 'LOCKS_LEFT',
    });
    expect(await lockStatuses(store, [behind!, ...ids])).to.deep.equal(['RESERVED', 'RELEASED', 'RELEASED']);

    await dueNow(code);
    await makeWorker(store).work();
    expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 3 });
    expect(await lockStatuses(store, [behind!])).to.deep.equal(['RELEASED']);
  });

  it('LCK-22 the committed batches stay, and the failure of the batch is written beside that of its task', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
    const ids = await makeLocks(store, submit, 3);
    const code = await makeRelease(store, submit, 'BUILD_FAILED');
    await store.change(
      `CREATE TRIGGER refuse_one BEFORE UPDATE ON fi_resident_income_payment_bill_lock FOR EACH ROW
         BEGIN IF NEW.id = ${ids[1]} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'this one breaks'; END IF; END`,
    );
    try {
      await makeWorker(store).work();
    } finally {
      await store.change('DROP TRIGGER refuse_one');
    }
    const task = await readTask(store, code);
    expect(task).to.deep.include({ status: 3, retryCount: 1 });
    expect(task.errorMessage).to.contain('this one breaks');
    expect(task.result).to.deep.include({ cursor: ids[0], releasedCount: 1 });
    expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RESERVED', 'RESERVED']);
    expect(await readBatch(store, submit.versionId)).to.deep.include({
      status: 'FAILED',
      ownerTaskId: task.id,
      ownerAttempt: 1,
      lastItemId: ids[0],
    });
    await dueNow(code);
    await makeWorker(store).work();
    expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 3, batchCount: 3 });
  });

  describe('an error that is about one task', () => {
    /** The database refuses what the condition says of a row of this task. */
    const refusing = async (code: string, condition: string, work: () => Promise<unknown>) => {
      const { store } = testStore;
      await store.change(
        `CREATE TRIGGER refuse_task BEFORE UPDATE ON fi_async_task FOR EACH ROW
           BEGIN IF NEW.task_code = '${code}' AND ${condition} THEN
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'this task breaks'; END IF; END`,
      );
      try {
        await work();
      } finally {
        await store.change('DROP TRIGGER refuse_task');
      }
    };
    /** The middle one of three, in the order in which they are claimed. */
    const makeThree = async () => {
      const { store } = testStore;
      const codes = [];
      for (const due_in_s of [-30, -20, -10]) {
        const submit = await makeSubmit(store);
        await makeLocks(store, submit, 1);
        codes.push(await makeRelease(store, submit, 'BUILD_FAILED', { due_in_s }));
      }
      return codes as [string, string, string];
    };
    const told = (worker: ReleaseWorker) => JSON.stringify(worker.observed.of('trouble').map(String));

    it('LCK-25 an error in claiming concerns that task, is reported, and the run goes on', async () => {
      const { store } = testStore;
      const [first, broken, last] = await makeThree();
      const worker = makeWorker(store);
      await refusing(broken, 'NEW.status = 1', async () => expect(await worker.work()).to.equal('IDLE'));
      for (const code of [first, last]) expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect(await readTask(store, broken)).to.deep.include({
        status: 0,
        runningAttempt: 0,
        retryCount: 0,
        errorCode: 'NOT_CLAIMED',
      });
      expect(await dueInMs(store, broken)).to.be.greaterThan(MINUTE_MS);
      expect(told(worker)).to.contain('this task breaks').and.to.contain(broken);

      await dueNow(broken);
      await makeWorker(store).work();
      expect(await statusOf(store, broken), 'and it goes on where it can be claimed').to.equal('SUCCESS');
    });

    it('LCK-25 an error in writing a failure concerns that task, is reported, and the run goes on', async () => {
      const { store } = testStore;
      const [first, broken, last] = await makeThree();
      await store.change(
        `DELETE b FROM selection_submit_batch b JOIN fi_async_task t
           ON t.task_code = ? AND t.task_data->>'$.paymentOrderVersionId' = b.payment_order_version_id`,
        [broken],
      );
      const worker = makeWorker(store);
      await refusing(broken, 'NEW.status = 3', async () => expect(await worker.work()).to.equal('IDLE'));
      for (const code of [first, last]) expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect(await readTask(store, broken)).to.deep.include({
        status: 0,
        retryCount: 0,
        errorCode: 'NOT_RECORDED',
      });
      expect(told(worker)).to.contain('this task breaks').and.to.contain(broken);

      await dueNow(broken);
      await makeWorker(store).work();
      expect(await readTask(store, broken)).to.deep.include({
        status: 3,
        retryCount: 1,
        errorCode: 'RELEASE_CONTEXT_MISSING',
      });
    });
  });

  describe('on a batch that an earlier reason has brought to DONE', () => {
    /** BUILD_FAILED has released what was RESERVED; the ACTIVE locks are left to another reason. */
    const makeDone = async (active: number) => {
      const { store } = testStore;
      const submit = await makeRevise(store, { session: { status: 'SUBMITTING' } });
      const reserved = await makeLocks(store, submit, 2);
      const ids = active === 0 ? [] : await makeLocks(store, submit, active, { lock_status: 'ACTIVE' });
      await makeRelease(store, submit, 'BUILD_FAILED');
      await makeWorker(store).work();
      expect((await readBatch(store, submit.versionId)).status).to.equal('DONE');
      return { submit, ids, last: ids.at(-1) ?? reserved.at(-1)! };
    };
    const goesOn = async (code: string, submit: MadeSubmit) => {
      await dueNow(code);
      await makeWorker(testStore.store).work();
      expect(await statusOf(testStore.store, code)).to.equal('SUCCESS');
      expect(await readBatch(testStore.store, submit.versionId)).to.deep.include({
        status: 'DONE',
        lastErrorCode: null,
      });
    };

    it('LCK-22 LCK-18 the failure of a later reason is written on it where locks are left', async () => {
      const { store } = testStore;
      const { submit, ids } = await makeDone(2);
      const code = await makeRelease(store, submit, 'COMPENSATION_RELEASE');
      await store.change(
        `CREATE TRIGGER refuse_one BEFORE UPDATE ON fi_resident_income_payment_bill_lock FOR EACH ROW
           BEGIN IF NEW.id = ${ids[1]} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'this one breaks'; END IF; END`,
      );
      try {
        await makeWorker(store).work();
      } finally {
        await store.change('DROP TRIGGER refuse_one');
      }
      const task = await readTask(store, code);
      expect(task).to.deep.include({ status: 3, retryCount: 1 });
      expect(await readBatch(store, submit.versionId)).to.deep.include({
        status: 'FAILED',
        ownerTaskId: task.id,
        ownerAttempt: 1,
        lastErrorCode: task.errorCode,
      });
      await goesOn(code, submit);
    });

    it('LCK-22 LCK-18 a count that finds locks behind the cursor is its failure too', async () => {
      const { store } = testStore;
      const { submit, last } = await makeDone(1);
      const result = JSON.stringify({ cursor: last, releasedCount: 0, batchCount: 0 });
      const code = await makeRelease(store, submit, 'COMPENSATION_RELEASE', { result });
      await makeWorker(store).work();
      expect(await readBatch(store, submit.versionId)).to.deep.include({
        status: 'FAILED',
        lastErrorCode: 'LOCKS_LEFT',
      });
      await goesOn(code, submit);
    });

    it('LCK-22 LCK-18 a failure about something else leaves it DONE where nothing is left', async () => {
      const { store } = testStore;
      const { submit } = await makeDone(0);
      const done = await readBatch(store, submit.versionId);
      const code = await makeRelease(store, submit, 'INVALID_REVISE_SESSION');
      await makeWorker(store).work();
      expect(await readTask(store, code)).to.deep.include({ status: 3, errorCode: 'CLOSEOUT_REFUSED' });
      expect(await readBatch(store, submit.versionId)).to.deep.equal(done);
    });
  });
});
