/**
 * Two at once, in a forced order: one is stopped just before its commit, the other is seen to wait for it (ENG-16, PAY-3,
 * PAY-4, PAY-7, STA-9). Never a published version without its locks, never a lock without a submit.
 */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { cancelPaymentSession } from '../../src/payment/cancel-session.ts';
import { handOverOrder } from '../../src/payment/hand-over-order.ts';
import { submitSession } from '../../src/payment/start-submit.ts';
import { voidOrder } from '../../src/payment/void-order.ts';
import {
  NEW_READ_COMMITTED,
  type Store,
  type Transaction,
  type TransactionOptions,
} from '../../src/store/transaction.ts';
import { holdRows, readTask, type Signal, signal, untilWaiting } from '../support/engine.ts';
import { versionStatus } from '../support/payment-factory.ts';
import {
  ask,
  JANUARY,
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
import { makeRelease } from '../support/release-world.ts';
import { acceptPush, bill, claim, unclaim, workDirectly } from '../support/stages.ts';

describe('payment: two at once', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  let submit: OpenSubmit;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    roofs = await makePaidRoofs(world);
    submit = await submitAll(world, roofs);
  });

  const steps = async (times: number) => {
    for (let taken = 0; taken < times; taken++) await world.step('payment-submit', roofs.partnerOrgId);
  };
  const command = { actor: 'test', reason: null };
  const cancel = (store: Store = world.store) =>
    cancelPaymentSession(store, submit.sessionId, command, world.wake);
  /** Whatever comes of it. */
  const codeOf = (done: Promise<unknown>) =>
    done.then(() => 'done').catch((error) => error.code ?? error.name);

  interface Stopped {
    /** Lets it commit, and waits until it has. */
    readonly go: () => Promise<void>;
  }

  /** A stage's work, done and not committed. */
  async function stopWork(stage: StageName): Promise<Stopped> {
    const claimed = await claim({ ...world.stages, engine: world.engine }, stage, roofs.partnerOrgId);
    const gate: Signal = signal();
    const reached: Signal = signal();
    const done = workDirectly(world.store, world.engine.handlers.get(stage)!, claimed, {
      beforeCommit: async () => {
        reached.give();
        await gate.given;
      },
    });
    await Promise.race([reached.given, done]);
    return {
      go: async () => {
        gate.give();
        const { endings } = await done;
        await unclaim(world.store, claimed);
        const ended = [...endings].flatMap(([id, ending]) => (ending.kind === 'continues' ? [] : [id]));
        if (ended.length > 0)
          await world.store.change('UPDATE fi_async_task SET status = 2 WHERE id IN (?)', [ended]);
      },
    };
  }

  /** A command, done and not committed. */
  async function stopCommand(run: (store: Store) => Promise<void>): Promise<Stopped> {
    const gate: Signal = signal();
    const reached: Signal = signal();
    const transaction = (options: TransactionOptions, work: (tx: Transaction) => Promise<unknown>) =>
      world.store.transaction(options, async (tx) => {
        const result = await work(tx);
        reached.give();
        await gate.given;
        return result;
      });
    const done = run({ transaction } as unknown as Store);
    await Promise.race([reached.given, done]);
    return {
      go: async () => {
        gate.give();
        await done;
      },
    };
  }

  /** Starts the second while the first is stopped, sees it wait, lets the first go. */
  async function inOrder<T>(first: Stopped, second: () => Promise<T>): Promise<T> {
    const waiting = second();
    await untilWaiting(world.store);
    await first.go();
    return waiting;
  }

  for (const [what, column] of [
    ['token', "submit_token = 'another'"],
    ['attempt', 'submit_attempt = submit_attempt + 1'],
  ] as const)
    it(`PAY-3 PAY-4 a build whose version carries another ${what} by now reserves nothing`, async () => {
      await world.store.changeExactly(
        1,
        'another submit of the version',
        `UPDATE fi_resident_income_payment_order_version SET ${column} WHERE id = ?`,
        [submit.versionId],
      );
      await world.settle(roofs.partnerOrgId);
      const { status, errorCode } = await readTask(world.store, `RIPPS:${submit.versionId}:BUILD`);
      expect([status, errorCode]).to.deep.equal([4, 'SUBMIT_GIVEN_UP']);
      expect(await locksOf(world.store, submit.orderId)).to.deep.equal([]);
      // The version itself is still under way: it is given up, as an operator would.
      await cancel();
      await world.settle(roofs.partnerOrgId);
    });

  describe('a cancel and a build', () => {
    it('PAY-3 PAY-7 the build first: its batch is released with the rest', async () => {
      const first = await stopWork('payment-submit');
      await inOrder(first, cancel);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'CANCELLED',
        session: 'CANCELLED',
        locks: { RESERVED: 2 },
      });
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ RELEASED: 2 });
    });

    it('PAY-3 PAY-7 the cancel first: the build reserves nothing', async () => {
      const first = await stopCommand(cancel);
      await inOrder(first, () => world.turn('payment-submit', roofs.partnerOrgId));
      expect(await stateOf(world.store, submit)).to.deep.include({ version: 'CANCELLED', locks: {} });
      const task = await readTask(world.store, `RIPPS:${submit.versionId}:BUILD`);
      expect([task.status, task.errorCode]).to.deep.equal([4, 'SUBMIT_GIVEN_UP']);
    });
  });

  describe('a submit and a cancel', () => {
    const openAgain = async () => {
      const session = await openSession(world, roofs);
      await ask(world, `/payment-sessions/${session.id}/bills`);
      return session.id as string;
    };
    const versionsOf = (sessionId: string) =>
      world.store.many<{ id: string }>(
        'SELECT id FROM fi_resident_income_payment_order_version WHERE session_id = ?',
        [sessionId],
      );
    const submitting = (sessionId: string) => (store: Store) =>
      submitSession(store, sessionId, 'test', world.wake).then(() => undefined);

    it('PAY-2 PAY-7 the submit first: the cancel is put off; then it gives the version up, too', async () => {
      const sessionId = await openAgain();
      const first = await stopCommand(submitting(sessionId));
      const cancelIt = () => cancelPaymentSession(world.store, sessionId, command, world.wake);
      expect(await inOrder(first, () => codeOf(cancelIt()))).to.equal('BusyError');
      await cancelIt();
      const [version, ...others] = await versionsOf(sessionId);
      expect(others).to.deep.equal([]);
      expect(await versionStatus(world.store, version!.id)).to.equal('CANCELLED');
    });

    it('PAY-2 PAY-7 the cancel first: there is nothing to submit any more', async () => {
      const sessionId = await openAgain();
      const first = await stopCommand((store) => cancelPaymentSession(store, sessionId, command, world.wake));
      expect(await inOrder(first, () => codeOf(submitting(sessionId)(world.store)))).to.equal(
        'SESSION_NOT_OPEN',
      );
      expect(await versionsOf(sessionId)).to.deep.equal([]);
    });
  });

  it('ENG-17 PAY-7 a cancel locks the version, then its session, as a build does', async () => {
    const held = await holdRows(
      await world.stages.testStore.openAnother(),
      'SELECT id FROM fi_resident_income_payment_order_version WHERE id = ? FOR UPDATE',
      [submit.versionId],
    );
    const cancelled = cancel();
    await untilWaiting(world.store);
    await world.store.transaction(NEW_READ_COMMITTED, (tx) =>
      tx.one('SELECT id FROM selection_session WHERE id = ? FOR UPDATE NOWAIT', [submit.sessionId]),
    );
    await held.release();
    await cancelled;
    expect((await stateOf(world.store, submit)).session).to.equal('CANCELLED');
  });

  describe('a publish and a cancel', () => {
    beforeEach(() => steps(2));

    it('PAY-4 PAY-7 the publish first: it stays published, with its locks', async () => {
      const first = await stopWork('payment-submit');
      expect(await inOrder(first, () => codeOf(cancel()))).to.equal('ALREADY_PUBLISHED');
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'PUBLISHED',
        session: 'PUBLISHED',
        locks: { ACTIVE: 2 },
        releases: {},
      });
    });

    it('PAY-4 PAY-7 the cancel first: it is never published', async () => {
      const first = await stopCommand(cancel);
      await inOrder(first, () => world.turn('payment-submit', roofs.partnerOrgId));
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'CANCELLED',
        published: null,
        locks: { RELEASED: 2 },
      });
    });
  });

  describe('a publish and a release of the same version', () => {
    beforeEach(async () => {
      await steps(2);
      // By no producer of ours: a failure's release of a version that is BUILT.
      await makeRelease(world.store, submit, 'BUILD_FAILED', { partner_org_id: roofs.partnerOrgId });
    });

    it('PAY-4 LCK-13 the publish first: nothing of it is released', async () => {
      const first = await stopWork('payment-submit');
      await inOrder(first, () => world.turn('lock-release', roofs.partnerOrgId));
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'PUBLISHED',
        published: '1',
        locks: { RESERVED: 2 },
        releases: { BUILD_FAILED: 4 },
      });
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 2 });
    });

    it('PAY-4 LCK-16 the release first: the publish counts again and fails', async () => {
      const first = await stopWork('lock-release');
      await inOrder(first, () => world.turn('payment-submit', roofs.partnerOrgId));
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'BUILD_FAILED',
        failureCode: 'RESERVED_LOCK_INCOMPLETE',
        published: null,
        locks: { RELEASED: 2 },
      });
    });
  });

  describe('a reservation and a station that commits', () => {
    beforeEach(async () => {
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY, { rent: '90.00' })] },
      ]);
    });
    /** So that the work under way does not speak before the locks do. */
    const hidePush = () => world.store.change('UPDATE pushed_row_place SET place = 6 WHERE place = 3');
    const showPush = () => world.store.change('UPDATE pushed_row_place SET place = 3 WHERE place = 6');

    it('STA-9 PAY-3 the station first: a reservation cannot slip in between its second check and its commit', async () => {
      const first = await stopWork('bill-station');
      await inOrder(first, () => world.step('payment-submit', roofs.partnerOrgId));
      const [lock, ...others] = await locksOf(world.store, submit.orderId);
      expect(others).to.deep.equal([]);
      expect(lock?.lockKey).to.equal(`${roofs.bills[1]!.platformStationId}:${JANUARY}`);
    });

    it('STA-9 PAY-3 the reservation first: the station finds the lock and writes nothing', async () => {
      await hidePush();
      const first = await stopWork('payment-submit');
      await showPush();
      await inOrder(first, () => world.turn('bill-station', roofs.partnerOrgId));
      const rents = await world.store.many<{ rent: string }>(
        'SELECT rent FROM fi_customer_bill_partner WHERE id = ?',
        [roofs.bills[0]!.partnerBillId],
      );
      expect(rents).to.deep.equal([{ rent: '120.00' }]);
      const task = await world.store.one<{ errorCode: string }>(
        "SELECT error_code errorCode FROM fi_async_task WHERE stage = 'bill-station' AND partner_org_id = ? ORDER BY id DESC LIMIT 1",
        [roofs.partnerOrgId],
      );
      expect(task.errorCode).to.equal('PAYMENT_LOCKED');
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ RESERVED: 2 });
    });
  });

  describe('two submits for the same bills', () => {
    it('PAY-3 DEC-12 the second waits at the guards, then names the first', async () => {
      const other = await submitAll(world, roofs);
      const first = await stopWork('payment-submit');
      await inOrder(first, () => world.turn('payment-submit', roofs.partnerOrgId, 2));
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 2 });
      expect(await stateOf(world.store, other)).to.deep.include({
        version: 'BUILD_FAILED',
        failureCode: 'NOTHING_TO_PAY',
        locks: {},
      });
      const { body } = await world.plane.ask('GET', `/payment-sessions/${other.sessionId}`);
      expect(body.selection.dropped).to.deep.equal([
        { reason: `LOCKED_BY_ORDER:${submit.orderId}`, bills: 2 },
      ]);
    });
  });

  describe('a second attempt and the release of the first', () => {
    it('PAY-3 the build waits until its order has let go of the bills, and counts no failure', async () => {
      await steps(1);
      const code = `RIPPS:${submit.versionId}:BUILD`;
      await ask(world, `/tasks/${code}/cancel`, { reason: 'start again' });
      const again = await ask(world, `/payment-sessions/${submit.sessionId}/submit`);
      await world.turn('payment-submit', roofs.partnerOrgId);
      const waiting = await readTask(world.store, again.taskCode);
      expect([waiting.status, waiting.retryCount, waiting.busySince !== null]).to.deep.equal([0, 0, true]);
      await world.turn('lock-release', roofs.partnerOrgId);
      await world.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE id = ?', [
        waiting.id,
      ]);
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 2, RELEASED: 2 });
    });
  });

  describe('an order that is published', () => {
    it('PAY-7 PAY-2 voided, while a REVISE is submitted: one of both', async () => {
      await world.settle(roofs.partnerOrgId);
      const session = await ask(world, '/payment-sessions', {
        mode: 'REVISE',
        partnerOrgId: roofs.partnerOrgId,
        months: roofs.months,
        paymentOrderId: submit.orderId,
      });
      await ask(world, `/payment-sessions/${session.id}/bills`);
      const first = await stopCommand((store) =>
        voidOrder(store, submit.orderId, { actor: 'test', reason: 'x' }, world.wake),
      );
      const { body } = await inOrder(first, () =>
        world.plane.ask('POST', `/payment-sessions/${session.id}/submit`),
      );
      expect(body.code).to.equal('ORDER_NOT_OPEN');
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ RELEASED: 2 });
    });

    it('LCK-29 PAY-4 handed over while its REVISE is published: the publish that comes second is refused', async () => {
      await world.settle(roofs.partnerOrgId);
      const revise = await submitAll(world, roofs, {
        session: { mode: 'REVISE', paymentOrderId: submit.orderId },
      });
      await steps(2);
      const first = await stopCommand((store) => handOverOrder(store, submit.orderId, 'wang', 'test'));
      await inOrder(first, () => world.turn('payment-submit', roofs.partnerOrgId));
      expect(await stateOf(world.store, revise)).to.deep.include({
        version: 'BUILD_FAILED',
        failureCode: 'INVALID_REVISE_SESSION',
        published: '1',
      });
    });

    it('DEC-13 PAY-4 paid while its REVISE is published: the payment names a version that is not in force any more', async () => {
      await world.settle(roofs.partnerOrgId);
      await submitAll(world, roofs, { session: { mode: 'REVISE', paymentOrderId: submit.orderId } });
      await steps(2);
      const [lock] = await locksOf(world.store, submit.orderId);
      const first = await stopWork('payment-submit');
      const { body } = await inOrder(first, () =>
        world.plane.ask('POST', `/payment-orders/${submit.orderId}/payment-results`, {
          paymentOrderVersionId: submit.versionId,
          results: [
            {
              eventId: `late-${submit.orderId}`,
              outcome: 'PAID',
              orderBillId: lock!.orderBillId,
              amount: '1.00',
              paidTime: '2026-02-01T08:00:00Z',
            },
          ],
        }),
      );
      expect(body.code).to.equal('OTHER_VERSION');
      await world.settle(roofs.partnerOrgId);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 2 });
    });
  });
});
