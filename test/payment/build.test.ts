/** Building a submit: what is reserved, dropped or refused, and what a failure leaves behind (PAY-3, DEC-11, DEC-24, LCK-3). */
import { expect } from 'chai';
import { Place } from '../../src/domain/place.ts';
import { endLease, readTask } from '../support/engine.ts';
import type { Columns } from '../support/factory.ts';
import {
  ask,
  FEBRUARY,
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
  verify,
} from '../support/payments.ts';
import { acceptPush, bill, claim, unclaim, workDirectly } from '../support/stages.ts';

describe('payment: build', () => {
  let world: Payments;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());

  const build = (roofs: PaidRoofs) => world.turn('payment-submit', roofs.partnerOrgId);
  const selectionOf = async (submit: OpenSubmit) =>
    (await world.plane.ask('GET', `/payment-sessions/${submit.sessionId}`)).body.selection;
  const byName = (roofs: PaidRoofs, indexes: readonly number[]) => ({
    selection: { partnerBillIds: indexes.map((index) => roofs.bills[index]!.partnerBillId) },
  });
  const buildTask = (submit: OpenSubmit) => readTask(world.store, `RIPPS:${submit.versionId}:BUILD`);
  const makeDue = (submit: OpenSubmit) =>
    world.store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE task_code = ?', [
      `RIPPS:${submit.versionId}:BUILD`,
    ]);
  const setBill = (partnerBillId: string, columns: Columns) =>
    world.store.changeExactly(
      1,
      'changing a bill',
      `UPDATE fi_customer_bill_partner SET ${Object.keys(columns)
        .map((name) => `${name} = ?`)
        .join(', ')} WHERE id = ?`,
      [...Object.values(columns), partnerBillId],
    );

  describe('reservation', () => {
    it('PAY-3 goes in batches of whole stations and reserves each bill once', async () => {
      const roofs = await makePaidRoofs(world, { stations: 3, months: [JANUARY, FEBRUARY] });
      const submit = await submitAll(world, roofs, { batchSize: 1 });
      await build(roofs);
      const { version, phases, locks } = await stateOf(world.store, submit);
      expect([version, phases.BUILD, locks]).to.deep.equal(['PUBLISHED', 'DONE', { ACTIVE: 6 }]);
      const { processed, leases } = await world.store.one<{ processed: number; leases: number }>(
        `SELECT processed_count processed, lease_version leases FROM selection_submit_batch
          WHERE payment_order_version_id = ? AND batch_phase = 'BUILD'`,
        [submit.versionId],
      );
      expect([processed, leases]).to.deep.equal([6, 4]);
    });

    it('DEC-11 the amount is what is payable by the bill, not by the stored column, and is frozen', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      await setBill(roofs.bills[0]!.partnerBillId, { freeze_amount: '15.00', current_payable: '999.00' });
      await world.settle(roofs.partnerOrgId);
      await setBill(roofs.bills[0]!.partnerBillId, { freeze_amount: '0.00' });
      const { body } = await world.plane.ask('GET', `/payment-orders/${submit.orderId}/bills`);
      expect(body.items.map((item: { amount: string }) => item.amount)).to.deep.equal(['95.00']);
    });

    it('DEC-4 what is reserved is locked for pushes', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      await submitAll(world, roofs);
      await build(roofs);
      const push = await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY, { rent: '500.00' })] },
      ]);
      await world.turn('bill-station', roofs.partnerOrgId);
      const task = await readTask(world.store, push.taskCodes[0]!);
      expect([task.status, task.errorCode]).to.deep.equal([3, 'PAYMENT_LOCKED']);
    });
  });

  describe('a bill that is payable no more', () => {
    const spoilers: readonly [string, (roofs: PaidRoofs) => Promise<unknown>, string][] = [
      [
        'unqualified meanwhile',
        (roofs) => verify(world, roofs.bills.slice(0, 1), 'UNQUALIFIED'),
        'UNQUALIFIED',
      ],
      ['deleted', (roofs) => setBill(roofs.bills[0]!.partnerBillId, { del_flag: 1 }), 'BILL_GONE'],
      [
        'settled by a freeze',
        (roofs) => setBill(roofs.bills[0]!.partnerBillId, { freeze_amount: '110.00' }),
        'SETTLED',
      ],
      [
        'with a failed pre-rent check',
        (roofs) =>
          world.store.change(
            "UPDATE fi_monthly_income_difference SET pre_rent_check_result = 'FAIL' WHERE partner_bill_id = ?",
            [roofs.bills[0]!.partnerBillId],
          ),
        'PRE_RENT_FAILED',
      ],
    ];
    for (const [title, spoil, reason] of spoilers) {
      it(`DEC-11 ${title}: dropped where a filter picked it`, async () => {
        const roofs = await makePaidRoofs(world);
        const session = await openSession(world, roofs);
        await ask(world, `/payment-sessions/${session.id}/bills`);
        await spoil(roofs);
        const submitted = await ask(world, `/payment-sessions/${session.id}/submit`);
        await build(roofs);
        const submit = {
          sessionId: session.id,
          orderId: submitted.paymentOrderId,
          versionId: submitted.paymentOrderVersionId,
        };
        expect(await selectionOf(submit)).to.deep.equal({
          chosen: 1,
          named: 0,
          dropped: [{ reason, bills: 1 }],
        });
        expect(await stateOf(world.store, submit)).to.deep.include({
          version: 'PUBLISHED',
          locks: { ACTIVE: 1 },
        });
      });

      it(`DEC-11 LCK-3 ${title}: fails the build where it was named`, async () => {
        const roofs = await makePaidRoofs(world);
        const session = await openSession(world, roofs);
        await ask(world, `/payment-sessions/${session.id}/bills`, byName(roofs, [0, 1]).selection);
        await spoil(roofs);
        const submitted = await ask(world, `/payment-sessions/${session.id}/submit`);
        await build(roofs);
        const submit = {
          sessionId: session.id,
          orderId: submitted.paymentOrderId,
          versionId: submitted.paymentOrderVersionId,
        };
        const state = await stateOf(world.store, submit);
        expect(state).to.deep.include({
          session: 'SUBMIT_FAILED',
          version: 'BUILD_FAILED',
          failureCode: 'NAMED_BILL_NOT_PAYABLE',
          releases: { BUILD_FAILED: 0 },
        });
        expect((await buildTask(submit)).errorMessage).to.contain(reason);
        await world.settle(roofs.partnerOrgId);
        expect((await stateOf(world.store, submit)).releases).to.deep.equal({ BUILD_FAILED: 2 });
      });
    }

    for (const [how, selection, failureCode] of [
      ['a filter picked', {}, 'NOTHING_TO_PAY'],
      ['were named', null, 'NAMED_BILL_NOT_PAYABLE'],
    ] as const)
      it(`DEC-11 a payment flow that is switched off after the bills ${how}: nothing of the partner is reserved`, async () => {
        const roofs = await makePaidRoofs(world);
        const submit = await submitAll(world, roofs, selection === null ? byName(roofs, [0, 1]) : {});
        await world.store.changeExactly(
          1,
          'switching the payment flow off',
          "UPDATE partner SET payment_flow = 'DISABLED' WHERE partner_org_id = ?",
          [roofs.partnerOrgId],
        );
        await build(roofs);
        expect(await stateOf(world.store, submit)).to.deep.include({
          version: 'BUILD_FAILED',
          failureCode,
          locks: {},
        });
        if (selection === null) expect((await buildTask(submit)).errorMessage).to.contain('NOT_APPLICABLE');
        else
          expect((await selectionOf(submit)).dropped).to.deep.equal([{ reason: 'NOT_APPLICABLE', bills: 2 }]);
      });

    it('DEC-11 none left fails the build', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      await setBill(roofs.bills[0]!.partnerBillId, { partner_query_status: 'UNQUALIFIED' });
      await build(roofs);
      expect(await stateOf(world.store, submit)).to.deep.include({
        session: 'SUBMIT_FAILED',
        version: 'BUILD_FAILED',
        failureCode: 'NOTHING_TO_PAY',
      });
    });

    it('PAY-2 a failed session is submitted again: next version, next attempt, what was dropped is tried again', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      const { partnerBillId } = roofs.bills[0]!;
      await setBill(partnerBillId, { partner_query_status: 'UNQUALIFIED' });
      await world.settle(roofs.partnerOrgId);
      await setBill(partnerBillId, { partner_query_status: 'VERIFIED' });
      const again = await ask(world, `/payment-sessions/${submit.sessionId}/submit`);
      expect(again.paymentOrderId).to.equal(submit.orderId);
      await world.settle(roofs.partnerOrgId);
      const versions = await world.store.many<{ token: string }>(
        `SELECT target_data_version number, submit_attempt attempt, version_build_status status, submit_token token
           FROM fi_resident_income_payment_order_version WHERE payment_order_id = ? ORDER BY id`,
        [submit.orderId],
      );
      expect(versions.map(({ token, ...version }) => version)).to.deep.equal([
        { number: '1', attempt: 1, status: 'BUILD_FAILED' },
        { number: '2', attempt: 2, status: 'PUBLISHED' },
      ]);
      expect(versions[0]!.token, 'each submit has a token of its own').not.to.equal(versions[1]!.token);
      const session = await world.store.one(
        'SELECT failure_phase phase, failure_reason reason FROM selection_session WHERE id = ?',
        [submit.sessionId],
      );
      expect(session, 'the earlier failure is over').to.deep.equal({ phase: null, reason: null });
    });
  });

  describe('conflicts', () => {
    it('PAY-3 DEC-12 a bill that another order took first is dropped, its owner named', async () => {
      const roofs = await makePaidRoofs(world);
      const first = await submitAll(world, roofs, byName(roofs, [0]));
      const second = await submitAll(world, roofs);
      await build(roofs);
      const states = await Promise.all([first, second].map((one) => stateOf(world.store, one)));
      expect(states.map((state) => state.version)).to.deep.equal(['PUBLISHED', 'PUBLISHED']);
      expect(await selectionOf(second)).to.deep.equal({
        chosen: 1,
        named: 0,
        dropped: [{ reason: `LOCKED_BY_ORDER:${first.orderId}`, bills: 1 }],
      });
    });

    it('PAY-3 where it was named the build fails and names the owner, at once', async () => {
      const roofs = await makePaidRoofs(world);
      const first = await submitAll(world, roofs, byName(roofs, [0]));
      const second = await submitAll(world, roofs, byName(roofs, [0, 1]));
      await build(roofs);
      const { errorCode, errorMessage, retryCount, maxRetryCount } = await buildTask(second);
      expect([errorCode, retryCount]).to.deep.equal(['BILL_LOCK_CONFLICT', maxRetryCount]);
      expect(errorMessage).to.contain(`LOCKED_BY_ORDER:${first.orderId}`);
      expect((await stateOf(world.store, second)).releases).to.deep.equal({ BUILD_FAILED: 0 });
    });

    it('DEC-12 partners that share a station exclude each other there', async () => {
      const ours = await makePaidRoofs(world, { stations: 1 });
      const theirs = await makePaidRoofs(world, { stations: 1 });
      const first = await submitAll(world, ours);
      const second = await submitAll(world, theirs);
      // What two mappings to one platform station would come to.
      const { platformStationId } = ours.bills[0]!;
      await world.store.change(
        'UPDATE selection_session_bill SET platform_station_id = ? WHERE session_id = ?',
        [platformStationId, second.sessionId],
      );
      await world.store.change(
        'UPDATE fi_monthly_income_difference SET station_id = ? WHERE partner_bill_id = ?',
        [platformStationId, theirs.bills[0]!.partnerBillId],
      );
      await build(ours);
      await build(theirs);
      expect((await stateOf(world.store, first)).version).to.equal('PUBLISHED');
      expect((await selectionOf(second)).dropped).to.deep.equal([
        { reason: `LOCKED_BY_ORDER:${first.orderId}`, bills: 1 },
      ]);
    });
  });

  describe('work under way', () => {
    it('DEC-24 a push that is on its way keeps its bill from being reserved', async () => {
      const roofs = await makePaidRoofs(world);
      const submit = await submitAll(world, roofs);
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY, { rent: '100.00' })] },
      ]);
      await build(roofs);
      expect((await selectionOf(submit)).dropped).to.deep.equal([{ reason: 'WORK_UNDER_WAY', bills: 1 }]);
    });

    it('DEC-24 another month of the same station is no reason', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1, months: [JANUARY] });
      const submit = await submitAll(world, roofs);
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(FEBRUARY)] },
      ]);
      await build(roofs);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 1 });
    });

    it('DEC-24 nor is what has ended', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(FEBRUARY)] },
      ]);
      await world.stages.turnsUpTo('bill-snapshot', roofs.partnerOrgId);
      await build(roofs);
      expect((await stateOf(world.store, submit)).locks).to.deep.equal({ ACTIVE: 1 });
    });

    for (const stage of ['bill-station', 'income-diff', 'account-shard'] as const)
      it(`DEC-24 a re-push that has passed ${stage} is still on its way`, async () => {
        const roofs = await makePaidRoofs(world, { stations: 1 });
        const submit = await submitAll(world, roofs);
        await acceptPush(world.store, roofs.partnerOrgId, [
          { mapping: roofs.mappings[0]!, bills: [bill(JANUARY)] },
        ]);
        await world.stages.turnsUpTo(stage, roofs.partnerOrgId);
        // Verified at once, so that nothing but the work under way speaks against it.
        await setBill(roofs.bills[0]!.partnerBillId, { partner_query_status: 'VERIFIED' });
        await build(roofs);
        expect((await selectionOf(submit)).dropped).to.deep.equal([{ reason: 'WORK_UNDER_WAY', bills: 1 }]);
      });

    /** Each half of what a re-push leaves unfinished speaks for itself: the row's place, and the task. */
    for (const [title, upTo, from, to, tasks] of [
      [
        'a row whose difference has failed',
        'bill-station',
        Place.DIFF_PENDING,
        Place.DIFF_FAILED,
        "status = 3, retry_count = max_retry_count WHERE stage = 'income-diff'",
      ],
      [
        'the account task of a push, wherever its rows are',
        'income-diff',
        Place.ACCOUNT_PENDING,
        Place.CURRENT,
        "update_time = NOW(3) WHERE stage = 'account-shard'",
      ],
    ] as const)
      it(`DEC-24 ${title} is work under way`, async () => {
        const roofs = await makePaidRoofs(world, { stations: 1 });
        const submit = await submitAll(world, roofs);
        await acceptPush(world.store, roofs.partnerOrgId, [
          { mapping: roofs.mappings[0]!, bills: [bill(JANUARY)] },
        ]);
        await world.stages.turnsUpTo(upTo, roofs.partnerOrgId);
        await setBill(roofs.bills[0]!.partnerBillId, { partner_query_status: 'VERIFIED' });
        await world.store.changeExactly(
          1,
          'moving a row',
          `UPDATE pushed_row_place w JOIN partner_push p ON p.push_id = w.push_id SET w.place = ?
            WHERE p.partner_org_id = ? AND w.place = ?`,
          [to, roofs.partnerOrgId, from],
        );
        await world.store.change(
          `UPDATE fi_async_task SET ${tasks} AND partner_org_id = ? AND status IN (0, 3)`,
          [roofs.partnerOrgId],
        );
        await build(roofs);
        expect((await selectionOf(submit)).dropped).to.deep.equal([{ reason: 'WORK_UNDER_WAY', bills: 1 }]);
      });

    it('DEC-24 an unfinished account task that names its difference', async () => {
      const roofs = await makePaidRoofs(world);
      const submit = await submitAll(world, roofs);
      const { partnerBillId, acceptNo } = roofs.bills[0]!;
      const verdict = { partnerBillId, acceptNo, partnerQueryStatus: 'VERIFIED' };
      await setBill(partnerBillId, { partner_query_status: 'NOT_VERIFIED' });
      await ask(world, '/verifications', verdict);
      await build(roofs);
      expect((await selectionOf(submit)).dropped).to.deep.equal([{ reason: 'WORK_UNDER_WAY', bills: 1 }]);
    });

    it('DEC-11 DEC-24 a named bill with work under way fails the build, which is tried again and then goes through', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs, byName(roofs, [0]));
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[0]!, bills: [bill(JANUARY)] },
      ]);
      await build(roofs);
      const waiting = await buildTask(submit);
      expect([waiting.status, waiting.errorCode, waiting.retryCount]).to.deep.equal([
        3,
        'NAMED_BILL_NOT_PAYABLE',
        1,
      ]);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'BUILDING',
        session: 'SUBMITTING',
      });
      await world.stages.turnsUpTo('bill-snapshot', roofs.partnerOrgId);
      const { acceptNo } = await world.store.one<{ acceptNo: string }>(
        'SELECT accept_no acceptNo FROM fi_customer_bill_partner WHERE id = ?',
        [roofs.bills[0]!.partnerBillId],
      );
      await verify(world, [{ ...roofs.bills[0]!, acceptNo }]);
      await makeDue(submit);
      await build(roofs);
      expect((await stateOf(world.store, submit)).version).to.equal('PUBLISHED');
    });
  });

  describe('failing', () => {
    it('LCK-3 a build that may still be retried releases nothing; when attempts are used up it does', async () => {
      const roofs = await makePaidRoofs(world, { stations: 2 });
      const submit = await submitAll(world, roofs, { ...byName(roofs, [0, 1]), batchSize: 1 });
      await acceptPush(world.store, roofs.partnerOrgId, [
        { mapping: roofs.mappings[1]!, bills: [bill(JANUARY)] },
      ]);
      for (const attempt of [1, 2]) {
        await build(roofs);
        expect((await buildTask(submit)).retryCount).to.equal(attempt);
        expect(await stateOf(world.store, submit)).to.deep.include({
          version: 'BUILDING',
          session: 'SUBMITTING',
          locks: { RESERVED: 1 },
          releases: {},
        });
        await makeDue(submit);
      }
      await build(roofs);
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'BUILD_FAILED',
        session: 'SUBMIT_FAILED',
        failureCode: 'NAMED_BILL_NOT_PAYABLE',
        locks: { RESERVED: 1 },
        releases: { BUILD_FAILED: 0 },
      });
      await world.settle(roofs.partnerOrgId);
      expect(await stateOf(world.store, submit)).to.deep.include({
        locks: { RELEASED: 1 },
        releases: { BUILD_FAILED: 2 },
      });
    });

    it('PAY-3 LCK-3 RESERVED_LOCK_INCOMPLETE ends the submit at once', async () => {
      const roofs = await makePaidRoofs(world, { stations: 2 });
      const submit = await submitAll(world, roofs, { batchSize: 1 });
      const claimed = await claim(
        { ...world.stages, engine: world.engine },
        'payment-submit',
        roofs.partnerOrgId,
      );
      // The first batch reserves; then, by no way that the rules know, a lock is gone.
      const handler = world.engine.handlers.get('payment-submit')!;
      await workDirectly(world.store, handler, claimed);
      await world.store.change(
        'DELETE FROM fi_resident_income_payment_bill_lock WHERE payment_order_id = ?',
        [submit.orderId],
      );
      await unclaim(world.store, claimed);
      await build(roofs);
      const { errorCode, retryCount, maxRetryCount } = await buildTask(submit);
      expect([errorCode, retryCount]).to.deep.equal(['RESERVED_LOCK_INCOMPLETE', maxRetryCount]);
      const { phases, ...state } = await stateOf(world.store, submit);
      expect(state).to.deep.include({
        version: 'BUILD_FAILED',
        session: 'SUBMIT_FAILED',
        releases: { BUILD_FAILED: 0 },
      });
      expect(phases.BUILD, 'the batch says what broke, and so do version and session').to.equal('FAILED');
      const told = await world.store.one<Record<string, string>>(
        `SELECT b.last_error_message batch, v.failure_message version, s.failure_reason session
           FROM selection_submit_batch b
           JOIN fi_resident_income_payment_order_version v ON v.id = b.payment_order_version_id
           JOIN selection_session s ON s.id = v.session_id
          WHERE b.payment_order_version_id = ? AND b.batch_phase = 'BUILD'`,
        [submit.versionId],
      );
      for (const [where, text] of Object.entries(told))
        expect(text, where).to.contain('Of 2 bills 2 are built, 1 reserved and 0 kept');
    });

    it('LCK-3 ENG-11 a build that killed its process three times has failed for good and is released', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      const stages = { ...world.stages, engine: world.engine };
      for (let crash = 0; crash < 3; crash++) {
        const { right } = await claim(stages, 'payment-submit', roofs.partnerOrgId);
        await endLease(world.store, right);
      }
      await build(roofs);
      expect((await buildTask(submit)).errorCode).to.equal('CRASHED');
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'BUILD_FAILED',
        failureCode: 'CRASHED',
        session: 'SUBMIT_FAILED',
        releases: { BUILD_FAILED: 0 },
      });
    });

    it('LCK-3 a build that an operator cancels has failed for good and is released', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      await ask(world, `/tasks/RIPPS:${submit.versionId}:BUILD/cancel`, { reason: 'wrong month' });
      expect(await stateOf(world.store, submit)).to.deep.include({
        version: 'BUILD_FAILED',
        failureCode: 'CANCELLED',
        releases: { BUILD_FAILED: 0 },
      });
    });

    it('LCK-3 a failed submit that is run by hand again does nothing more', async () => {
      const roofs = await makePaidRoofs(world, { stations: 1 });
      const submit = await submitAll(world, roofs);
      await setBill(roofs.bills[0]!.partnerBillId, { partner_query_status: 'UNQUALIFIED' });
      await build(roofs);
      await setBill(roofs.bills[0]!.partnerBillId, { partner_query_status: 'VERIFIED' });
      await world.store.change(
        'UPDATE fi_async_task SET manually_due = 1, next_execute_time = NOW(3) WHERE task_code = ?',
        [`RIPPS:${submit.versionId}:BUILD`],
      );
      await build(roofs);
      expect((await buildTask(submit)).errorCode).to.equal('SUBMIT_GIVEN_UP');
      expect(await locksOf(world.store, submit.orderId)).to.deep.equal([]);
      expect((await stateOf(world.store, submit)).version).to.equal('BUILD_FAILED');
    });
  });
});
