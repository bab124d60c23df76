import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { readTask, statusOf } from '../support/engine.ts';
import {
  lockStatuses,
  type MadeSubmit,
  makeLocks,
  makeRevise,
  readBatch,
  readSession,
  type SubmitParts,
  versionStatus,
} from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';

describe('lock release: closing out an invalid REVISE', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  async function release(
    parts: SubmitParts = {},
  ): Promise<{ submit: MadeSubmit; ids: string[]; code: string }> {
    const { store } = testStore;
    const submit = await makeRevise(store, parts);
    const ids = await makeLocks(store, submit, 3);
    const code = await makeRelease(store, submit, 'INVALID_REVISE_SESSION');
    return { submit, ids, code };
  }

  async function expectRefused({ submit, code }: { submit: MadeSubmit; code: string }, errorCode: string) {
    const { store } = testStore;
    expect(await readTask(store, code)).to.deep.include({ status: 3, retryCount: 1, errorCode });
    expect((await readSession(store, submit.sessionId)).activeSubmitId).to.not.equal(null);
    expect((await readBatch(store, submit.versionId, 'BUILD')).status).to.equal('INIT');
  }

  it('LCK-19 cancels phases and version, takes the submit from the session, and leaves status and keys to SES-1', async () => {
    const { store } = testStore;
    const { submit, ids, code } = await release({ session: { state_version: 4 } });
    await store.change(
      "UPDATE selection_submit_batch SET batch_status = 'DONE' WHERE payment_order_version_id = ? AND batch_phase = 'BUILD'",
      [submit.versionId],
    );
    const worker = makeWorker(store);
    await worker.work();
    expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect(new Set(await lockStatuses(store, ids))).to.deep.equal(new Set(['RELEASED']));
    const phases = ['BUILD', 'PUBLISH', 'LOCK_ACTIVATE', 'AUDIT_PLAN', 'LOCK_RELEASE'];
    const batches = [];
    for (const phase of phases) batches.push((await readBatch(store, submit.versionId, phase)).status);
    expect(batches).to.deep.equal(['DONE', 'CANCELLED', 'CANCELLED', 'CANCELLED', 'DONE']);
    const version = await store.one(
      `SELECT version_build_status status, failure_code code, failure_phase phase
         FROM fi_resident_income_payment_order_version WHERE id = ?`,
      [submit.versionId],
    );
    expect(version).to.deep.equal({
      status: 'CANCELLED',
      code: 'INVALID_REVISE_SESSION',
      phase: 'AUTH_REVISE_INVARIANT_RESERVED_RELEASED',
    });
    expect(await readSession(store, submit.sessionId)).to.deep.equal({
      status: 'SUBMIT_FAILED',
      activeSubmitId: null,
      activeReviseKey: `REVISE:${submit.orderId}`,
      activeScopeKey: `7:REVISE:${submit.orderId}`,
      invalidatedFlag: 1,
      invalidatedReason: 'INVALID_REVISE_SESSION',
      failurePhase: 'AUTH_REVISE_INVARIANT_RESERVED_RELEASED',
      stateVersion: 5,
    });
    expect(worker.wake.kicks).to.include('session-cleanup/7');
    expect(await statusOf(store, `RIPSC:${submit.sessionId}`)).to.equal('PENDING');
  });

  it('LCK-19 an ACTIVE lock of the submit refuses before the first batch: nothing is released', async () => {
    const { store } = testStore;
    const made = await release();
    const [active] = await makeLocks(store, made.submit, 1, { lock_status: 'ACTIVE' });
    await makeWorker(store).work();
    await expectRefused(made, 'ACTIVE_LOCKS_LEFT');
    expect(await lockStatuses(store, [...made.ids, active!])).to.deep.equal([
      'RESERVED',
      'RESERVED',
      'RESERVED',
      'ACTIVE',
    ]);
  });

  it('LCK-19 an ACTIVE lock that turns up on the way fails the end; batches committed before stay released', async () => {
    const { store } = testStore;
    const made = await release({ batch: { batch_size: 2 } });
    await makeWorker(store, { limits: { sliceMs: 0 } }).work();
    const [active] = await makeLocks(store, made.submit, 1, { lock_status: 'ACTIVE' });
    await makeWorker(store).work();
    await expectRefused(made, 'ACTIVE_LOCKS_LEFT');
    expect(await lockStatuses(store, [...made.ids, active!])).to.deep.equal([
      'RELEASED',
      'RELEASED',
      'RELEASED',
      'ACTIVE',
    ]);
    expect(await versionStatus(store, made.submit.versionId)).to.equal('BUILD_FAILED');
  });

  const others: Record<string, SubmitParts> = {
    'a REVISE that is valid': { order: { create_user_id: 'user-1' } },
    'a version that is not BUILD_FAILED': { version: { version_build_status: 'CANCELLED' } },
    'a session that is not in SUBMIT_FAILED': { session: { status: 'SUBMITTING' } },
    'a session over another submit': { session: { active_submit_id: '424242' } },
  };
  for (const [what, parts] of Object.entries(others)) {
    it(`LCK-19 ${what} is not closed out`, async () => {
      const made = await release(parts);
      await makeWorker(testStore.store).work();
      await expectRefused(made, 'CLOSEOUT_REFUSED');
      expect(await readTask(testStore.store, made.code)).to.deep.include({ status: 3 });
    });
  }

  const invalid: Record<string, SubmitParts> = {
    'another mode': { session: { mode: 'NEW' }, order: { create_user_id: 'user-1' } },
    'another target': { session: { target_payment_order_id: '999' }, order: { create_user_id: 'user-1' } },
    'another creator': { order: { create_user_id: 'user-2' } },
  };
  for (const [what, parts] of Object.entries(invalid)) {
    it(`LCK-29 ${what} makes a REVISE invalid`, async () => {
      const { code } = await release(parts);
      await makeWorker(testStore.store).work();
      expect(await statusOf(testStore.store, code)).to.equal('SUCCESS');
    });
  }

  it('LCK-19 only this reason closes anything out', async () => {
    const { store } = testStore;
    const submit = await makeRevise(store);
    await makeLocks(store, submit, 1);
    await makeRelease(store, submit, 'BUILD_FAILED');
    await makeWorker(store).work();
    expect(await versionStatus(store, submit.versionId)).to.equal('BUILD_FAILED');
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      activeSubmitId: submit.versionId,
      invalidatedFlag: 0,
    });
  });
});
