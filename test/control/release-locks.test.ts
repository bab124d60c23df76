import { expect } from 'chai';
import { type ControlPlane, listAudit, startControlPlane, WorkingWake } from '../support/control-plane.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { readTask, statusOf } from '../support/engine.ts';
import { lockStatuses, makeLocks, makeSubmit } from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';

describe('control: releasing locks', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let wake: WorkingWake;

  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    await forgetTasks(testStore.store);
    await testStore.store.change('DELETE FROM operation_audit');
    wake = new WorkingWake();
    const { engine } = makeWorker(testStore.store, { wake });
    wake.workWith(engine, engine.handlers.get('lock-release')!);
    plane = await startControlPlane({ engine });
  });
  afterEach(async () => {
    await plane.close();
    await wake.settle();
  });

  const ask = (body: unknown) => plane.ask('POST', '/lock-releases', body);
  const run = (body: unknown) => plane.ask('POST', '/tasks/run', body);
  const nothingAccepted = async () => {
    expect(await testStore.store.many('SELECT id FROM fi_async_task')).to.deep.equal([]);
    expect(await listAudit(testStore.store)).to.deep.equal([]);
    expect(wake.kicks).to.deep.equal([]);
  };

  it('LCK-2, LCK-26 answers with the task, kicks it, and keeps who asked why; a repeat gets the task as it stands', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const ids = await makeLocks(store, submit, 2, { lock_status: 'ACTIVE' });
    const body = {
      paymentOrderVersionId: submit.versionId,
      lockReleaseReason: 'COMPENSATION_RELEASE',
      note: 'agreed with finance',
    };
    const first = await ask(body);
    expect(first.status).to.equal(202);
    expect(first.body).to.deep.include({ stage: 'lock-release', partnerOrgId: '7', reused: false });
    await wake.settle();
    expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RELEASED']);
    const again = await ask(body);
    expect(again.status).to.equal(200);
    expect(again.body).to.deep.include({ taskCode: first.body.taskCode, status: 'SUCCESS', reused: true });
    const [audit] = await listAudit(store);
    expect(audit).to.deep.include({
      actor: 'admin-token',
      action: 'LOCK_RELEASE',
      target: `LOCK_RELEASE:${submit.versionId}:COMPENSATION_RELEASE`,
      reason: 'agreed with finance',
    });
  });

  const identities: Record<string, object> = {
    'a rejected review': { lockReleaseReason: 'REVIEW_REJECTED' },
    'a reason that is none': { lockReleaseReason: 'NONE' },
    'no note for a compensation': { lockReleaseReason: 'COMPENSATION_RELEASE' },
    'a blank note for a compensation': { lockReleaseReason: 'COMPENSATION_RELEASE', note: '  ' },
    'no selection where one is needed': { lockReleaseReason: 'PAYMENT_FAIL' },
    'a selection where none is taken': {
      lockReleaseReason: 'BUILD_FAILED',
      selection: { orderBillIds: ['1'] },
    },
    'an id twice': { lockReleaseReason: 'PAYMENT_FAIL', selection: { orderBillIds: ['1', '1'] } },
    'an order bill of somebody else': {
      lockReleaseReason: 'PAYMENT_FAIL',
      selection: { orderBillIds: ['1'] },
    },
  };
  for (const [what, body] of Object.entries(identities)) {
    it(`DEC-27 ${what} is refused with 422`, async () => {
      const { versionId } = await makeSubmit(testStore.store);
      const answer = await ask({ paymentOrderVersionId: versionId, ...body });
      expect([answer.status, answer.body.code]).to.deep.equal([422, 'BAD_RELEASE_IDENTITY']);
      await nothingAccepted();
    });
  }

  it('LCK-3, DEC-27 nothing frees a build that is still running: 409', async () => {
    const { store } = testStore;
    const { versionId } = await makeSubmit(store, { version: { version_build_status: 'BUILDING' } });
    for (const lockReleaseReason of [
      'BUILD_FAILED',
      'SUBMIT_CANCEL',
      'REVISE_FAILED',
      'COMPENSATION_RELEASE',
    ]) {
      const answer = await ask({ paymentOrderVersionId: versionId, lockReleaseReason, note: 'why not' });
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'RELEASE_NOT_IMPLIED']);
    }
    await nothingAccepted();
  });

  const malformed: Record<string, unknown> = {
    'no version': { lockReleaseReason: 'BUILD_FAILED' },
    'a number for a version': { paymentOrderVersionId: 7, lockReleaseReason: 'BUILD_FAILED' },
    'a member that is none': {
      paymentOrderVersionId: '7',
      lockReleaseReason: 'BUILD_FAILED',
      orderBillIds: ['1'],
    },
    'a selection that is none': {
      paymentOrderVersionId: '7',
      lockReleaseReason: 'PAYMENT_FAIL',
      selection: 'ALL',
    },
    'half a document': '{"paymentOrderVersionId": ',
  };
  for (const [what, body] of Object.entries(malformed)) {
    it(`LCK-2 ${what} cannot be read: 400`, async () => {
      expect((await ask(body)).status).to.equal(400);
      await nothingAccepted();
    });
  }

  describe('runs by hand', () => {
    const forms: Record<string, (parameters: object) => object> = {
      plain: (parameters) => ({ stage: 'lock-release', ...parameters }),
      'in data': (parameters) => ({ data: { stage: 'lock-release', ...parameters } }),
      'as JSON text in data': (parameters) => ({
        data: JSON.stringify({ stage: 'lock-release', ...parameters }),
      }),
      'in data, with the stage beside it': (parameters) => ({ stage: 'lock-release', data: parameters }),
    };
    for (const [form, wrap] of Object.entries(forms)) {
      it(`LCK-6, LCK-7, LCK-25 parameters ${form}: runs exactly what they name, and reports each end`, async () => {
        const { store } = testStore;
        const good = await makeSubmit(store);
        const published = await makeSubmit(store, { version: { version_build_status: 'PUBLISHED' } });
        const done = await makeSubmit(store);
        const notNamed = await makeSubmit(store);
        await makeLocks(store, good, 1);
        const codes = [
          await makeRelease(store, good, 'BUILD_FAILED', { status: 3, retry_count: 3, due_in_s: 3600 }),
          await makeRelease(store, published, 'BUILD_FAILED'),
          await makeRelease(store, { versionId: '77777777' }, 'BUILD_FAILED'),
          await makeRelease(store, done, 'BUILD_FAILED', { status: 2 }),
        ];
        const other = await makeRelease(store, notNamed, 'BUILD_FAILED', { due_in_s: 3600 });
        const { status, body } = await run(
          wrap({ taskCodes: codes.slice(1), businessKey: `LOCK_RELEASE:${good.versionId}:BUILD_FAILED` }),
        );
        expect(status).to.equal(200);
        expect(body).to.deep.include({ selected: 4, succeeded: 1, cancelled: 1, failed: 1, skipped: 1 });
        expect(body.items[0].reason).to.contain('1 locks released');
        expect((await readTask(store, codes[0]!)).retryCount).to.equal(3);
        expect(await statusOf(store, other)).to.equal('PENDING');
      });
    }

    const unreadable: Record<string, unknown> = {
      'half a document in data': { stage: 'lock-release', data: '{"taskCode": ' },
      'an empty data': { stage: 'lock-release', data: '' },
      'no object in data': { stage: 'lock-release', data: null },
      'a blank selector in data': { stage: 'lock-release', data: { taskCode: ' ' } },
      'a misspelt selector in data': { stage: 'lock-release', data: '{"taskcode": "x"}' },
      'data in data': { stage: 'lock-release', data: { data: {} } },
      'no stage': { data: {} },
    };
    for (const [what, body] of Object.entries(unreadable)) {
      it(`LCK-7 ${what}: an error, and nothing runs`, async () => {
        const { store } = testStore;
        const code = await makeRelease(store, await makeSubmit(store), 'BUILD_FAILED');
        expect((await run(body)).status).to.equal(400);
        expect(await statusOf(store, code)).to.equal('PENDING');
        expect((await readTask(store, code)).manuallyDue).to.equal(0);
        expect(wake.kicks).to.deep.equal([]);
      });
    }
  });
});
