import { expect } from 'chai';
import { type LockReleaseReason, needsSelection } from '../../src/domain/lock-release.ts';
import { Failure } from '../../src/errors.ts';
import { acceptLockRelease } from '../../src/payment/accept-lock-release.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { RecordingWake, readTask } from '../support/engine.ts';
import {
  makeBillWithLock,
  makeOvertaken,
  makeRevise,
  makeSubmit,
  type SubmitParts,
} from '../support/payment-factory.ts';
import { accept, forgetTasks } from '../support/release-world.ts';

describe('lock release: acceptance', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    await forgetTasks(testStore.store);
    await testStore.store.change('DELETE FROM fi_resident_income_payment_async_operation_log');
  });

  const audits = () =>
    testStore.store.many<{ detail: { reused: boolean; note: string | null } } & Record<string, unknown>>(
      `SELECT operation, target_type targetType, target_id targetId, from_status fromStatus, to_status toStatus, detail
         FROM fi_resident_income_payment_async_operation_log ORDER BY id`,
    );
  const taskCount = async () =>
    Number((await testStore.store.one<{ c: string }>('SELECT COUNT(*) c FROM fi_async_task')).c);

  it('LCK-1 the task: key, code, type, data, PENDING, three attempts, due now, of the order’s partner', async () => {
    const { store } = testStore;
    const { versionId } = await makeSubmit(store, { order: { partner_org_id: '44' } });
    const code = await accept(store, { paymentOrderVersionId: versionId, lockReleaseReason: 'BUILD_FAILED' });
    expect(code).to.match(/^RIPLR:[0-9a-f]{32}$/);
    const { businessKey, taskType } = await store.one<{ businessKey: string; taskType: string }>(
      'SELECT business_key businessKey, task_type taskType FROM fi_async_task WHERE task_code = ?',
      [code],
    );
    expect([businessKey, taskType]).to.deep.equal([
      `LOCK_RELEASE:${versionId}:BUILD_FAILED`,
      'RESIDENT_INCOME_PAYMENT_LOCK_RELEASE',
    ]);
    expect(await readTask(store, code)).to.deep.include({
      status: 0,
      retryCount: 0,
      maxRetryCount: 3,
      stage: 'lock-release',
      partnerOrgId: '44',
      claimable: 1,
      taskData: {
        paymentOrderVersionId: versionId,
        lockReleaseReason: 'BUILD_FAILED',
        taskScene: 'LOCK_RELEASE',
      },
    });
  });

  it('LCK-2 an existing task is untouched; its reuse is audited and kicked too', async () => {
    const { store } = testStore;
    const { versionId } = await makeSubmit(store);
    const request = { paymentOrderVersionId: versionId, lockReleaseReason: 'BUILD_FAILED' };
    const wake = new RecordingWake();
    const code = await accept(store, request, wake);
    await store.change(
      'UPDATE fi_async_task SET status = 3, retry_count = 3, running_attempt = 5 WHERE task_code = ?',
      [code],
    );
    const before = await readTask(store, code);
    expect(await accept(store, request, wake)).to.equal(code);
    expect(await readTask(store, code)).to.deep.equal(before);
    expect(wake.kicks).to.deep.equal(['lock-release/7', 'lock-release/7']);
    const told = await audits();
    expect(told.map((row) => row.detail.reused)).to.deep.equal([false, true]);
    expect(told[0]).to.deep.include({
      operation: 'COMPENSATE',
      targetType: 'PAYMENT_ORDER_VERSION',
      targetId: versionId,
      fromStatus: 'RELEASE_REQUIRED',
      toStatus: 'LOCK_RELEASE_PENDING',
    });
  });

  it('LCK-2, LCK-3 an existing task is found again whatever has become of its version', async () => {
    const { store } = testStore;
    const { versionId, sessionId } = await makeRevise(store);
    const request = { paymentOrderVersionId: versionId, lockReleaseReason: 'INVALID_REVISE_SESSION' };
    const code = await accept(store, request);
    await store.change(
      "UPDATE fi_resident_income_payment_order_version SET version_build_status = 'CANCELLED' WHERE id = ?",
      [versionId],
    );
    await store.change('UPDATE selection_session SET active_submit_id = NULL WHERE id = ?', [sessionId]);
    expect(await accept(store, request)).to.equal(code);
  });

  it('LCK-2 the same event is audited once', async () => {
    const { store } = testStore;
    const { versionId } = await makeSubmit(store);
    const request = {
      paymentOrderVersionId: versionId,
      lockReleaseReason: 'BUILD_FAILED',
      eventId: 'event-1',
    };
    await accept(store, request);
    await accept(store, request);
    await accept(store, { ...request, eventId: 'event-2' });
    expect(await audits()).to.have.length(2);
  });

  it('LCK-26 a producer that is rolled back leaves no task, no audit, and kicks nothing', async () => {
    const { store } = testStore;
    const { versionId } = await makeSubmit(store);
    const wake = new RecordingWake();
    const producer = store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const request = { paymentOrderVersionId: versionId, lockReleaseReason: 'BUILD_FAILED', actor: 'test' };
      await acceptLockRelease(tx, request, wake);
      expect(wake.kicks).to.deep.equal([]);
      throw new Error('rolled back');
    });
    expect(await Promise.allSettled([producer])).to.have.nested.property('[0].status', 'rejected');
    expect([await taskCount(), (await audits()).length, wake.kicks.length]).to.deep.equal([0, 0, 0]);
  });

  async function refusal(work: Promise<unknown>): Promise<string> {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(Failure);
    expect((error as Failure).retryable).to.equal(false);
    expect(await taskCount()).to.equal(0);
    return (error as Failure).code;
  }

  describe('identity', () => {
    const bad: Record<string, { lockReleaseReason: string; paymentOrderVersionId?: string }> = {
      REVIEW_REJECTED: { lockReleaseReason: 'REVIEW_REJECTED' },
      'a reason that is none': { lockReleaseReason: 'BUILD_FAILURE' },
      'a version that is no id': { lockReleaseReason: 'BUILD_FAILED', paymentOrderVersionId: '0' },
      'a version that is not there': {
        lockReleaseReason: 'BUILD_FAILED',
        paymentOrderVersionId: '987654321',
      },
      'a compensation without a note': { lockReleaseReason: 'COMPENSATION_RELEASE' },
    };
    for (const [what, request] of Object.entries(bad)) {
      it(`LCK-2, DEC-27 refuses ${what}`, async () => {
        const { versionId } = await makeSubmit(testStore.store);
        expect(
          await refusal(accept(testStore.store, { paymentOrderVersionId: versionId, ...request })),
        ).to.equal('BAD_RELEASE_IDENTITY');
      });
    }

    it('LCK-4 an order bill of another version is refused', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store);
      const other = await makeBillWithLock(store, await makeSubmit(store));
      const request = {
        paymentOrderVersionId: submit.versionId,
        lockReleaseReason: 'PAYMENT_SUCCESS',
        selection: { orderBillIds: [other.orderBillId] },
      };
      expect(await refusal(accept(store, request))).to.equal('BAD_RELEASE_IDENTITY');
    });

    it('LCK-4 a selection is part of the identity, in whatever order its ids come; the ids are in the data', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { version: { version_build_status: 'PUBLISHED' } });
      const ids = [];
      for (let made = 0; made < 3; made++) ids.push((await makeBillWithLock(store, submit)).orderBillId);
      const request = { paymentOrderVersionId: submit.versionId, lockReleaseReason: 'PAYMENT_SUCCESS' };
      const pick = (...some: string[]) => accept(store, { ...request, selection: { orderBillIds: some } });
      const first = await pick(ids[0]!, ids[1]!);
      expect(await pick(ids[1]!, ids[0]!)).to.equal(first);
      expect(await pick(ids[1]!, ids[2]!)).to.not.equal(first);
      expect(await accept(store, { ...request, selection: 'WHOLE_SUBMISSION' })).to.not.equal(first);
      expect((await readTask(store, first)).taskData).to.deep.include({ orderBillIds: [ids[0], ids[1]] });
    });
  });

  describe('the state that a reason implies', () => {
    const version = (version_build_status: string, more = {}): SubmitParts => ({
      version: { version_build_status, ...more },
    });
    const states: [LockReleaseReason, Record<string, SubmitParts>, Record<string, SubmitParts>][] = [
      [
        'BUILD_FAILED',
        { BUILD_FAILED: version('BUILD_FAILED') },
        { BUILDING: version('BUILDING'), BUILT: version('BUILT'), CANCELLED: version('CANCELLED') },
      ],
      [
        'REVISE_FAILED',
        { BUILD_FAILED: version('BUILD_FAILED') },
        { BUILDING: version('BUILDING'), BUILT: version('BUILT'), PUBLISHED: version('PUBLISHED') },
      ],
      [
        'SUBMIT_CANCEL',
        { 'CANCELLED by a cancel': version('CANCELLED') },
        {
          BUILDING: version('BUILDING'),
          'closed out': version('CANCELLED', { failure_code: 'INVALID_REVISE_SESSION' }),
        },
      ],
      ['ORDER_VOID', { 'order VOID': { order: { order_status: 'VOID' } } }, { 'order OPEN': {} }],
      [
        'RESUBMIT_REFRESH',
        {},
        { 'none published': {}, 'itself published': { order: { current_publish_version: '1' } } },
      ],
      [
        'REVISE_REMOVED',
        {},
        { 'none published': {}, 'itself published': { order: { current_publish_version: '1' } } },
      ],
      [
        'COMPENSATION_RELEASE',
        { PUBLISHED: version('PUBLISHED'), CANCELLED: version('CANCELLED') },
        { BUILDING: version('BUILDING'), BUILT: version('BUILT') },
      ],
    ];
    const requestOf = (reason: LockReleaseReason, versionId: string) => ({
      paymentOrderVersionId: versionId,
      lockReleaseReason: reason,
      note: 'as agreed with finance',
      ...(needsSelection(reason) ? { selection: 'WHOLE_SUBMISSION' as const } : {}),
    });
    for (const [reason, fitting, others] of states) {
      for (const [state, parts] of Object.entries(fitting)) {
        it(`LCK-3 ${reason} is accepted where: ${state}`, async () => {
          const { versionId } = await makeSubmit(testStore.store, parts);
          await accept(testStore.store, requestOf(reason, versionId));
          expect(await taskCount()).to.equal(1);
        });
      }
      for (const [state, parts] of Object.entries(others)) {
        it(`LCK-3 ${reason} is refused where: ${state}`, async () => {
          const { versionId } = await makeSubmit(testStore.store, parts);
          expect(await refusal(accept(testStore.store, requestOf(reason, versionId)))).to.equal(
            'RELEASE_NOT_IMPLIED',
          );
        });
      }
    }

    for (const reason of ['RESUBMIT_REFRESH', 'REVISE_REMOVED'] as const) {
      it(`LCK-3 ${reason} is accepted where a later version is published and has activated its locks`, async () => {
        const { versionId } = await makeOvertaken(testStore.store, 'DONE');
        await accept(testStore.store, requestOf(reason, versionId));
        expect(await taskCount()).to.equal(1);
      });
      // Until then the later version's kept locks still bear this one's label, and would go with it.
      for (const activation of ['INIT', 'RUNNING', 'FAILED'])
        it(`LCK-3 ${reason} is refused where the later version's activation is ${activation}`, async () => {
          const { versionId } = await makeOvertaken(testStore.store, activation);
          expect(await refusal(accept(testStore.store, requestOf(reason, versionId)))).to.equal(
            'RELEASE_NOT_IMPLIED',
          );
        });
      it(`LCK-3 ${reason} is refused for the later version, whose locks are in force`, async () => {
        const { orderId } = await makeOvertaken(testStore.store, 'DONE');
        const { versionId } = await testStore.store.one<{ versionId: string }>(
          `SELECT id versionId FROM fi_resident_income_payment_order_version
            WHERE payment_order_id = ? AND target_data_version = 2`,
          [orderId],
        );
        expect(await refusal(accept(testStore.store, requestOf(reason, versionId)))).to.equal(
          'RELEASE_NOT_IMPLIED',
        );
      });
    }

    const invalidRevise = (versionId: string) => ({
      paymentOrderVersionId: versionId,
      lockReleaseReason: 'INVALID_REVISE_SESSION',
    });
    const invalid: Record<string, SubmitParts> = {
      'was opened by another than the order’s creator': {},
      'is of another mode': { session: { mode: 'NEW' }, order: { create_user_id: 'user-1' } },
      'is for another order': {
        session: { target_payment_order_id: '999' },
        order: { create_user_id: 'user-1' },
      },
    };
    for (const [what, parts] of Object.entries(invalid))
      it(`LCK-3, LCK-29, DEC-27 INVALID_REVISE_SESSION is accepted where the failed session over a published version ${what}`, async () => {
        const { versionId } = await makeRevise(testStore.store, parts);
        await accept(testStore.store, invalidRevise(versionId));
        expect(await taskCount()).to.equal(1);
      });
    const notInvalid: Record<string, SubmitParts> = {
      'a valid REVISE': { order: { create_user_id: 'user-1' } },
      'a version that is still building': version('BUILDING'),
      'a version that was closed out': version('CANCELLED'),
      'an order without a published version': { order: { current_publish_version: null } },
      'a version that is itself the published one': { order: { current_publish_version: '2' } },
      'an order whose published version came later': { order: { current_publish_version: '3' } },
      'a session that is over': { session: { status: 'CANCELLED' } },
      'a session whose submit is under way': { session: { status: 'SUBMITTING' } },
      'a session over another submit': { session: { active_submit_id: '424242' } },
      'a session without a submit': { session: { active_submit_id: null } },
    };
    for (const [what, parts] of Object.entries(notInvalid)) {
      it(`LCK-3, LCK-19, DEC-27 INVALID_REVISE_SESSION is refused for ${what}`, async () => {
        const { versionId } = await makeRevise(testStore.store, parts);
        expect(await refusal(accept(testStore.store, invalidRevise(versionId)))).to.equal(
          'RELEASE_NOT_IMPLIED',
        );
      });
    }

    it('DEC-27 INVALID_REVISE_SESSION is refused for the first submit of a NEW order, even once its second is published', async () => {
      const { store } = testStore;
      const first = await makeSubmit(store);
      expect(await refusal(accept(store, invalidRevise(first.versionId)))).to.equal('RELEASE_NOT_IMPLIED');
      await store.change(
        'UPDATE fi_resident_income_payment_order SET current_publish_version = 2 WHERE id = ?',
        [first.orderId],
      );
      expect(await refusal(accept(store, invalidRevise(first.versionId)))).to.equal('RELEASE_NOT_IMPLIED');
    });
  });
});
