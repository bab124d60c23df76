/**
 * A process dies at every point between two commits of a submit: before the commit, so that its work is lost, and after
 * it; another takes the slot and goes on. The end is the same, and each thing happened once (PAY-2 to PAY-5, ENG-11).
 */
import { expect } from 'chai';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { endLease } from '../support/engine.ts';
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
import { type Claimed, claim } from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

/** Two batches, the end of the build, publish, two batches of activation and its end, the audit's plan. */
const STEPS_OF_A_SUBMIT = 8;

describe('payment: crashes', () => {
  let world: Payments;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  afterEach('the database keeps its promises', () => assertVerified(world.store));

  const claimNext = (roofs: PaidRoofs) =>
    claim({ ...world.stages, engine: world.engine }, 'payment-submit', roofs.partnerOrgId);

  /** The work is done up to its last statement, and then nobody is there to commit it. */
  async function dieBeforeCommit({ right, tasks }: Claimed): Promise<void> {
    const killed = new Error('killed');
    const work = world.store.transaction(NEW_READ_COMMITTED, async (tx) => {
      await world.engine.handlers.get('payment-submit')!.work(tx, tasks, right);
      throw killed;
    });
    expect(await work.catch((error) => error)).to.equal(killed);
    await endLease(world.store, right);
  }

  async function expectOneSubmit(submit: OpenSubmit): Promise<void> {
    expect(await stateOf(world.store, submit)).to.deep.equal({
      session: 'PUBLISHED',
      version: 'PUBLISHED',
      failureCode: null,
      published: '1',
      phases: {
        BUILD: 'DONE',
        PUBLISH: 'DONE',
        LOCK_ACTIVATE: 'DONE',
        AUDIT_PLAN: 'DONE',
        LOCK_RELEASE: 'INIT',
      },
      locks: { ACTIVE: 2 },
      releases: {},
    });
    const { bills, plans, processed } = await world.store.one<Record<string, string>>(
      `SELECT (SELECT COUNT(*) FROM fi_resident_income_payment_order_bill WHERE payment_order_version_id = ?) bills,
              (SELECT COUNT(*) FROM fi_resident_income_payment_audit_plan WHERE payment_order_version_id = ?) plans,
              (SELECT SUM(processed_count) FROM selection_submit_batch WHERE payment_order_version_id = ?) processed`,
      [submit.versionId, submit.versionId, submit.versionId],
    );
    expect([bills, plans, processed].map(Number)).to.deep.equal([2, 1, 8]);
  }

  it('PAY-2 a submit whose last write fails has not begun: no order, version, batch or task, and the session is as it was', async () => {
    const roofs = await makePaidRoofs(world);
    const session = await openSession(world, roofs);
    await ask(world, `/payment-sessions/${session.id}/bills`);
    const tables = ['order', 'order_version'].map((name) => `fi_resident_income_payment_${name}`);
    const countAll = async () => {
      const counts: Record<string, number> = {};
      for (const table of [...tables, 'selection_submit_batch', 'fi_async_task']) {
        const { n } = await world.store.one<{ n: string }>(`SELECT COUNT(*) n FROM ${table}`);
        counts[table] = Number(n);
      }
      return counts;
    };
    const readSession = () => world.store.one('SELECT * FROM selection_session WHERE id = ?', [session.id]);
    const before = [await countAll(), await readSession()];
    await world.store.change(
      `CREATE TRIGGER refuse_submit BEFORE INSERT ON operation_audit FOR EACH ROW
       BEGIN IF NEW.action = 'PAYMENT_SESSION_SUBMIT' THEN
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no audit today'; END IF; END`,
    );
    try {
      const answer = await world.plane.ask('POST', `/payment-sessions/${session.id}/submit`, {});
      expect(answer.status).to.equal(500);
    } finally {
      await world.store.change('DROP TRIGGER refuse_submit');
    }
    expect([await countAll(), await readSession()]).to.deep.equal(before);
    await ask(world, `/payment-sessions/${session.id}/submit`);
    await world.settle(roofs.partnerOrgId);
  });

  for (let done = 0; done < STEPS_OF_A_SUBMIT; done++)
    it(`PAY-2 PAY-5 ENG-11 after ${done} commits, with the next one under way`, async () => {
      const roofs = await makePaidRoofs(world);
      const submit = await submitAll(world, roofs, { batchSize: 1 });
      for (let step = 0; step < done; step++) await world.step('payment-submit', roofs.partnerOrgId);
      const claimed = await claimNext(roofs);
      expect(claimed.tasks, 'there is more to do').to.have.length(1);
      await dieBeforeCommit(claimed);
      await world.settle(roofs.partnerOrgId);
      await expectOneSubmit(submit);
    });

  it('PAY-2 that is all there is to do', async () => {
    const roofs = await makePaidRoofs(world);
    const submit = await submitAll(world, roofs, { batchSize: 1 });
    for (let step = 0; step < STEPS_OF_A_SUBMIT; step++)
      await world.step('payment-submit', roofs.partnerOrgId);
    await expectOneSubmit(submit);
    expect((await claimNext(roofs)).tasks).to.deep.equal([]);
  });

  it('PAY-5 a REVISE whose process dies in each of its steps comes to the same', async () => {
    const roofs = await makePaidRoofs(world, { stations: 3 });
    const named = (...indexes: number[]) => ({
      partnerBillIds: indexes.map((index) => roofs.bills[index]!.partnerBillId),
    });
    const first = await submitAll(world, roofs, { selection: named(0, 1) });
    await world.settle(roofs.partnerOrgId);
    const revise = await submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: first.orderId },
      selection: named(1, 2),
      batchSize: 1,
    });
    for (let step = 0; ; step++) {
      const claimed = await claimNext(roofs);
      if (claimed.tasks.length === 0) {
        await endLease(world.store, claimed.right);
        break;
      }
      expect(step).to.be.lessThan(STEPS_OF_A_SUBMIT);
      await dieBeforeCommit(claimed);
      await world.step('payment-submit', roofs.partnerOrgId);
    }
    await world.settle(roofs.partnerOrgId);
    expect(await stateOf(world.store, revise)).to.deep.include({
      session: 'PUBLISHED',
      published: '2',
      locks: { ACTIVE: 2, RELEASED: 1 },
    });
    const labels = (await locksOf(world.store, first.orderId)).map((lock) => [
      lock.lockStatus,
      lock.versionId,
    ]);
    expect(labels).to.deep.equal([
      ['RELEASED', first.versionId],
      ['ACTIVE', revise.versionId],
      ['ACTIVE', revise.versionId],
    ]);
  });
});
