/**
 * Publishing and what follows it, clause by clause: by which compare-and-set a version and its order's pointer move
 * (PAY-4), how locks are activated and taken over, in which steps, and what is planned to be audited (PAY-5).
 */
import { expect } from 'chai';
import { relabelLocks } from '../../src/store/lock-activation.ts';
import {
  findVersion,
  moveVersionIf,
  setPublishedVersion,
  type VersionRow,
} from '../../src/store/payment-orders.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { holdRows, readTask, untilWaiting } from '../support/engine.ts';
import { makeOrder, makeSubmit, versionStatus } from '../support/payment-factory.ts';
import {
  ask,
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  type PaidRoofs,
  type Payments,
  stateOf,
  submitAll,
} from '../support/payments.ts';

describe('payment: publishing and activating', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());

  const steps = async (times: number) => {
    for (let taken = 0; taken < times; taken++) await world.step('payment-submit', roofs.partnerOrgId);
  };
  const turn = () => world.turn('payment-submit', roofs.partnerOrgId);
  const makeDue = (taskCode: string) =>
    world.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [taskCode]);
  const activationOf = ({ versionId }: OpenSubmit) => `RIPPS:${versionId}:LOCK_ACTIVATE`;
  const auditStatus = async ({ orderId }: OpenSubmit) =>
    (await world.plane.ask('GET', `/payment-orders/${orderId}`)).body.auditStatus;
  /** With `NOWAIT` behind it: whether somebody else has the row. */
  const LOCK_VERSION = 'SELECT id FROM fi_resident_income_payment_order_version WHERE id = ? FOR UPDATE';
  const plans = ({ orderId }: OpenSubmit) =>
    world.store.many(
      `SELECT payment_order_version_id versionId, bill_count bills, amount, status
         FROM fi_resident_income_payment_audit_plan WHERE payment_order_id = ? ORDER BY id`,
      [orderId],
    );

  describe('by compare-and-set', () => {
    const others: Record<string, Partial<VersionRow>> = {
      'of another attempt': { submitAttempt: 2 },
      'of another token': { submitToken: 'another' },
    };
    for (const [what, change] of Object.entries(others))
      it(`PAY-4 a submit ${what} does not publish a version`, async () => {
        const { versionId } = await makeSubmit(world.store, { version: { version_build_status: 'BUILT' } });
        const version = (await findVersion(world.store, versionId))!;
        const move = { from: 'BUILT', to: 'PUBLISHED' } as const;
        expect(await moveVersionIf(world.store, { ...version, ...change }, move)).to.equal(false);
        expect(await versionStatus(world.store, versionId)).to.equal('BUILT');
        expect(await moveVersionIf(world.store, version, move)).to.equal(true);
      });

    for (const status of ['BUILDING', 'BUILD_FAILED', 'CANCELLED', 'PUBLISHED'])
      it(`PAY-4 a version that is ${status} is not published`, async () => {
        const { versionId } = await makeSubmit(world.store, { version: { version_build_status: status } });
        const version = (await findVersion(world.store, versionId))!;
        expect(await moveVersionIf(world.store, version, { from: 'BUILT', to: 'PUBLISHED' })).to.equal(false);
        expect(await versionStatus(world.store, versionId)).to.equal(status);
      });

    const orders: readonly [string, Record<string, string | number>, boolean][] = [
      ['to a later version', { current_publish_version: '2' }, true],
      ['to the first', {}, true],
      ['not to the version where it is', { current_publish_version: '3' }, false],
      ['not back', { current_publish_version: '4' }, false],
      ['not of an order that is VOID', { order_status: 'VOID' }, false],
      ['not of an order that is deleted', { deleted: 1 }, false],
    ];
    for (const [title, columns, moves] of orders)
      it(`PAY-4 the order's pointer moves ${title}`, async () => {
        const orderId = await makeOrder(world.store, columns);
        const moved = await setPublishedVersion(world.store, orderId, '3').then(
          () => true,
          () => false,
        );
        expect(moved).to.equal(moves);
        const { pointer } = await world.store.one<{ pointer: string | null }>(
          'SELECT current_publish_version pointer FROM fi_resident_income_payment_order WHERE id = ?',
          [orderId],
        );
        expect(pointer).to.equal(moves ? '3' : (columns.current_publish_version ?? null));
      });
  });

  it('PAY-4 a version whose order is not open any more is not published, and says so', async () => {
    roofs = await makePaidRoofs(world, { stations: 1 });
    const submit = await submitAll(world, roofs);
    await steps(2);
    expect((await stateOf(world.store, submit)).version).to.equal('BUILT');
    // By no command of ours: those refuse it while a submit is under way.
    await world.store.change(
      "UPDATE fi_resident_income_payment_order SET order_status = 'VOID' WHERE id = ?",
      [submit.orderId],
    );
    await turn();
    expect(await stateOf(world.store, submit)).to.deep.include({
      version: 'BUILD_FAILED',
      failureCode: 'ORDER_NOT_OPEN',
      published: null,
    });
  });

  it('PAY-4 ENG-17 publishing locks its version before all else that others may want', async () => {
    roofs = await makePaidRoofs(world, { stations: 1 });
    const submit = await submitAll(world, roofs);
    await steps(2);
    const held = await holdRows(await world.stages.testStore.openAnother(), LOCK_VERSION, [submit.versionId]);
    const publishing = turn();
    await untilWaiting(world.store);
    await world.store.transaction(NEW_READ_COMMITTED, async (tx) => {
      for (const [table, id] of [
        ['fi_resident_income_payment_order', submit.orderId],
        ['selection_session', submit.sessionId],
      ] as const)
        await tx.one(`SELECT id FROM ${table} WHERE id = ? FOR UPDATE NOWAIT`, [id]);
    });
    expect((await stateOf(world.store, submit)).version).to.equal('BUILT');
    await held.release();
    await publishing;
    expect((await stateOf(world.store, submit)).version).to.equal('PUBLISHED');
  });

  it('PAY-5 a batch activates no more locks than it has bills to do', async () => {
    roofs = await makePaidRoofs(world, { stations: 3 });
    const submit = await submitAll(world, roofs, { batchSize: 1 });
    await steps(5);
    expect(await stateOf(world.store, submit)).to.deep.include({
      version: 'PUBLISHED',
      locks: { RESERVED: 3 },
    });
    await steps(1);
    expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 1, RESERVED: 2 });
    await steps(1);
    expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 2, RESERVED: 1 });
    await turn();
    expect(await stateOf(world.store, submit)).to.deep.include({
      session: 'PUBLISHED',
      locks: { ACTIVE: 3 },
    });
  });

  it('PAY-5 LCK-14 activates the locks of its own submit, whichever others name its version', async () => {
    roofs = await makePaidRoofs(world, { stations: 4 });
    const submit = await submitAll(world, roofs);
    await steps(3);
    const locks = await locksOf(world.store, submit.orderId);
    const LOCK = 'UPDATE fi_resident_income_payment_bill_lock SET';
    for (const [index, column] of ['session_id', 'submit_attempt', 'data_version'].entries())
      await world.store.change(`${LOCK} ${column} = ${column} + 7 WHERE id = ?`, [locks[index]!.id]);
    await turn();
    expect((await locksOf(world.store, submit.orderId)).map((lock) => lock.lockStatus)).to.deep.equal([
      'RESERVED',
      'RESERVED',
      'RESERVED',
      'ACTIVE',
    ]);
  });

  describe('of a REVISE', () => {
    let first: OpenSubmit;
    /** Three bills, of which the first two are in a published order. */
    beforeEach(async () => {
      roofs = await makePaidRoofs(world, { stations: 3 });
      first = await submitAll(world, roofs, { selection: { partnerBillIds: ids([0, 1]) } });
      await world.settle(roofs.partnerOrgId);
    });

    const ids = (indexes: readonly number[]) => indexes.map((index) => roofs.bills[index]!.partnerBillId);
    const revise = (indexes: readonly number[], batchSize?: number) =>
      submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: first.orderId },
        selection: { partnerBillIds: ids(indexes) },
        ...(batchSize === undefined ? {} : { batchSize }),
      });
    /** What makes a lock a version's, for the live locks of these bills, in their order. */
    const labels = (indexes: readonly number[]) =>
      world.store.many(
        `SELECT l.lock_status lockStatus, l.payment_order_version_id versionId, l.session_id sessionId,
                l.submit_attempt submitAttempt, l.submit_token submitToken, l.data_version dataVersion,
                o.payment_order_version_id billOf, o.partner_bill_id = l.partner_bill_id sameBill
           FROM fi_resident_income_payment_bill_lock l
           JOIN fi_resident_income_payment_order_bill o ON o.id = l.order_bill_id
          WHERE l.partner_bill_id IN (?) AND l.lock_status <> 'RELEASED' ORDER BY l.partner_bill_id`,
        [ids(indexes)],
      );
    const labelOf = async ({ versionId }: Pick<OpenSubmit, 'versionId'>) => {
      const version = (await findVersion(world.store, versionId))!;
      return {
        lockStatus: 'ACTIVE',
        versionId,
        sessionId: version.sessionId,
        submitAttempt: version.submitAttempt,
        submitToken: version.submitToken,
        dataVersion: version.targetDataVersion,
        billOf: versionId,
        sameBill: '1',
      };
    };

    it('PAY-4 the order points at the number of the version, which is not its id', async () => {
      const submit = await revise([0, 2]);
      await steps(2);
      expect(await stateOf(world.store, submit)).to.deep.include({ version: 'BUILT', published: '1' });
      await steps(1);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'PUBLISHED',
        session: 'PUBLISHED_LOCK_SYNCING',
        published: '2',
      });
      expect([first.versionId, submit.versionId]).not.to.include('2');
    });

    it('PAY-5 takes kept locks over from the version that was published last, with session, attempt, token and order bill', async () => {
      await revise([0, 1]);
      await world.settle(roofs.partnerOrgId);
      const third = await revise([0, 1, 2]);
      await ask(world, `/tasks/RIPPS:${third.versionId}:BUILD/cancel`, { reason: 'start again' });
      await world.settle(roofs.partnerOrgId);
      const again = await ask(world, `/payment-sessions/${third.sessionId}/submit`);
      await world.settle(roofs.partnerOrgId);
      const label = await labelOf({ versionId: again.paymentOrderVersionId });
      expect(label).to.include({ sessionId: third.sessionId, submitAttempt: 2, dataVersion: '4' });
      expect(await labels([0, 1, 2])).to.deep.equal([label, label, label]);
    });

    it('PAY-5 a batch takes over no more locks than it has bills to do', async () => {
      const submit = await revise([0, 1], 1);
      await steps(4);
      const [before, after] = [await labelOf(first), await labelOf(submit)];
      expect((await stateOf(world.store, submit)).version).to.equal('PUBLISHED');
      expect(await labels([0, 1])).to.deep.equal([before, before]);
      await steps(1);
      expect(await labels([0, 1])).to.deep.equal([after, before]);
      await steps(1);
      expect(await labels([0, 1])).to.deep.equal([after, after]);
    });

    /** In which a kept lock is not the earlier version's any more. */
    const losses: Record<string, string> = {
      'another version’s': 'data_version = 9',
      'another order’s': 'payment_order_id = payment_order_id + 1000000',
      released: "lock_status = 'RELEASED', lock_key = CONCAT(lock_key, ':RELEASED:', id)",
    };
    for (const [what, change] of Object.entries(losses))
      it(`PAY-5 a kept lock that is ${what} by now is not taken over, and the activation says which`, async () => {
        const submit = await revise([0, 1]);
        await steps(3);
        const [lost] = await locksOf(world.store, first.orderId);
        await world.store.change(`UPDATE fi_resident_income_payment_bill_lock SET ${change} WHERE id = ?`, [
          lost!.id,
        ]);
        const read = () =>
          world.store.many(
            'SELECT * FROM fi_resident_income_payment_bill_lock WHERE partner_bill_id IN (?) ORDER BY id',
            [ids([0, 1])],
          );
        const before = await read();
        await turn();
        const task = await readTask(world.store, activationOf(submit));
        expect([task.status, task.errorCode, task.retryCount]).to.deep.equal([3, 'KEPT_LOCK_MISSING', 1]);
        expect(task.errorMessage).to.contain(`platform station ${roofs.bills[0]!.platformStationId}`);
        expect(await read()).to.deep.equal(before);
      });

    it('PAY-5 the statement that takes locks over holds by itself to live ones of the earlier version', async () => {
      const submit = await revise([0, 1]);
      await steps(3);
      const [lock] = await locksOf(world.store, first.orderId);
      const version = (await findVersion(world.store, submit.versionId))!;
      const earlier = (await findVersion(world.store, first.versionId))!;
      const took = (from: VersionRow) =>
        relabelLocks(world.store, version, from, [{ lockId: lock!.id, orderBillId: lock!.orderBillId }]).then(
          () => true,
          () => false,
        );
      const set = (status: string) =>
        world.store.change('UPDATE fi_resident_income_payment_bill_lock SET lock_status = ? WHERE id = ?', [
          status,
          lock!.id,
        ]);
      expect(await took({ ...earlier, targetDataVersion: '9' })).to.equal(false);
      expect(await took({ ...earlier, paymentOrderId: '1' })).to.equal(false);
      await set('RELEASED');
      expect(await took(earlier)).to.equal(false);
      await set('ACTIVE');
      expect(await labels([0])).to.deep.equal([await labelOf(first)]);
      expect(await took(earlier)).to.equal(true);
    });

    it('PAY-5 activation is busy as long as a release of the earlier version waits, runs, or has failed, until it is over', async () => {
      const submit = await revise([0, 1]);
      await steps(3);
      const released = await world.plane.ask('POST', '/lock-releases', {
        paymentOrderVersionId: first.versionId,
        lockReleaseReason: 'COMPENSATION_RELEASE',
        note: 'to be sure',
      });
      expect(released.status).to.equal(202);
      const set = (columns: string) =>
        world.store.changeExactly(
          1,
          'moving a release',
          `UPDATE fi_async_task SET ${columns} WHERE task_code = ?`,
          [released.body.taskCode],
        );
      for (const columns of ['status = 0', 'status = 1', 'status = 3', 'status = 3, retry_count = 3']) {
        await set(columns);
        await makeDue(activationOf(submit));
        await turn();
        const { status, retryCount, busySince } = await readTask(world.store, activationOf(submit));
        expect([status, retryCount, busySince !== null], columns).to.deep.equal([0, 0, true]);
        expect(await labels([0, 1]), columns).to.deep.equal(Array(2).fill(await labelOf(first)));
      }
      await set('status = 4');
      await makeDue(activationOf(submit));
      await turn();
      expect(await labels([0, 1])).to.deep.equal(Array(2).fill(await labelOf(submit)));
    });

    it('PAY-5 ENG-17 activation locks the version published before, then its own', async () => {
      const submit = await revise([0, 1]);
      await steps(3);
      const held = await holdRows(await world.stages.testStore.openAnother(), LOCK_VERSION, [
        first.versionId,
      ]);
      const activation = turn();
      await untilWaiting(world.store);
      await world.store.transaction(NEW_READ_COMMITTED, (tx) =>
        tx.one(`${LOCK_VERSION} NOWAIT`, [submit.versionId]),
      );
      expect(await labels([0, 1])).to.deep.equal(Array(2).fill(await labelOf(first)));
      await held.release();
      await activation;
      expect(await labels([0, 1])).to.deep.equal(Array(2).fill(await labelOf(submit)));
    });

    it('PAY-5 an audit is planned of each published version, with its bills and their sum', async () => {
      expect(await plans(first)).to.deep.equal([
        { versionId: first.versionId, bills: 2, amount: '220.00', status: 'PENDING' },
      ]);
      const submit = await revise([0, 1, 2]);
      await world.settle(roofs.partnerOrgId);
      expect((await plans(first))[1]).to.deep.equal({
        versionId: submit.versionId,
        bills: 3,
        amount: '330.00',
        status: 'PENDING',
      });
    });

    it('PAY-5 what an audit has said of a version says nothing of the one that is published next', async () => {
      await ask(world, `/payment-orders/${first.orderId}/audit-results`, {
        eventId: `rejected-${first.orderId}`,
        paymentOrderVersionId: first.versionId,
        result: 'REJECTED',
      });
      const submit = await revise([0, 1]);
      expect(await auditStatus(first)).to.equal('REJECTED');
      await steps(3);
      expect((await stateOf(world.store, submit)).published).to.equal('2');
      expect(await auditStatus(first)).to.equal(null);
      await turn();
      expect(await auditStatus(first)).to.equal('PENDING');
    });
  });

  it('PAY-5 a plan for a version that was replaced before it was made opens no audit of the order', async () => {
    roofs = await makePaidRoofs(world, { stations: 1 });
    const first = await submitAll(world, roofs);
    await steps(5);
    const plan = `RIPPS:${first.versionId}:AUDIT_PLAN`;
    const later = (taskCode: string) =>
      world.store.changeExactly(
        1,
        'putting a task off',
        'UPDATE fi_async_task SET next_execute_time = NOW(3) + INTERVAL 1 HOUR WHERE task_code = ?',
        [taskCode],
      );
    await later(plan);
    const second = await submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: first.orderId },
    });
    await steps(3);
    expect((await stateOf(world.store, second)).published).to.equal('2');
    await later(activationOf(second));
    await makeDue(plan);
    await turn();
    expect(await plans(first)).to.have.length(1);
    expect(await auditStatus(first)).to.equal(null);
  });
});
