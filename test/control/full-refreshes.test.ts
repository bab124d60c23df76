import { expect } from 'chai';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, openToyStore, readTask, statusOf, type TestEngine } from '../support/engine.ts';
import { makePartner } from '../support/factory.ts';

describe('control: full refreshes', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let worker: TestEngine;
  before(async () => {
    testStore = await openToyStore();
    worker = makeEngine(testStore.store);
    plane = await startControlPlane({ engine: worker.engine });
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    for (const table of ['partner', 'fi_async_task', 'operation_audit'])
      await testStore.store.change(`DELETE FROM ${table}`);
    await makePartner(testStore.store, { partner_org_id: '7' });
    worker.wake.kicks.length = 0;
  });

  const ask = (body: unknown) => plane.ask('POST', '/full-refreshes', body);
  const WISH = { partnerOrgId: '7', cutOffMonth: '2026-03', reason: 'a changed tolerance' };
  const tasks = () =>
    testStore.store.many<{ code: string; data: Record<string, unknown> }>(
      "SELECT task_code code, task_data data FROM fi_async_task WHERE stage = 'account-full' ORDER BY id",
    );

  describe('asked for by an operator', () => {
    it('ACC-14 are a task of their own stage, accepted with the operation audit, and woken', async () => {
      const { status, body } = await ask(WISH);
      expect(status).to.equal(202);
      expect(body).to.deep.include({
        stage: 'account-full',
        taskType: 'RESIDENT_INCOME_PAYMENT_STATUS_BULK_REFRESH',
        status: 'PENDING',
        partnerOrgId: '7',
        pushId: '0',
        cutOffMonth: '2026-03',
        replaced: [],
      });
      expect(body.businessKey).to.include('PARTNER_PAYMENT_CYCLE_FULL_REFRESH|7|').and.to.include('2026-03');
      const [task] = await tasks();
      expect(task!.code).to.equal(body.taskCode);
      expect(task!.data).to.include({
        bulkType: 'PARTNER_PAYMENT_CYCLE_FULL_REFRESH',
        scopeStatusStrategy: 'CUTOFF_CHANGE',
        cutOffMonth: '2026-03',
      });
      expect(worker.wake.kicks).to.deep.equal(['account-full/7']);
      expect(await listAudit(testStore.store)).to.deep.equal([
        {
          actor: 'admin-token',
          action: 'FULL_REFRESH',
          target: '7',
          before: null,
          after: { taskCode: body.taskCode, cutOffMonth: '2026-03', replaced: [] },
          reason: 'a changed tolerance',
        },
      ]);
    });

    it('DIF-14 replace the older one that waits; the reply and the audit name it', async () => {
      const first = (await ask(WISH)).body;
      const second = (await ask(WISH)).body;
      expect(second.taskCode).to.not.equal(first.taskCode);
      expect(second.replaced).to.deep.equal([first.taskCode]);
      expect(await statusOf(testStore.store, first.taskCode)).to.equal('CANCELLED');
      expect((await listAudit(testStore.store)).at(-1)!.after.replaced).to.deep.equal([first.taskCode]);
    });

    for (const [what, body, status, code] of [
      ['without a partner', { cutOffMonth: '2026-03' }, 400, 'MALFORMED_BODY'],
      ['of a partner that is not there', { ...WISH, partnerOrgId: '8' }, 404, 'NO_SUCH_PARTNER'],
      ['up to a month that is none', { ...WISH, cutOffMonth: '2026-13' }, 400, 'MALFORMED_BODY'],
      ['up to a month before all bills', { ...WISH, cutOffMonth: '2009-12' }, 400, 'MALFORMED_BODY'],
      [
        'with half a character in its reason',
        { ...WISH, reason: 'a \ud83d tolerance' },
        400,
        'MALFORMED_BODY',
      ],
      ['with what is not known', { ...WISH, accounts: ['1'] }, 400, 'MALFORMED_BODY'],
    ] as const) {
      it(`ACC-14 not ${what}`, async () => {
        const answer = await ask(body);
        expect([answer.status, answer.body.code]).to.deep.equal([status, code]);
        expect(await tasks()).to.deep.equal([]);
        expect(await listAudit(testStore.store)).to.deep.equal([]);
      });
    }

    it('DIF-6 not of a partner whose payment flow is not decided: the reply says what to do', async () => {
      await makePartner(testStore.store, { partner_org_id: '9', payment_flow: null });
      const { status, body } = await ask({ ...WISH, partnerOrgId: '9' });
      expect([status, body.code]).to.deep.equal([409, 'PAYMENT_FLOW_UNRESOLVED']);
      expect(body.detail).to.include('paymentFlow');
      expect(await tasks()).to.deep.equal([]);
    });
  });

  describe('asked for by a change of the payment flow', () => {
    const change = (body: unknown) => plane.ask('PUT', '/partners/7', body);
    const thisMonth = async () => {
      const row = await testStore.store.one<{ month: string }>(
        "SELECT DATE_FORMAT(NOW(3) + INTERVAL 8 HOUR, '%Y-%m') month",
      );
      return row.month;
    };

    it('DIF-6 each that decides it anew, up to the current month; the next one replaces it', async () => {
      for (const paymentFlow of ['DISABLED', 'ENABLED']) await change({ paymentFlow });
      const [first, second] = await tasks();
      expect(await statusOf(testStore.store, first!.code)).to.equal('CANCELLED');
      expect(await statusOf(testStore.store, second!.code)).to.equal('PENDING');
      expect(second!.data.cutOffMonth).to.equal(await thisMonth());
      const audit = (await listAudit(testStore.store)).filter((row) => row.action === 'FULL_REFRESH');
      expect(audit.map((row) => row.reason)).to.deep.equal([
        'The payment flow is DISABLED, it was ENABLED',
        'The payment flow is ENABLED, it was DISABLED',
      ]);
    });

    it('DIF-6 a decision where there was none asks too; undoing one does not, and leaves what waits', async () => {
      await change({ paymentFlow: 'DISABLED' });
      await change({ paymentFlow: null });
      const [only, ...others] = await tasks();
      expect(others).to.deep.equal([]);
      expect(await statusOf(testStore.store, only!.code)).to.equal('PENDING');
      await change({ paymentFlow: 'DISABLED' });
      expect(await tasks()).to.have.length(2);
    });

    for (const [what, body] of Object.entries({
      'the flow that it has': { paymentFlow: 'ENABLED' },
      'another tolerance': { tolerance: '1.00' },
      'a pause': { paused: true },
    })) {
      it(`DIF-6 ${what} asks for nothing`, async () => {
        await change(body);
        expect(await tasks()).to.deep.equal([]);
        expect((await listAudit(testStore.store)).map((row) => row.action)).to.deep.equal(['PARTNER_CHANGE']);
      });
    }

    it('DIF-6 flow and task are one transaction: where the task cannot be written, the flow stays', async () => {
      const { store } = testStore;
      await store.change(
        `CREATE TRIGGER no_task BEFORE INSERT ON fi_async_task FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'full'`,
      );
      try {
        expect((await change({ paymentFlow: 'DISABLED' })).status).to.be.at.least(500);
      } finally {
        await store.change('DROP TRIGGER no_task');
      }
      expect((await plane.ask('GET', '/partners/7')).body.paymentFlow).to.equal('ENABLED');
      expect(await listAudit(store)).to.deep.equal([]);
      expect(worker.wake.kicks).to.deep.equal([]);
    });
  });

  it('ACC-14 ENG-4 a person can look at it, stop it and cancel it as any task', async () => {
    const { taskCode } = (await ask(WISH)).body;
    expect((await plane.ask('POST', `/tasks/${taskCode}/stop`)).status).to.equal(200);
    expect((await plane.ask('GET', `/tasks/${taskCode}`)).body).to.include({ activation: 'STOPPED' });
    expect((await plane.ask('POST', `/tasks/${taskCode}/cancel`, { reason: 'not needed' })).status).to.equal(
      200,
    );
    expect((await readTask(testStore.store, taskCode)).errorMessage).to.equal('not needed');
  });
});
