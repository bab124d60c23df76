/**
 * Before a version is published its locks are counted once more (PAY-4): each of its bills must have a live lock that is
 * this submit's by all that makes it so, or, where it was kept, the published version's.
 */
import { expect } from 'chai';
import { acceptPhase } from '../../src/payment/submit-task.ts';
import { findVersion } from '../../src/store/payment-orders.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { makeSlots } from '../support/engine.ts';
import {
  CREATOR,
  type MadeSubmit,
  makeBillWithLock,
  makeRevise,
  makeSubmit,
  PAYMENT_PARTNER,
} from '../support/payment-factory.ts';
import { openPayments, type Payments, stateOf } from '../support/payments.ts';

describe('payment: locks counted again', () => {
  let world: Payments;
  before(async () => {
    world = await openPayments();
    await makeSlots(world.store, 1, PAYMENT_PARTNER, 'payment-submit');
  });
  after(() => world.close());

  const BUILT = { session: { status: 'PUBLISHING' }, version: { version_build_status: 'BUILT' } };
  const publish = async (submit: MadeSubmit) => {
    const { versionId, partnerOrgId } = submit;
    const version = (await findVersion(world.store, versionId))!;
    await world.store.transaction(NEW_READ_COMMITTED, (tx) =>
      acceptPhase(tx, 'PUBLISH', { version, partnerOrgId }, world.wake),
    );
    await world.turn('payment-submit', partnerOrgId);
    const { version: status, failureCode, published } = await stateOf(world.store, submit);
    return { status, failureCode, published };
  };
  const refused = { status: 'BUILD_FAILED', failureCode: 'RESERVED_LOCK_INCOMPLETE' };
  const change = (lockId: string, columns: string) =>
    world.store.changeExactly(
      1,
      'changing a lock',
      `UPDATE fi_resident_income_payment_bill_lock SET ${columns} WHERE id = ?`,
      [lockId],
    );

  const RELEASED = "lock_status = 'RELEASED', lock_key = CONCAT(lock_key, ':RELEASED:', id)";
  /** What one of two locks may be by now. */
  const reserved: Record<string, string> = {
    released: RELEASED,
    'released under its old key': "lock_status = 'RELEASED'",
    'another order’s': 'payment_order_id = payment_order_id + 1000000',
    'another session’s': 'session_id = session_id + 1000000',
    'another attempt’s': 'submit_attempt = submit_attempt + 1',
    'another version’s': 'data_version = data_version + 1',
    'another order bill’s': 'order_bill_id = order_bill_id + 1000000',
    'another month’s': "lock_key = CONCAT(platform_station_id, ':2026-06')",
  };
  for (const [what, columns] of Object.entries(reserved))
    it(`PAY-4 LCK-14 a version is not published with one lock that is ${what}`, async () => {
      const submit = await makeSubmit(world.store, BUILT);
      await makeBillWithLock(world.store, submit);
      const { lockId } = await makeBillWithLock(world.store, submit);
      await change(lockId, columns);
      expect(await publish(submit)).to.deep.equal({ ...refused, published: null });
    });

  it('PAY-4 a version is published with all its locks, whichever of them is active', async () => {
    const submit = await makeSubmit(world.store, BUILT);
    await makeBillWithLock(world.store, submit);
    await makeBillWithLock(world.store, submit, { lock: { lock_status: 'ACTIVE' } });
    expect(await publish(submit)).to.deep.equal({ status: 'PUBLISHED', failureCode: null, published: '1' });
  });

  it('PAY-4 a version without a bill is not published', async () => {
    const submit = await makeSubmit(world.store, BUILT);
    expect(await publish(submit)).to.deep.equal({ ...refused, published: null });
  });

  /** What the lock of a kept bill may be, which the published version 1 holds until it is taken over. */
  const kept: readonly [string, string, boolean][] = [
    ['the published version’s', 'data_version = 1', true],
    ['another version’s', 'data_version = 9', false],
    ['another order’s', 'data_version = 1, payment_order_id = payment_order_id + 1000000', false],
    ['released', `data_version = 1, ${RELEASED}`, false],
  ];
  for (const [what, columns, publishes] of kept)
    it(`PAY-4 a REVISE is ${publishes ? '' : 'not '}published that keeps a bill with a lock that is ${what}`, async () => {
      const submit = await makeRevise(world.store, { ...BUILT, order: { create_user_id: CREATOR } });
      await makeBillWithLock(world.store, submit);
      const { lockId } = await makeBillWithLock(world.store, submit, { bill: { kept: 1 } });
      await change(lockId, columns);
      expect(await publish(submit)).to.deep.equal(
        publishes
          ? { status: 'PUBLISHED', failureCode: null, published: '2' }
          : { ...refused, published: '1' },
      );
    });
});
