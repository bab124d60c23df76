/** LCK-3 over the control plane: a reason that speaks of results needs one of each bill that it would release. */
import { expect } from 'chai';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { RecordingWake } from '../support/engine.ts';
import {
  type MadeSubmit,
  makeBillWithLock,
  makeEvent,
  makeFact,
  makeSubmit,
} from '../support/payment-factory.ts';
import { forgetTasks, makeWorker } from '../support/release-world.ts';

describe('control: what a release rests on', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let wake: RecordingWake;
  let submit: MadeSubmit;
  /** Two order bills of 100.00 each, with ACTIVE locks of the published version. */
  let bills: readonly [string, string];

  before(async () => {
    testStore = await openTestStore();
    wake = new RecordingWake();
    plane = await startControlPlane({ engine: makeWorker(testStore.store, { wake }).engine });
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    const { store } = testStore;
    await forgetTasks(store);
    await store.change('DELETE FROM operation_audit');
    wake.kicks.length = 0;
    submit = await makeSubmit(store, { version: { version_build_status: 'PUBLISHED' } });
    const make = () => makeBillWithLock(store, submit, { lock: { lock_status: 'ACTIVE' } });
    bills = [(await make()).orderBillId, (await make()).orderBillId];
  });

  const ask = (lockReleaseReason: string, selection: readonly string[] | 'WHOLE_SUBMISSION') =>
    plane.ask('POST', '/lock-releases', {
      paymentOrderVersionId: submit.versionId,
      lockReleaseReason,
      selection: selection === 'WHOLE_SUBMISSION' ? selection : { orderBillIds: selection },
    });
  type Asked = Parameters<typeof ask>;
  const expectAccepted = async (...asked: Asked) => expect((await ask(...asked)).status).to.equal(202);
  const expectRefused = async (...asked: Asked) => {
    const before = (await testStore.store.many('SELECT id FROM fi_async_task')).length;
    const kicked = wake.kicks.length;
    const audited = (await listAudit(testStore.store)).length;
    const { status, body } = await ask(...asked);
    expect([status, body.code]).to.deep.equal([409, 'RELEASE_NOT_IMPLIED']);
    expect(await testStore.store.many('SELECT id FROM fi_async_task')).to.have.length(before);
    expect(await listAudit(testStore.store)).to.have.length(audited);
    expect(wake.kicks).to.have.length(kicked);
  };

  /** As the paying side's results are kept (`test/payment/payment-results.test.ts` compares the two). */
  const result = async (orderBillId: string, outcome: string, amount: string | null, reason?: string) => {
    const answer = { outcome, orderBillId, ...(reason === undefined ? {} : { lockReleaseReason: reason }) };
    const eventId = await makeEvent(testStore.store, submit, 'PAYMENT_RESULT', answer);
    if (amount !== null) await makeFact(testStore.store, orderBillId, eventId, amount);
  };
  const RESULTS = {
    PAYMENT_SUCCESS: (bill: string) => result(bill, 'PAID', '100.00', 'PAYMENT_SUCCESS'),
    PARTIAL_PAYMENT: (bill: string) => result(bill, 'PAID', '40.00', 'PARTIAL_PAYMENT'),
    PAYMENT_FAIL: (bill: string) => result(bill, 'FAILED', null, 'PAYMENT_FAIL'),
  } as const;

  for (const [found, happen] of Object.entries(RESULTS)) {
    for (const reason of Object.keys(RESULTS)) {
      const fits = found === reason;
      it(`LCK-3 ${reason} is ${fits ? 'accepted' : 'refused'} where the result was ${found}`, async () => {
        await happen(bills[0]);
        await (fits ? expectAccepted : expectRefused)(reason, [bills[0]]);
      });
    }

    it(`LCK-3 ${found} is refused as long as one of its bills has no such result`, async () => {
      await expectRefused(found, bills);
      await happen(bills[0]);
      await expectRefused(found, bills);
      await expectRefused(found, [bills[1]]);
      await expectRefused(found, 'WHOLE_SUBMISSION');
      await happen(bills[1]);
      await expectAccepted(found, bills);
      await expectAccepted(found, 'WHOLE_SUBMISSION');
    });

    it(`LCK-3 ${found} of an order bill of another version is not this one's`, async () => {
      const { store } = testStore;
      const earlier = await makeSubmit(store, {
        orderId: submit.orderId,
        version: { target_data_version: '2', version_build_status: 'PUBLISHED' },
      });
      await happen((await makeBillWithLock(store, earlier)).orderBillId);
      await expectRefused(found, [bills[0]]);
    });
  }

  it('LCK-3 a payment that was taken back is no failed payment, and none any more', async () => {
    await RESULTS.PAYMENT_SUCCESS(bills[0]);
    await result(bills[0], 'REVERSED', '-100.00');
    await RESULTS.PARTIAL_PAYMENT(bills[1]);
    await result(bills[1], 'REVERSED', '-40.00');
    for (const reason of Object.keys(RESULTS)) for (const bill of bills) await expectRefused(reason, [bill]);
  });

  it('LCK-3 of several results of a bill the last says what it is released for', async () => {
    await RESULTS.PAYMENT_FAIL(bills[0]);
    await RESULTS.PARTIAL_PAYMENT(bills[0]);
    await expectRefused('PAYMENT_FAIL', [bills[0]]);
    await expectAccepted('PARTIAL_PAYMENT', [bills[0]]);
    await RESULTS.PARTIAL_PAYMENT(bills[1]);
    await RESULTS.PAYMENT_FAIL(bills[1]);
    await expectRefused('PARTIAL_PAYMENT', [bills[1]]);
    await expectAccepted('PAYMENT_FAIL', [bills[1]]);
  });

  it('LCK-3 a bill that is paid in full is not released for a failure', async () => {
    await RESULTS.PAYMENT_SUCCESS(bills[0]);
    await RESULTS.PAYMENT_FAIL(bills[0]);
    await expectRefused('PAYMENT_FAIL', [bills[0]]);
  });

  describe('an audit', () => {
    const UNQUALIFIED = 'REVIEW_APPROVED_UNQUALIFIED';
    const audit = (answer: object) =>
      makeEvent(testStore.store, submit, 'AUDIT_RESULT', {
        paymentOrderId: submit.orderId,
        paymentOrderVersionId: submit.versionId,
        result: 'APPROVED',
        ...answer,
      });

    it('LCK-3 DEC-14 that approved and found these bills unqualified: each of them, and no other', async () => {
      await expectRefused(UNQUALIFIED, [bills[0]]);
      await audit({ unqualifiedOrderBillIds: [bills[0]] });
      await expectAccepted(UNQUALIFIED, [bills[0]]);
      await expectRefused(UNQUALIFIED, [bills[1]]);
      await expectRefused(UNQUALIFIED, bills);
      await expectRefused(UNQUALIFIED, 'WHOLE_SUBMISSION');
    });

    it('LCK-3 DEC-14 that found all bills unqualified releases the whole submission', async () => {
      await audit({ unqualifiedOrderBillIds: bills });
      await expectAccepted(UNQUALIFIED, bills);
      await expectAccepted(UNQUALIFIED, 'WHOLE_SUBMISSION');
    });

    const others: Record<string, () => object> = {
      'approved and found none': () => ({ unqualifiedOrderBillIds: [] }),
      rejected: () => ({ result: 'REJECTED', unqualifiedOrderBillIds: bills }),
      'was of another version': () => ({ paymentOrderVersionId: '424242', unqualifiedOrderBillIds: bills }),
    };
    for (const [what, answer] of Object.entries(others))
      it(`LCK-3 DEC-14 that ${what} is none`, async () => {
        await audit(answer());
        await expectRefused(UNQUALIFIED, [bills[0]]);
        await expectRefused(UNQUALIFIED, 'WHOLE_SUBMISSION');
      });

    it('LCK-3 DEC-14 a failed payment is none', async () => {
      await RESULTS.PAYMENT_FAIL(bills[0]);
      await expectRefused(UNQUALIFIED, [bills[0]]);
    });
  });
});
