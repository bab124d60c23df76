import { expect } from 'chai';
import { findInvalidSessions } from '../../src/scheduler/find-invalid-sessions.ts';
import { cancelSessionIfUnchanged } from '../../src/store/session-cleanups.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { dueInMs, holdRows, makeSlots, readTask, statusOf, untilWaiting } from '../support/engine.ts';
import { insertNumberedRow } from '../support/factory.ts';
import {
  type MadeSubmit,
  makeLocks,
  makeRevise,
  PAYMENT_PARTNER,
  readSession,
} from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';

const INVALIDATED = {
  invalidated_flag: 1,
  invalidated_reason: 'INVALID_REVISE_SESSION',
  active_submit_id: null,
};

describe('session clean-up', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
    await makeSlots(testStore.store, 2, PAYMENT_PARTNER, 'payment-submit');
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    await forgetTasks(testStore.store);
    await testStore.store.change('DELETE FROM selection_session');
    await testStore.store.change('DELETE FROM fi_resident_income_payment_async_operation_log');
  });

  const makeInvalid = (session: Record<string, string | number | null> = {}): Promise<MadeSubmit> =>
    makeRevise(testStore.store, {
      version: { version_build_status: 'CANCELLED' },
      session: { ...INVALIDATED, ...session },
    });
  const find = async () => {
    const worker = makeWorker(testStore.store);
    await findInvalidSessions().runOnce(worker.engine);
    return worker;
  };
  const lookAgain = (code: string) =>
    testStore.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [code]);

  it('SES-1 finds an invalidated session, cancels it, and frees its keys', async () => {
    const { store } = testStore;
    const submit = await makeInvalid({ state_version: 9 });
    const worker = await find();
    expect(worker.wake.kicks).to.deep.equal(['session-cleanup/7']);
    await worker.cleanUp();
    expect(await statusOf(store, `RIPSC:${submit.sessionId}`)).to.equal('SUCCESS');
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      status: 'CANCELLED',
      activeReviseKey: null,
      activeScopeKey: null,
      stateVersion: 10,
    });
  });

  it('SES-1 a session that has its clean-up is not found again', async () => {
    await makeInvalid();
    await find();
    expect((await find()).wake.kicks).to.deep.equal([]);
  });

  const notMeant: Record<string, Record<string, string | number | null>> = {
    'that is not a REVISE': { mode: 'NEW' },
    'that is SUBMITTING': { status: 'SUBMITTING' },
    'that is not invalidated': { invalidated_flag: 0 },
    'that was invalidated for another reason': {
      invalidated_reason: 'INVALID_REVISE_SESSION_PUBLISHED_INCIDENT',
    },
    'that still has its submit': { active_submit_id: '5' },
  };
  for (const [what, columns] of Object.entries(notMeant)) {
    it(`SES-1 passes over a session ${what}`, async () => {
      await makeInvalid(columns);
      expect((await find()).wake.kicks).to.deep.equal([]);
    });
  }

  const heldSlot = `UPDATE stage_slot SET holder = 'somebody', lease_end = NOW(3) + INTERVAL 1 HOUR,
    task_ids = (SELECT JSON_ARRAY(CAST(id AS CHAR)) FROM fi_async_task WHERE task_code = ?)
    WHERE stage = ? AND slot_no = 2`;
  const freeSlot = 'UPDATE stage_slot SET holder = NULL, task_ids = NULL WHERE slot_no = 2';

  /** A release task of the session in this state, whose acceptance is over. */
  function release(columns: Record<string, string | number>) {
    return async (submit: MadeSubmit) => {
      const code = await makeRelease(testStore.store, submit, 'BUILD_FAILED', columns);
      return () => testStore.store.change('UPDATE fi_async_task SET status = 4 WHERE task_code = ?', [code]);
    };
  }
  const makeOperation = (submit: MadeSubmit, taskCode: string) =>
    insertNumberedRow(testStore.store, 'fi_resident_income_payment_async_operation_log', {
      event_id: `event of ${taskCode}`,
      operation: 'COMPENSATE',
      target_type: 'PAYMENT_ORDER_VERSION',
      target_id: submit.versionId,
      detail: JSON.stringify({ taskCode }),
    });
  const makeSubmitTask = async (submit: MadeSubmit, columns: Record<string, string | number> = {}) => {
    const code = `RIPPS:${submit.versionId}:AUDIT_PLAN`;
    const id = await insertNumberedRow(testStore.store, 'fi_async_task', {
      task_type: 'RESIDENT_INCOME_PAYMENT_SUBMIT',
      task_code: code,
      business_key: `PAYMENT_SUBMIT:${submit.versionId}:AUDIT_PLAN`,
      task_data: '{}',
      stage: 'payment-submit',
      partner_org_id: '7',
      max_retry_count: 8,
      next_execute_time: '2099-01-01',
      ...columns,
    });
    return { id, code };
  };

  function liveVersion(status: string) {
    return async (submit: MadeSubmit) => {
      const set = (to: string) =>
        testStore.store.change(
          'UPDATE fi_resident_income_payment_order_version SET version_build_status = ? WHERE id = ?',
          [to, submit.versionId],
        );
      await set(status);
      return () => set('CANCELLED');
    };
  }
  function liveLock(status: string) {
    return async (submit: MadeSubmit) => {
      const [id] = await makeLocks(testStore.store, submit, 1);
      const set = (to: string) =>
        testStore.store.change(
          'UPDATE fi_resident_income_payment_bill_lock SET lock_status = ? WHERE id = ?',
          [to, id!],
        );
      await set(status);
      return () => set('RELEASED');
    };
  }

  /** Each puts one thing in the way and says how to take it away again. */
  const obstacles: Record<string, (submit: MadeSubmit) => Promise<() => Promise<unknown>>> = {
    task: async (submit) => {
      const { store } = testStore;
      const code = await makeRelease(store, submit, 'BUILD_FAILED', { due_in_s: 3600 });
      return () => store.change('UPDATE fi_async_task SET status = 2 WHERE task_code = ?', [code]);
    },
    operation: async (submit) => {
      const { store } = testStore;
      const code = await makeRelease(store, submit, 'ORDER_VOID', { status: 3, retry_count: 3 });
      await makeOperation(submit, code);
      return () => store.change('UPDATE fi_async_task SET status = 4 WHERE task_code = ?', [code]);
    },
    version: liveVersion('BUILDING'),
    'version that is BUILT': liveVersion('BUILT'),
    'task that is RUNNING': release({ status: 1 }),
    'task that failed and has attempts left': release({ status: 3, retry_count: 2, due_in_s: 3600 }),
    'task that failed for good and is asked for by hand': release({
      status: 3,
      retry_count: 3,
      manually_due: 1,
    }),
    'task of the submit itself': async (submit) => {
      const { id } = await makeSubmitTask(submit);
      return () => testStore.store.change('UPDATE fi_async_task SET status = 4 WHERE id = ?', [id]);
    },
    'operation whose task is not there': async (submit) => {
      await makeOperation(submit, 'RIPLR:never-made');
      return () => testStore.store.change('DELETE FROM fi_resident_income_payment_async_operation_log');
    },
    batch: async (submit) => {
      const set = (status: string) =>
        testStore.store.change(
          "UPDATE selection_submit_batch SET batch_status = ? WHERE payment_order_version_id = ? AND batch_phase = 'BUILD'",
          [status, submit.versionId],
        );
      await set('RUNNING');
      return () => set('CANCELLED');
    },
    lease: async (submit) => {
      const { store } = testStore;
      const code = await makeRelease(store, submit, 'SUBMIT_CANCEL', { status: 2 });
      await store.change(heldSlot, [code, 'lock-release']);
      return () => store.change(freeSlot);
    },
    'lease of the submit itself': async (submit) => {
      const { store } = testStore;
      const { code } = await makeSubmitTask(submit, { status: 2 });
      await store.change(heldSlot, [code, 'payment-submit']);
      return () => store.change(freeSlot);
    },
    lock: liveLock('RESERVED'),
    'lock that is ACTIVE': liveLock('ACTIVE'),
  };
  for (const [kind, putInTheWay] of Object.entries(obstacles)) {
    it(`SES-1 a session with a ${kind} left stays, says so, is looked at again, and goes when it is gone`, async () => {
      const { store } = testStore;
      const submit = await makeInvalid();
      const takeAway = await putInTheWay(submit);
      const worker = await find();
      await worker.cleanUp();
      const code = `RIPSC:${submit.sessionId}`;
      const waiting = await readTask(store, code);
      expect(waiting).to.deep.include({ status: 0, retryCount: 0, errorCode: 'SESSION_NOT_SAFE' });
      const named = waiting
        .errorMessage!.split('still has: ')[1]!
        .split('; ')
        .map((one) => one.split(' ')[0]);
      expect(named, 'the first word is the kind').to.deep.equal([kind.split(' ')[0]]);
      expect(await dueInMs(store, code)).to.be.within(1_000, 60_000);
      expect(await readSession(store, submit.sessionId)).to.deep.include({
        status: 'SUBMIT_FAILED',
        activeReviseKey: `REVISE:${submit.orderId}`,
      });

      await takeAway();
      await lookAgain(code);
      await worker.cleanUp();
      expect(await statusOf(store, code)).to.equal('SUCCESS');
      expect((await readSession(store, submit.sessionId)).status).to.equal('CANCELLED');
    });
  }

  it('SES-1 a session that changed while it was looked at stays, says so, and is looked at again', async () => {
    const { store } = testStore;
    const submit = await makeInvalid({ state_version: 4 });
    const worker = await find();
    // Changed by another, who has not committed: the clean-up reads the session as it was, and waits to write it.
    const changing = await holdRows(
      await testStore.openAnother(),
      'UPDATE selection_session SET state_version = state_version + 1 WHERE id = ?',
      [submit.sessionId],
    );
    const cleaned = worker.cleanUp();
    await untilWaiting(store);
    await changing.release();
    await cleaned;
    const code = `RIPSC:${submit.sessionId}`;
    expect(await readTask(store, code)).to.deep.include({
      status: 0,
      retryCount: 0,
      errorCode: 'SESSION_CHANGED',
    });
    expect(await dueInMs(store, code)).to.be.within(1_000, 60_000);
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      status: 'SUBMIT_FAILED',
      activeReviseKey: `REVISE:${submit.orderId}`,
      stateVersion: 5,
    });
    await lookAgain(code);
    await worker.cleanUp();
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      status: 'CANCELLED',
      stateVersion: 6,
    });
  });

  for (const [what, columns] of Object.entries(notMeant)) {
    it(`SES-1 a session ${what} by the time of its clean-up stays, says so, and is looked at again`, async () => {
      const { store } = testStore;
      const submit = await makeInvalid();
      const worker = await find();
      const [column, value] = Object.entries(columns)[0]!;
      await store.change(`UPDATE selection_session SET ${column} = ? WHERE id = ?`, [
        value,
        submit.sessionId,
      ]);
      const before = await readSession(store, submit.sessionId);
      await worker.cleanUp();
      const code = `RIPSC:${submit.sessionId}`;
      expect(await readTask(store, code)).to.deep.include({
        status: 0,
        retryCount: 0,
        errorCode: 'SESSION_NOT_INVALIDATED',
      });
      expect(await dueInMs(store, code)).to.be.within(1_000, 60_000);
      expect(await readSession(store, submit.sessionId)).to.deep.equal(before);
    });

    it(`SES-1 the statement that cancels passes over a session ${what}, whatever its state version`, async () => {
      const { store } = testStore;
      const submit = await makeInvalid({ ...columns, state_version: 4 });
      const before = await readSession(store, submit.sessionId);
      expect(await cancelSessionIfUnchanged(store, { id: submit.sessionId, stateVersion: 4 })).to.equal(
        false,
      );
      expect(await readSession(store, submit.sessionId)).to.deep.equal(before);
    });
  }

  it('SES-1 what other sessions have is in nobody’s way', async () => {
    const { store } = testStore;
    const submit = await makeInvalid();
    const other = await makeRevise(store);
    await makeLocks(store, other, 1);
    await makeRelease(store, other, 'BUILD_FAILED', { due_in_s: 3600 });
    const worker = await find();
    await worker.cleanUp();
    expect((await readSession(store, submit.sessionId)).status).to.equal('CANCELLED');
    expect((await readSession(store, other.sessionId)).status).to.equal('SUBMIT_FAILED');
  });

  it('SES-1 the whole way: an invalid REVISE is released, closed out and cleaned up', async () => {
    const { store } = testStore;
    const submit = await makeRevise(store);
    await makeLocks(store, submit, 3);
    await makeRelease(store, submit, 'INVALID_REVISE_SESSION');
    const worker = makeWorker(store);
    await worker.work();
    await worker.cleanUp();
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      status: 'CANCELLED',
      activeReviseKey: null,
      activeSubmitId: null,
    });
  });
});
