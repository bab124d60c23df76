/** Revising an order: what is kept, what is new, what is removed; and a REVISE that may not speak for its order (PAY-1, PAY-3, PAY-5, LCK-29). */
import { expect } from 'chai';
import { readTask } from '../support/engine.ts';
import {
  ask,
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  openSession,
  type PaidRoofs,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

const CREATOR = 'lin';

describe('payment: revising an order', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  let first: OpenSubmit;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  /** Three bills, of which the first two are in a published order. */
  beforeEach(async () => {
    roofs = await makePaidRoofs(world, { stations: 3 });
    first = await submitAll(world, roofs, {
      session: { creatorUserId: CREATOR },
      selection: { partnerBillIds: ids([0, 1]) },
    });
    await world.settle(roofs.partnerOrgId);
  });

  const ids = (indexes: readonly number[]) => indexes.map((index) => roofs.bills[index]!.partnerBillId);
  const revise = (selection: object, batchSize?: number) =>
    submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: first.orderId, creatorUserId: CREATOR },
      selection,
      ...(batchSize === undefined ? {} : { batchSize }),
    });
  const bills = async (versionId: string) =>
    (
      await world.plane.ask(
        'GET',
        `/payment-orders/${first.orderId}/bills?paymentOrderVersionId=${versionId}`,
      )
    ).body.items;
  const locks = () => locksOf(world.store, first.orderId);

  it('PAY-3 PAY-5 keeps what it has, reserves what is new, releases what is removed', async () => {
    const submit = await revise({ partnerBillIds: ids([1, 2]) });
    await world.turn('payment-submit', roofs.partnerOrgId);
    const [removed, kept, added] = await locks();
    expect(removed).to.include({ lockStatus: 'ACTIVE', versionId: first.versionId, dataVersion: '1' });
    expect(kept).to.include({ lockStatus: 'ACTIVE', versionId: submit.versionId, dataVersion: '2' });
    expect(added).to.include({ lockStatus: 'ACTIVE', versionId: submit.versionId, dataVersion: '2' });
    const items = await bills(submit.versionId);
    expect(items.map((item: { kept: boolean }) => item.kept).sort()).to.deep.equal([false, true]);
    expect(items.map((item: { orderBillId: string }) => item.orderBillId)).to.include(kept?.orderBillId);
    expect((await stateOf(world.store, first)).releases).to.deep.equal({ REVISE_REMOVED: 0 });
    await world.settle(roofs.partnerOrgId);
    expect((await locks())[0]).to.include({ lockStatus: 'RELEASED', releaseReason: 'REVISE_REMOVED' });
    expect(await stateOf(world.store, submit)).to.deep.include({
      session: 'PUBLISHED',
      version: 'PUBLISHED',
      published: '2',
      locks: { ACTIVE: 2, RELEASED: 1 },
    });
  });

  it('PAY-5 the selection of REVISE_REMOVED names the order bills of the earlier version', async () => {
    await revise({ partnerBillIds: ids([1]) });
    await world.turn('payment-submit', roofs.partnerOrgId);
    const [removed] = await locks();
    const { taskData } = await world.store.one<{ taskData: object }>(
      "SELECT task_data taskData FROM fi_async_task WHERE stage = 'lock-release' AND partner_org_id = ?",
      [roofs.partnerOrgId],
    );
    expect(taskData).to.deep.equal({
      paymentOrderVersionId: first.versionId,
      lockReleaseReason: 'REVISE_REMOVED',
      taskScene: 'LOCK_RELEASE',
      orderBillIds: [removed?.orderBillId],
    });
  });

  it('PAY-5 nothing removed, nothing released; batches of one bill come to the same', async () => {
    const submit = await revise({ partnerBillIds: ids([0, 1, 2]) }, 1);
    await world.settle(roofs.partnerOrgId);
    expect(await stateOf(world.store, submit)).to.deep.include({
      session: 'PUBLISHED',
      locks: { ACTIVE: 3 },
    });
    expect((await stateOf(world.store, first)).releases).to.deep.equal({});
    expect(new Set((await locks()).map((lock) => lock.versionId))).to.deep.equal(new Set([submit.versionId]));
  });

  it('PAY-3 the amount of a kept bill stays as it was frozen', async () => {
    await world.store.change('UPDATE fi_customer_bill_partner SET freeze_amount = 50 WHERE id = ?', ids([0]));
    const submit = await revise({ partnerBillIds: ids([0, 2]) });
    await world.settle(roofs.partnerOrgId);
    const items: { partnerBillId: string; amount: string }[] = await bills(submit.versionId);
    expect(items.find((item) => item.partnerBillId === ids([0])[0])?.amount).to.equal('110.00');
  });

  /** Built in a batch and an end, published; not activated. */
  const publishOnly = async () => {
    for (let step = 0; step < 3; step++) await world.step('payment-submit', roofs.partnerOrgId);
  };
  const release = (versionId: string, lockReleaseReason: string, more: object = {}) =>
    world.plane.ask('POST', '/lock-releases', {
      paymentOrderVersionId: versionId,
      lockReleaseReason,
      ...more,
    });

  it('PAY-5 activation is busy while a release of an earlier version is unfinished', async () => {
    const given = await revise({ partnerBillIds: ids([0]) });
    await ask(world, `/payment-sessions/${given.sessionId}/cancel`);
    await world.settle(roofs.partnerOrgId);
    const submit = await revise({ partnerBillIds: ids([1, 2]) });
    await publishOnly();
    expect((await stateOf(world.store, submit)).version).to.equal('PUBLISHED');
    const asked = await release(given.versionId, 'COMPENSATION_RELEASE', { note: 'once more, to be sure' });
    expect(asked.status).to.equal(202);
    await world.turn('payment-submit', roofs.partnerOrgId);
    const waiting = await readTask(world.store, `RIPPS:${submit.versionId}:LOCK_ACTIVATE`);
    expect([waiting.status, waiting.retryCount, waiting.busySince !== null]).to.deep.equal([0, 0, true]);
    expect((await locks())[1]?.versionId, 'kept locks bear the earlier label').to.equal(first.versionId);
    await world.turn('lock-release', roofs.partnerOrgId);
    await world.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE id = ?', [
      waiting.id,
    ]);
    await world.turn('payment-submit', roofs.partnerOrgId);
    expect((await stateOf(world.store, submit)).session).to.equal('PUBLISHED');
  });

  it('LCK-3 PAY-5 until a revision has activated its locks, nothing of the version before it may be asked for', async () => {
    const submit = await revise({ partnerBillIds: ids([1, 2]) });
    await publishOnly();
    const [removed, kept] = await locks();
    const askAll = async () => [
      (await release(first.versionId, 'RESUBMIT_REFRESH')).status,
      (await release(first.versionId, 'REVISE_REMOVED', { selection: 'WHOLE_SUBMISSION' })).status,
      (
        await release(first.versionId, 'REVISE_REMOVED', {
          selection: { orderBillIds: [kept!.orderBillId] },
        })
      ).status,
    ];
    expect(await askAll()).to.deep.equal([409, 409, 409]);
    await world.settle(roofs.partnerOrgId);
    expect(await stateOf(world.store, submit)).to.deep.include({ session: 'PUBLISHED' });
    expect((await locks())[0]).to.include({ id: removed!.id, releaseReason: 'REVISE_REMOVED' });
    expect(await askAll()).to.deep.equal([202, 202, 202]);
    await world.settle(roofs.partnerOrgId);
    expect((await locks())[1], 'it is the revision’s by now').to.include({
      id: kept!.id,
      lockStatus: 'ACTIVE',
      versionId: submit.versionId,
    });
  });

  describe('an invalid one', () => {
    const handOver = () => ask(world, `/payment-orders/${first.orderId}/creator`, { creatorUserId: 'wang' });

    it('PAY-1 LCK-29 is refused at submit', async () => {
      const session = await openSession(world, roofs, {
        mode: 'REVISE',
        paymentOrderId: first.orderId,
        creatorUserId: CREATOR,
      });
      await ask(world, `/payment-sessions/${session.id}/bills`, { partnerBillIds: ids([0]) });
      await handOver();
      const { status, body } = await world.plane.ask('POST', `/payment-sessions/${session.id}/submit`);
      expect([status, body.code]).to.deep.equal([409, 'NOT_THE_CREATOR']);
    });

    for (const [title, steps] of [
      ['before its build', 0],
      ['between two batches of its build', 1],
      ['between build and publish', 3],
    ] as const)
      it(`LCK-3 LCK-29 that becomes so ${title} fails, is released, closed out and cleaned up`, async () => {
        const submit = await revise({ partnerBillIds: ids([0, 2]) }, 1);
        for (let step = 0; step < steps; step++) await world.step('payment-submit', roofs.partnerOrgId);
        await handOver();
        await world.turn('payment-submit', roofs.partnerOrgId);
        expect(await stateOf(world.store, submit)).to.deep.include({
          session: 'SUBMIT_FAILED',
          version: 'BUILD_FAILED',
          failureCode: 'INVALID_REVISE_SESSION',
          releases: { INVALID_REVISE_SESSION: 0 },
          published: '1',
        });
        const phase = steps < 3 ? 'BUILD' : 'PUBLISH';
        const task = await readTask(world.store, `RIPPS:${submit.versionId}:${phase}`);
        expect([task.status, task.errorCode]).to.deep.equal([4, 'INVALID_REVISE_SESSION']);
        await world.settle(roofs.partnerOrgId);
        const state = await stateOf(world.store, submit);
        expect([state.version, state.session]).to.deep.equal(['CANCELLED', 'CANCELLED']);
        expect((await locks()).slice(0, 2).map((lock) => lock.lockStatus)).to.deep.equal([
          'ACTIVE',
          'ACTIVE',
        ]);
      });

    it('PAY-7 LCK-29 a session that was handed over cannot be cancelled by hand once it has failed, nor when it is closed out', async () => {
      const submit = await revise({ partnerBillIds: ids([0]) });
      await handOver();
      const cancelled = async () => {
        const { status, body } = await world.plane.ask(
          'POST',
          `/payment-sessions/${submit.sessionId}/cancel`,
        );
        return [status, body.code];
      };
      await world.turn('payment-submit', roofs.partnerOrgId);
      expect(await cancelled()).to.deep.equal([409, 'SESSION_INVALIDATED']);
      await world.turn('lock-release', roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'CANCELLED',
        session: 'SUBMIT_FAILED',
      });
      expect(await cancelled()).to.deep.equal([409, 'SESSION_INVALIDATED']);
    });
  });
});
