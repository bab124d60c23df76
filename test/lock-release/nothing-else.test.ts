/** What follows from a release, in a database with real bills, payments and snapshots: locks go, and nothing else is written (LCK-21). */
import { expect } from 'chai';
import { readTask } from '../support/engine.ts';
import { lockStatuses } from '../support/payment-factory.ts';
import {
  ask,
  locksOf,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  type PaidRoofs,
  type Payments,
  submitAll,
} from '../support/payments.ts';

/** What a release works with: its locks, its batch, the slot it runs in. Its task is compared without its own row. */
const OF_A_RELEASE = ['fi_resident_income_payment_bill_lock', 'selection_submit_batch', 'stage_slot'];

/** A comparison of nothing with nothing would prove nothing. */
const FILLED = [
  'fi_customer_account',
  'fi_customer_account_partner',
  'fi_customer_bill',
  'fi_customer_bill_partner',
  'fi_monthly_income_difference',
  'fi_project_income_difference',
  'fi_resident_income_payment_bill_dimension_snapshot',
  'fi_resident_income_payment_fact',
  'fi_resident_income_payment_event',
  'fi_resident_income_payment_audit_plan',
  'fi_resident_income_payment_order',
  'fi_resident_income_payment_order_bill',
  'fi_resident_income_payment_order_version',
  'fi_resident_income_payment_async_operation_log',
  'selection_session',
  'fi_async_task',
];

describe('lock release: nothing else', () => {
  let world: Payments;
  before(async () => {
    world = await openPayments();
    // A paid bill and a published order that no release below is about.
    const others = await publish();
    await payFirstBill(others);
    await world.settle(others.roofs.partnerOrgId);
  });
  after(() => world.close());

  interface Published {
    readonly roofs: PaidRoofs;
    readonly submit: OpenSubmit;
  }

  async function publish(): Promise<Published> {
    const roofs = await makePaidRoofs(world);
    const submit = await submitAll(world, roofs);
    await world.settle(roofs.partnerOrgId);
    return { roofs, submit };
  }

  /** Fact, release and account task; all but the release is then carried out. */
  async function payFirstBill({ roofs, submit }: Published): Promise<void> {
    const [lock] = await locksOf(world.store, submit.orderId);
    await ask(world, `/payment-orders/${submit.orderId}/payment-results`, {
      paymentOrderVersionId: submit.versionId,
      results: [
        {
          eventId: `paid-${submit.orderId}`,
          outcome: 'PAID',
          orderBillId: lock!.orderBillId,
          amount: '110.00',
          paidTime: '2026-02-01T08:00:00Z',
        },
      ],
    });
    for (const stage of ['account-shard', 'bill-snapshot'] as const)
      await world.turn(stage, roofs.partnerOrgId);
  }

  const releases: Record<string, () => Promise<Published>> = {
    PAYMENT_SUCCESS: async () => {
      const made = await publish();
      await payFirstBill(made);
      return made;
    },
    ORDER_VOID: async () => {
      const made = await publish();
      await ask(world, `/payment-orders/${made.submit.orderId}/void`, { reason: 'wrong account' });
      return made;
    },
    SUBMIT_CANCEL: async () => {
      const roofs = await makePaidRoofs(world);
      const submit = await submitAll(world, roofs);
      await world.step('payment-submit', roofs.partnerOrgId);
      await ask(world, `/payment-sessions/${submit.sessionId}/cancel`);
      return { roofs, submit };
    },
  };

  for (const [reason, arrange] of Object.entries(releases))
    it(`LCK-21 ${reason} writes no bill, difference, amount, payment, audit, account or snapshot, and asks for none`, async () => {
      const { roofs, submit } = await arrange();
      const { store } = world;
      const { code } = await store.one<{ code: string }>(
        'SELECT task_code code FROM fi_async_task WHERE business_key LIKE ?',
        [`LOCK\\_RELEASE:${submit.versionId}:${reason}%`],
      );
      const held = (await locksOf(store, submit.orderId)).map((lock) => lock.id);
      const before = await everythingBut(code);
      for (const table of FILLED) expect(before[table], table).to.not.deep.equal([]);

      await world.turn('lock-release', roofs.partnerOrgId);
      const { status, result } = await readTask(store, code);
      const released = (await lockStatuses(store, held)).filter((one) => one === 'RELEASED').length;
      expect([status, (result as { releasedCount: number }).releasedCount]).to.deep.equal([2, released]);
      expect(released).to.be.greaterThan(0);
      expect(await everythingBut(code)).to.deep.equal(before);
    });

  /** Every row of every table, but for what a release works with and its own task. */
  async function everythingBut(taskCode: string): Promise<Record<string, unknown[]>> {
    const tables = await world.store.many<{ name: string }>(
      `SELECT table_name name FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name`,
    );
    const rows: Record<string, unknown[]> = {};
    for (const { name } of tables) {
      if (OF_A_RELEASE.includes(name)) continue;
      const own = name === 'fi_async_task' ? 'WHERE task_code <> ?' : '';
      rows[name] = await world.store.many(
        `SELECT * FROM ${name} ${own} ORDER BY 1, 2`,
        own === '' ? [] : [taskCode],
      );
    }
    return rows;
  }
});
