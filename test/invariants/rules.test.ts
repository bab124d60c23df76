/**
 * Each rule finds what it is about, on a database that real pushes have filled. The wrong row is made in a transaction that
 * is rolled back, and all rules look from within it: so a test also shows which rules a fault does not concern.
 */
import { expect } from 'chai';
import { rules } from '../../src/invariants/all.ts';
import { runRules } from '../../src/invariants/run-rules.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../../src/store/transaction.ts';
import { type Columns, insertNumberedRow, insertRow, makeBillLock } from '../support/factory.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import { push, startTestSystem, type TestSystem, untilDone } from '../support/rooftally.ts';
import { assertVerified } from '../support/verify.ts';

const MONTHS = ['2026-01', '2026-02'];
const LOCKS = 'fi_resident_income_payment_bill_lock';
const VERSIONS = 'fi_resident_income_payment_order_version';
const ORDERS = 'fi_resident_income_payment_order';
const PROJECTED = ['fi_customer_bill_partner', 'fi_customer_bill', 'fi_monthly_income_difference'];

/** A bill that came all the way, and the rows that it became. */
interface Travelled {
  readonly pushId: string;
  readonly rowNo: number;
  readonly billId: string;
  readonly accountId: string;
  readonly diffId: string;
  readonly platformBillId: string;
  readonly platformAccountId: string;
  readonly snapshotId: string;
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly month: string;
  readonly accountTaskId: string;
}

describe('inspection: each rule', () => {
  let system: TestSystem;
  let roofs: Roofs;
  let pushId: string;
  let bill: Travelled;

  before(async () => {
    system = await startTestSystem();
    roofs = await makeRoofs(system.store, { stations: 3, months: MONTHS });
    const disabled = await makeRoofs(system.store, {
      stations: 1,
      months: MONTHS,
      partner: { payment_flow: 'DISABLED' },
    });
    const replies = [
      await push(system.url, roofs.partner.key, roofs.pushOf()),
      await push(system.url, disabled.partner.key, disabled.pushOf()),
    ];
    pushId = replies[0]!.body.pushId;
    await untilDone(system.url, roofs.partner.key, pushId);
    await untilDone(system.url, disabled.partner.key, replies[1]!.body.pushId);
    bill = await system.store.one<Travelled>(
      `SELECT w.push_id pushId, w.row_no rowNo, w.bill_id billId, b.customer_account_id accountId, w.diff_id diffId,
              d.platform_bill_id platformBillId, d.platform_account_id platformAccountId, s.id snapshotId,
              d.partner_org_id partnerOrgId, d.station_id platformStationId, d.share_month month,
              w.account_task_id accountTaskId
         FROM pushed_row_place w JOIN fi_customer_bill_partner b ON b.id = w.bill_id
         JOIN fi_monthly_income_difference d ON d.id = w.diff_id
         JOIN fi_resident_income_payment_bill_dimension_snapshot s
           ON s.partner_org_id = d.partner_org_id AND s.platform_station_id = d.station_id AND s.bill_year_month = d.share_month
        WHERE w.push_id = ? ORDER BY w.row_no LIMIT 1`,
      [pushId],
    );
  });
  after(() => system.stop());

  type Plant = (tx: Transaction) => Promise<unknown>;

  /** What all rules find of the fault that is planted: `CODE id`, in the order of the rules; nothing of it stays. */
  async function foundAfter(plant: Plant): Promise<string[]> {
    let found: string[] = [];
    const rolledBack = new Error('rolled back');
    await system.store
      .transaction(NEW_READ_COMMITTED, async (tx) => {
        await plant(tx);
        const results = await runRules(tx, rules);
        found = results.flatMap(({ code, findings, error }) =>
          error === null
            ? findings.map(({ targetId }) => `${code} ${targetId}`)
            : [`${code} BROKEN: ${error}`],
        );
        throw rolledBack;
      })
      .catch((error: unknown) => {
        if (error !== rolledBack) throw error;
      });
    return found;
  }

  const change = (tx: Transaction, table: string, id: string, columns: Columns) =>
    tx.changeExactly(
      1,
      `changing ${table}`,
      `UPDATE ${table} SET ${Object.keys(columns)
        .map((name) => `${name} = ?`)
        .join(', ')} WHERE id = ?`,
      [...Object.values(columns), id],
    );
  const changePlace = (tx: Transaction, columns: Columns) =>
    tx.changeExactly(
      1,
      'moving a row',
      `UPDATE pushed_row_place SET ${Object.keys(columns)
        .map((name) => `${name} = ?`)
        .join(', ')} WHERE push_id = ? AND row_no = ?`,
      [...Object.values(columns), bill.pushId, bill.rowNo],
    );
  const project = async (tx: Transaction, columns: Columns) => {
    const ids = [bill.billId, bill.platformBillId, bill.diffId];
    for (const [index, table] of PROJECTED.entries()) await change(tx, table, ids[index]!, columns);
    await change(tx, 'fi_resident_income_payment_bill_dimension_snapshot', bill.snapshotId, columns);
    const totals = {
      total_paid: columns.paid_amount ?? '0.00',
      total_payable: columns.current_payable ?? '0.00',
    };
    await change(tx, 'fi_customer_account_partner', bill.accountId, totals);
    await change(tx, 'fi_customer_account', bill.platformAccountId, totals);
  };
  const verify = (tx: Transaction) =>
    change(tx, 'fi_customer_bill_partner', bill.billId, { partner_query_status: 'VERIFIED' });
  const pay = (tx: Transaction, amount: string, eventId = `event-${amount}`) =>
    insertNumberedRow(tx, 'fi_resident_income_payment_fact', {
      event_id: eventId,
      payment_order_id: '1',
      payment_order_version_id: '1',
      order_bill_id: '1',
      partner_bill_id: bill.billId,
      amount,
      paid_time: '2026-05-01 00:00:00.000',
    });
  const makeTask = (tx: Transaction, columns: Columns) =>
    insertNumberedRow(tx, 'fi_async_task', {
      task_type: 'TEST',
      task_code: `TEST:${columns.stage}:${columns.business_key}`,
      business_key: 'key',
      task_data: '{}',
      max_retry_count: 8,
      next_execute_time: '2030-01-01 00:00:00.000',
      partner_org_id: bill.partnerOrgId,
      ...columns,
    });
  /** With the submit that holds it, which is being built. */
  const lockIt = (tx: Transaction, columns: Columns = {}) =>
    makeBillLock(
      tx,
      { platformStationId: bill.platformStationId, month: bill.month, partnerOrgId: bill.partnerOrgId },
      columns,
    );
  const phaseTask = (tx: Transaction, versionId: string, phase: string, columns: Columns = {}) =>
    makeTask(tx, {
      stage: 'payment-submit',
      task_code: `RIPPS:${versionId}:${phase}`,
      business_key: `PAYMENT_SUBMIT:${versionId}:${phase}`,
      max_retry_count: 3,
      ...columns,
    });
  const submitOf = (tx: Transaction, lockId: string) =>
    tx.one<{ versionId: string; orderId: string }>(
      `SELECT payment_order_version_id versionId, payment_order_id orderId FROM ${LOCKS} WHERE id = ?`,
      [lockId],
    );
  const releaseOf = (tx: Transaction, versionId: string, reason: string, columns: Columns = {}) =>
    makeTask(tx, {
      stage: 'lock-release',
      business_key: `LOCK_RELEASE:${versionId}:${reason}`,
      task_data: JSON.stringify({ paymentOrderVersionId: versionId, lockReleaseReason: reason }),
      max_retry_count: 3,
      ...columns,
    });

  it('INV-1 nothing is found in what pushes leave behind', () => assertVerified(system.store));

  describe('locks and submits', () => {
    it('INV-1 a live lock of a submit that is being built is as it should be', async () => {
      expect(await foundAfter((tx) => lockIt(tx))).to.deep.equal([]);
    });

    for (const column of ['payment_order_id', 'session_id', 'submit_attempt', 'data_version']) {
      it(`INV-1 LOCK_WITHOUT_SUBMIT: a live lock whose ${column} is no submit’s has no live submit`, async () => {
        let lockId = '';
        const found = await foundAfter(async (tx) => {
          lockId = await lockIt(tx);
          await change(tx, LOCKS, lockId, { [column]: 77 });
        });
        expect(found).to.deep.equal([`LOCK_WITHOUT_SUBMIT ${lockId}`]);
      });
    }

    it('INV-1 LOCK_WITHOUT_SUBMIT: a live lock of a failed submit is found once no release is on its way', async () => {
      let lockId = '';
      const plant = (release: Columns) => async (tx: Transaction) => {
        lockId = await lockIt(tx);
        const { versionId } = await submitOf(tx, lockId);
        await change(tx, VERSIONS, versionId, { version_build_status: 'BUILD_FAILED' });
        await releaseOf(tx, versionId, 'BUILD_FAILED', release);
      };
      expect(await foundAfter(plant({ status: 0 })), 'waiting').to.deep.equal([]);
      expect(await foundAfter(plant({ status: 3, retry_count: 2 })), 'tried again').to.deep.equal([]);
      for (const columns of [{ status: 3, retry_count: 3 }, { status: 2 }, { status: 4 }])
        expect(await foundAfter(plant(columns))).to.deep.equal([`LOCK_WITHOUT_SUBMIT ${lockId}`]);
    });

    it('INV-1 LOCK_WITHOUT_SUBMIT: a lock of an earlier version is live while the published one takes over, and not after', async () => {
      let lockId = '';
      const plant = (batchStatus: string) => async (tx: Transaction) => {
        lockId = await lockIt(tx, { lock_status: 'ACTIVE' });
        const { versionId, orderId } = await submitOf(tx, lockId);
        await change(tx, VERSIONS, versionId, { version_build_status: 'PUBLISHED' });
        const later = await insertNumberedRow(tx, VERSIONS, {
          payment_order_id: orderId,
          session_id: '999',
          target_data_version: '2',
          submit_attempt: 1,
          submit_token: 'later',
          version_build_status: 'PUBLISHED',
        });
        await change(tx, ORDERS, orderId, { current_publish_version: '2' });
        await insertRow(tx, 'selection_submit_batch', {
          payment_order_version_id: later,
          session_id: '999',
          batch_phase: 'LOCK_ACTIVATE',
          batch_status: batchStatus,
        });
        await phaseTask(tx, later, 'LOCK_ACTIVATE');
      };
      expect(await foundAfter(plant('RUNNING'))).to.deep.equal([]);
      expect(await foundAfter(plant('DONE'))).to.deep.equal([`LOCK_WITHOUT_SUBMIT ${lockId}`]);
    });

    it('INV-1 LOCK_WITHOUT_SUBMIT: a lock of a void order has no live submit', async () => {
      let lockId = '';
      const found = await foundAfter(async (tx) => {
        lockId = await lockIt(tx, { lock_status: 'ACTIVE' });
        const { versionId, orderId } = await submitOf(tx, lockId);
        await change(tx, VERSIONS, versionId, { version_build_status: 'PUBLISHED' });
        await change(tx, ORDERS, orderId, { current_publish_version: '1', order_status: 'VOID' });
      });
      expect(found).to.deep.equal([`LOCK_WITHOUT_SUBMIT ${lockId}`]);
    });

    it('INV-1 LOCK_WITHOUT_SUBMIT: a lock of a deleted order has no live submit', async () => {
      let lockId = '';
      const found = await foundAfter(async (tx) => {
        lockId = await lockIt(tx);
        await change(tx, ORDERS, (await submitOf(tx, lockId)).orderId, { deleted: 1 });
      });
      expect(found).to.deep.equal([`LOCK_WITHOUT_SUBMIT ${lockId}`]);
    });

    it('INV-1 LOCK_WITHOUT_SUBMIT: a lock of a version that is BUILT and not yet published is live', async () => {
      const found = await foundAfter(async (tx) => {
        const { versionId } = await submitOf(tx, await lockIt(tx));
        await change(tx, VERSIONS, versionId, { version_build_status: 'BUILT' });
        await phaseTask(tx, versionId, 'PUBLISH');
      });
      expect(found).to.deep.equal([]);
    });

    for (const status of ['BUILD_FAILED', 'CANCELLED']) {
      it(`INV-1 FAILED_VERSION_WITHOUT_RELEASE: a version that is ${status} without a release is found; with one it is not`, async () => {
        let version = '';
        const plant = (withRelease: boolean) => async (tx: Transaction) => {
          const lockId = await lockIt(tx);
          version = (await submitOf(tx, lockId)).versionId;
          await change(tx, LOCKS, lockId, { lock_status: 'RELEASED' });
          await change(tx, VERSIONS, version, { version_build_status: status });
          if (withRelease) await releaseOf(tx, version, 'SUBMIT_CANCEL', { status: 2 });
        };
        expect(await foundAfter(plant(false))).to.deep.equal([`FAILED_VERSION_WITHOUT_RELEASE ${version}`]);
        expect(await foundAfter(plant(true))).to.deep.equal([]);
      });
    }

    for (const [versionStatus, phase] of [
      ['BUILDING', 'BUILD'],
      ['BUILT', 'PUBLISH'],
    ] as const) {
      it(`INV-1 SUBMIT_WITHOUT_TASK: a version that is ${versionStatus} without an open task to ${phase} is found; none that is under way or over`, async () => {
        let versionId = '';
        const plant =
          (task: Columns | null, status: string = versionStatus) =>
          async (tx: Transaction) => {
            const lockId = await lockIt(tx);
            versionId = (await submitOf(tx, lockId)).versionId;
            await change(tx, VERSIONS, versionId, { version_build_status: status });
            await tx.change('DELETE FROM fi_async_task WHERE task_code LIKE ?', [`RIPPS:${versionId}:%`]);
            if (task !== null) await phaseTask(tx, versionId, phase, task);
          };
        const missed = () => [`SUBMIT_WITHOUT_TASK ${versionId}`];
        expect(await foundAfter(plant(null))).to.deep.equal(missed());
        for (const ended of [{ status: 2 }, { status: 4 }, { status: 3, retry_count: 3 }])
          expect(await foundAfter(plant(ended)), JSON.stringify(ended)).to.deep.equal(missed());
        const other = phase === 'BUILD' ? 'PUBLISH' : 'BUILD';
        const code = async (tx: Transaction) => {
          await plant(null)(tx);
          await phaseTask(tx, versionId, other);
        };
        expect(await foundAfter(code), `only ${other}`).to.deep.equal(missed());
        for (const open of [
          {},
          { activation: 0 },
          { status: 3, retry_count: 2 },
          { status: 3, retry_count: 3, manually_due: 1 },
        ])
          expect(await foundAfter(plant(open)), JSON.stringify(open)).to.deep.equal([]);
        const over = async (tx: Transaction) => {
          await plant(null, 'CANCELLED')(tx);
          await releaseOf(tx, versionId, 'SUBMIT_CANCEL');
        };
        expect(await foundAfter(over), 'given up').to.deep.equal([]);
      });
    }

    it('INV-1 SUBMIT_WITHOUT_TASK: a published version with locks to activate or an audit to plan is found without an open task for it; a failed one waits for a person', async () => {
      let versionId = '';
      const plant =
        (batches: Record<string, string>, tasks: Record<string, Columns>) => async (tx: Transaction) => {
          const lockId = await lockIt(tx, { lock_status: 'ACTIVE' });
          const submit = await submitOf(tx, lockId);
          versionId = submit.versionId;
          await change(tx, VERSIONS, versionId, { version_build_status: 'PUBLISHED' });
          await change(tx, ORDERS, submit.orderId, { current_publish_version: '1' });
          for (const [batch_phase, batch_status] of Object.entries(batches)) {
            await insertRow(tx, 'selection_submit_batch', {
              payment_order_version_id: versionId,
              session_id: '999',
              batch_phase,
              batch_status,
            });
          }
          for (const [phase, columns] of Object.entries(tasks))
            await phaseTask(tx, versionId, phase, columns);
        };
      const activating = { LOCK_ACTIVATE: 'RUNNING', AUDIT_PLAN: 'INIT' };
      const planning = { LOCK_ACTIVATE: 'DONE', AUDIT_PLAN: 'INIT' };
      const done = { LOCK_ACTIVATE: 'DONE', AUDIT_PLAN: 'DONE' };
      for (const [batches, tasks] of [
        [activating, {}],
        [activating, { LOCK_ACTIVATE: { status: 4 } }],
        [activating, { AUDIT_PLAN: {} }],
        [planning, { LOCK_ACTIVATE: {} }],
        [planning, { AUDIT_PLAN: { status: 2 } }],
      ] as const)
        expect(await foundAfter(plant(batches, tasks)), JSON.stringify([batches, tasks])).to.deep.equal([
          `SUBMIT_WITHOUT_TASK ${versionId}`,
        ]);
      for (const [batches, tasks] of [
        [activating, { LOCK_ACTIVATE: {} }],
        [activating, { LOCK_ACTIVATE: { status: 3, retry_count: 3 } }],
        [planning, { AUDIT_PLAN: {} }],
        [done, {}],
      ] as const)
        expect(await foundAfter(plant(batches, tasks)), JSON.stringify([batches, tasks])).to.deep.equal([]);
    });

    it('INV-1 TWO_LOCKS_FOR_ONE_MONTH: two live locks for one station-month are found; a released one beside a live one is not', async () => {
      let second = '';
      const plant = (status: string) => async (tx: Transaction) => {
        await lockIt(tx, { lock_status: status });
        second = await lockIt(tx, { lock_key: 'another' });
      };
      expect(await foundAfter(plant('ACTIVE'))).to.deep.equal([`TWO_LOCKS_FOR_ONE_MONTH ${second}`]);
      expect(await foundAfter(plant('RELEASED'))).to.deep.equal([]);
    });

    it('INV-1 TWO_LOCKS_FOR_ONE_MONTH: locks of two months, or of two stations, are no finding', async () => {
      const plant = (columns: Columns) => async (tx: Transaction) => {
        await lockIt(tx);
        await lockIt(tx, { lock_key: 'another', ...columns });
      };
      expect(await foundAfter(plant({ bill_year_month: '2010-01' }))).to.deep.equal([]);
      expect(await foundAfter(plant({ platform_station_id: '77' }))).to.deep.equal([]);
    });

    it('INV-1 PUBLISHED_LOCK_RELEASED: what a failure released of a version that failed is no finding', async () => {
      const found = await foundAfter(async (tx) => {
        const lockId = await lockIt(tx, { lock_status: 'RELEASED', release_reason: 'BUILD_FAILED' });
        const { versionId } = await submitOf(tx, lockId);
        await change(tx, VERSIONS, versionId, { version_build_status: 'BUILD_FAILED' });
        await releaseOf(tx, versionId, 'BUILD_FAILED', { status: 2 });
      });
      expect(found).to.deep.equal([]);
    });

    it('INV-1 PUBLISHED_LOCK_RELEASED: a lock of a published version that a failure released is found; one that its void order released is not', async () => {
      let lockId = '';
      const plant = (reason: string) => async (tx: Transaction) => {
        lockId = await lockIt(tx, { lock_status: 'RELEASED', release_reason: reason });
        const { versionId, orderId } = await submitOf(tx, lockId);
        await change(tx, VERSIONS, versionId, { version_build_status: 'PUBLISHED' });
        await change(tx, ORDERS, orderId, { current_publish_version: '1' });
      };
      const never = [
        'BUILD_FAILED',
        'INVALID_REVISE_SESSION',
        'SUBMIT_CANCEL',
        'REVISE_FAILED',
        'REVIEW_REJECTED',
      ];
      for (const reason of never)
        expect(await foundAfter(plant(reason)), reason).to.deep.equal([`PUBLISHED_LOCK_RELEASED ${lockId}`]);
      for (const reason of ['ORDER_VOID', 'PAYMENT_SUCCESS', 'COMPENSATION_RELEASE'])
        expect(await foundAfter(plant(reason)), reason).to.deep.equal([]);
    });
  });

  describe('ledger and accounts', () => {
    it('INV-1 BILL_WITHOUT_DIFFERENCE: a committed bill that no difference speaks of is found', async () => {
      const found = await foundAfter((tx) =>
        change(tx, 'fi_monthly_income_difference', bill.diffId, { partner_bill_id: null }),
      );
      expect(found).to.deep.equal([
        `BILL_WITHOUT_DIFFERENCE ${bill.billId}`,
        `LEDGER_SIDES ${bill.diffId}`,
        `PLACE_DOES_NOT_FIT ${bill.pushId}/${bill.rowNo}`,
      ]);
    });

    /** A message of our bill of this station-month; `status` as a task has it. */
    const platformMessage = (tx: Transaction, columns: Columns, month = bill.month) =>
      makeTask(tx, {
        stage: 'income-diff',
        business_key: 'platform-entry',
        task_data: JSON.stringify({
          requestparams: {
            stations: [
              { platformStationId: '999999', bills: [{ billYearMonth: bill.month }] },
              { platformStationId: bill.platformStationId, bills: [{ billYearMonth: month }] },
            ],
          },
        }),
        ...columns,
      });
    const AMOUNTS = [
      ['settlement', 'settlement_amount'],
      ['rent', 'rent'],
      ['pre_rent', 'pre_rent'],
      ['freeze', 'freeze_amount'],
      ['deduction', 'deduction_amount'],
    ] as const;
    const LEDGER = 'fi_monthly_income_difference';

    for (const [side, table] of [
      ['partner', 'fi_customer_bill_partner'],
      ['platform', 'fi_customer_bill'],
    ] as const) {
      const billId = () => (side === 'partner' ? bill.billId : bill.platformBillId);
      for (const [ledger, column] of AMOUNTS) {
        it(`INV-1 LEDGER_SIDES: a ${side} bill with another ${column} than its difference says is found`, async () => {
          const found = await foundAfter((tx) => change(tx, table, billId(), { [column]: '7.77' }));
          expect(found).to.include(`LEDGER_SIDES ${bill.diffId}`);
          const other = await foundAfter((tx) =>
            tx.changeExactly(
              1,
              'changing the ledger',
              `UPDATE ${LEDGER} SET ${side}_${ledger} = 7.77, diff_${ledger} = partner_${ledger} - platform_${ledger} WHERE id = ?`,
              [bill.diffId],
            ),
          );
          expect(other).to.include(`LEDGER_SIDES ${bill.diffId}`);
        });
      }
    }

    for (const columns of [
      { diff_rent: '0.01' },
      { diff_freeze: '0.01' },
      { both_sides_ready: 0 },
      { status: 'PARTNER_ONLY' },
      { status: 'PLATFORM_ONLY' },
      { platform_bill_id: '999999' },
      { platform_bill_id: null },
      { accept_no: '0' },
    ] as Columns[]) {
      it(`INV-1 LEDGER_SIDES: a difference with ${JSON.stringify(columns)} that its bills do not bear out is found`, async () => {
        const found = await foundAfter((tx) => change(tx, LEDGER, bill.diffId, columns));
        expect(found).to.include(`LEDGER_SIDES ${bill.diffId}`);
      });
    }

    it('INV-1 LEDGER_SIDES: a bill of ours that was deleted is found while the difference still has it', async () => {
      const found = await foundAfter((tx) =>
        change(tx, 'fi_customer_bill', bill.platformBillId, { del_flag: 1 }),
      );
      expect(found).to.include(`LEDGER_SIDES ${bill.diffId}`);
    });

    it('INV-1 LEDGER_SIDES: a ledger behind our bill is found when its message was cancelled, not while it is open, nor by another month’s', async () => {
      const plant = (columns: Columns, month?: string) => async (tx: Transaction) => {
        await change(tx, 'fi_customer_bill', bill.platformBillId, { settlement_amount: '7.77' });
        await platformMessage(tx, columns, month);
      };
      const behind = [`LEDGER_SIDES ${bill.diffId}`];
      for (const status of [0, 1, 3]) {
        const found = await foundAfter(plant({ status, slot_no: 1, slot_fence: '1', retry_count: 8 }));
        expect(found, `status ${status}`).not.to.include(behind[0]);
      }
      for (const status of [2, 4]) expect(await foundAfter(plant({ status }))).to.deep.equal(behind);
      expect(await foundAfter(plant({ status: 0 }, '2025-12'))).to.deep.equal(behind);
      expect(await foundAfter(plant({ status: 0, partner_org_id: '999' }))).to.deep.equal(behind);
    });

    it('INV-1 LEDGER_SIDES: a partner’s bill is not found while its row waits for the ledger, or its message was given up', async () => {
      const plant = (place: Columns) => async (tx: Transaction) => {
        await change(tx, 'fi_customer_bill_partner', bill.billId, { settlement_amount: '7.77' });
        await changePlace(tx, place);
      };
      for (const place of [7, 8, 17])
        expect(await foundAfter(plant({ place })), `place ${place}`).not.to.include(
          `LEDGER_SIDES ${bill.diffId}`,
        );
      expect(await foundAfter(plant({ place: 10 }))).to.include(`LEDGER_SIDES ${bill.diffId}`);
    });

    it('INV-1 PLATFORM_BILL_GIVEN_UP: a bill of ours that the ledger never heard of is found when its message was cancelled; one that just waits is not', async () => {
      let billId = '';
      const plant =
        (...messages: Columns[]) =>
        async (tx: Transaction) => {
          billId = await insertNumberedRow(tx, 'fi_customer_bill', {
            customer_account_id: bill.platformAccountId,
            partner_org_id: bill.partnerOrgId,
            small_station_id: bill.platformStationId,
            bill_year_month: '2025-11',
            rent: '0.00',
          });
          for (const [index, columns] of messages.entries())
            await platformMessage(tx, { business_key: `platform-entry-${index}`, ...columns }, '2025-11');
        };
      const ofIt = (found: string[]) => found.filter((one) => one.startsWith('PLATFORM_BILL_GIVEN_UP'));
      expect(ofIt(await foundAfter(plant({ status: 4 })))).to.deep.equal([
        `PLATFORM_BILL_GIVEN_UP ${billId}`,
      ]);
      expect(ofIt(await foundAfter(plant({ status: 4 }, { status: 0 })))).to.deep.equal([]);
      expect(ofIt(await foundAfter(plant({ status: 0 })))).to.deep.equal([]);
      expect(ofIt(await foundAfter(plant()))).to.deep.equal([]);
      const deleted = async (tx: Transaction) => {
        await plant({ status: 4 })(tx);
        await change(tx, 'fi_customer_bill', billId, { del_flag: 1 });
      };
      expect(ofIt(await foundAfter(deleted))).to.deep.equal([]);
    });

    it('INV-1 DIFFERENCE_WITHOUT_TASK: a difference whose bill names no account task is found, and one whose task is not there', async () => {
      const place = `PLACE_DOES_NOT_FIT ${bill.pushId}/${bill.rowNo}`;
      expect(await foundAfter((tx) => changePlace(tx, { account_task_id: null }))).to.deep.equal([
        `DIFFERENCE_WITHOUT_TASK ${bill.diffId}`,
        place,
      ]);
      const waiting = { place: 10, left_at: null, account_task_id: '999999' };
      expect(await foundAfter((tx) => changePlace(tx, waiting))).to.deep.equal([
        `DIFFERENCE_WITHOUT_TASK ${bill.diffId}`,
        place,
      ]);
    });

    it('INV-1 DIFFERENCE_WITHOUT_TASK: a difference without task of its own is not found while another task names it', async () => {
      const found = await foundAfter(async (tx) => {
        await changePlace(tx, { account_task_id: null });
        await makeTask(tx, {
          stage: 'account-shard',
          business_key: 'verification',
          task_data: JSON.stringify({ differenceFactIds: [bill.diffId] }),
        });
      });
      expect(found).to.deep.equal([`PLACE_DOES_NOT_FIT ${bill.pushId}/${bill.rowNo}`]);
    });

    for (const column of ['bill_count', 'total_rent', 'total_deduction', 'total_payable', 'total_paid']) {
      it(`INV-1 …_ACCOUNT_TOTALS: an account of either side whose ${column} is not that of its bills is found`, async () => {
        const partner = await foundAfter((tx) =>
          change(tx, 'fi_customer_account_partner', bill.accountId, { [column]: 7 }),
        );
        expect(partner).to.deep.equal([`PARTNER_ACCOUNT_TOTALS ${bill.accountId}`]);
        const ours = await foundAfter((tx) =>
          change(tx, 'fi_customer_account', bill.platformAccountId, { [column]: 7 }),
        );
        expect(ours).to.deep.equal([`PLATFORM_ACCOUNT_TOTALS ${bill.platformAccountId}`]);
      });
    }

    it('INV-1 PARTNER_ACCOUNT_TOTALS: the partner account’s own cumulative deduction is looked at too', async () => {
      const found = await foundAfter((tx) =>
        change(tx, 'fi_customer_account_partner', bill.accountId, { cumulative_deduction: '7.00' }),
      );
      expect(found).to.deep.equal([`PARTNER_ACCOUNT_TOTALS ${bill.accountId}`]);
    });

    it('INV-1 PLATFORM_ACCOUNT_TOTALS: our own account may lag while a refresh of it is on its way', async () => {
      const found = await foundAfter(async (tx) => {
        await change(tx, 'fi_customer_account', bill.platformAccountId, { total_rent: '7.00' });
        await makeTask(tx, {
          stage: 'account-shard',
          business_key: 'platform-bill',
          task_data: JSON.stringify({
            platformAccountScopes: [{ platformStationId: bill.platformStationId }],
          }),
        });
      });
      expect(found).to.deep.equal([]);
    });

    it('INV-1 DIF-9 SUMMARY_TOTALS: a summary that is not the sum of its differences is found, and one that is missing', async () => {
      const off = await foundAfter((tx) =>
        tx.change('UPDATE fi_project_income_difference SET diff_rent = 7 WHERE share_month = ?', [
          bill.month,
        ]),
      );
      expect(off).to.deep.equal([`SUMMARY_TOTALS 1/${bill.month}`]);
      const gone = await foundAfter((tx) =>
        tx.change('DELETE FROM fi_project_income_difference WHERE share_month = ?', [bill.month]),
      );
      expect(gone).to.deep.equal([`SUMMARY_TOTALS 1/${bill.month}`]);
    });
  });

  describe('payment and read model', () => {
    const PAYABLE = { payment_status: 'PAYABLE', paid_amount: '0.00', current_payable: '110.00' };
    const IN_PART = { payment_status: 'PARTIALLY_PAID', paid_amount: '50.00', current_payable: '60.00' };
    const ALL = { payment_status: 'PAID', paid_amount: '110.00', current_payable: '0.00' };

    it('INV-1 PROJECTION_NOT_FACTS: paid and payable that follow from bill and payments are as they should be', async () => {
      const plant = (columns: Columns, paid: readonly string[]) => async (tx: Transaction) => {
        await verify(tx);
        for (const amount of paid) await pay(tx, amount);
        await project(tx, columns);
      };
      expect(await foundAfter(plant(PAYABLE, []))).to.deep.equal([]);
      expect(await foundAfter(plant(IN_PART, ['50.00']))).to.deep.equal([]);
      expect(await foundAfter(plant(ALL, ['100.00', '10.00']))).to.deep.equal([]);
      expect(await foundAfter(plant(IN_PART, ['110.00', '-60.00']))).to.deep.equal([]);
    });

    it('INV-1 PROJECTION_NOT_FACTS: a payment that the projection does not know is found', async () => {
      const plant = (columns: Columns) => async (tx: Transaction) => {
        await verify(tx);
        await pay(tx, '50.00');
        await project(tx, columns);
      };
      for (const columns of [
        PAYABLE,
        ALL,
        { ...IN_PART, current_payable: '61.00' },
        { ...IN_PART, payment_status: 'PAYABLE' },
      ])
        expect(await foundAfter(plant(columns))).to.deep.equal([`PROJECTION_NOT_FACTS ${bill.diffId}`]);
    });

    it('INV-1 PROJECTION_NOT_FACTS: what is offered for payment without a verification is found', async () => {
      expect(await foundAfter((tx) => project(tx, PAYABLE))).to.deep.equal([
        `PROJECTION_NOT_FACTS ${bill.diffId}`,
      ]);
    });

    it('INV-1 PROJECTION_NOT_FACTS: a projection may lag while a refresh names its difference, or all of the partner are refreshed', async () => {
      const plant = (task: Columns) => async (tx: Transaction) => {
        await verify(tx);
        await makeTask(tx, { business_key: 'refresh', ...task });
      };
      const named = {
        stage: 'account-shard',
        task_data: JSON.stringify({ differenceFactIds: [bill.diffId] }),
      };
      const another = {
        stage: 'account-shard',
        task_data: JSON.stringify({ differenceFactIds: ['999999'] }),
      };
      for (const status of [0, 1, 3]) {
        const slot = { slot_no: 1, slot_fence: '1', status };
        expect(await foundAfter(plant({ ...named, ...slot })), `status ${status}`).not.to.include(
          `PROJECTION_NOT_FACTS ${bill.diffId}`,
        );
      }
      expect(await foundAfter(plant({ stage: 'account-full' }))).to.deep.equal([]);
      expect(await foundAfter(plant(another))).to.deep.equal([`PROJECTION_NOT_FACTS ${bill.diffId}`]);
      expect(await foundAfter(plant({ ...named, status: 2 }))).to.deep.equal([
        `PROJECTION_NOT_FACTS ${bill.diffId}`,
      ]);
    });

    for (const [side, table] of [
      ['partner bill', 'fi_customer_bill_partner'],
      ['platform bill', 'fi_customer_bill'],
    ] as const) {
      for (const columns of [
        { payment_status: 'PAYABLE' },
        { paid_amount: '1.00' },
        { current_payable: '1.00' },
      ]) {
        const [column] = Object.keys(columns);
        it(`INV-1 PROJECTION_TABLES_DIFFER: a ${side} with another ${column} than its difference is found`, async () => {
          const id = table === 'fi_customer_bill' ? bill.platformBillId : bill.billId;
          const found = await foundAfter((tx) => change(tx, table, id, columns));
          expect(found).to.include(`PROJECTION_TABLES_DIFFER ${bill.diffId}`);
          expect(found.filter((one) => !/^PROJECTION_TABLES|ACCOUNT_TOTALS/.test(one))).to.deep.equal([]);
        });
      }
    }

    it('INV-1 DEC-4 OVERPAID: a bill that a correction left worth less than was paid of it is found', async () => {
      const plant = (paid: string) => async (tx: Transaction) => {
        await verify(tx);
        await pay(tx, paid);
        await project(tx, { payment_status: 'PAID', paid_amount: paid, current_payable: '0.00' });
      };
      expect(await foundAfter(plant('110.01'))).to.deep.equal([`OVERPAID ${bill.billId}`]);
      expect(await foundAfter(plant('110.00'))).to.deep.equal([]);
    });

    it('INV-1 DEC-4 OVERPAID: what is frozen is not payable, and what was taken back is not paid', async () => {
      const plant = (payments: readonly string[]) => async (tx: Transaction) => {
        await change(tx, 'fi_customer_bill_partner', bill.billId, { freeze_amount: '10.00' });
        for (const [index, amount] of payments.entries()) await pay(tx, amount, `event-${index}`);
      };
      const overpaid = async (payments: readonly string[]) =>
        (await foundAfter(plant(payments))).filter((found) => found.startsWith('OVERPAID'));
      expect(await overpaid(['100.01'])).to.deep.equal([`OVERPAID ${bill.billId}`]);
      expect(await overpaid(['100.00'])).to.deep.equal([]);
      expect(await overpaid(['60.00', '60.00', '-60.00'])).to.deep.equal([]);
    });

    it('INV-1 SNAPSHOT_BEHIND: a snapshot of an older version than its difference is found, unless its task is on its way', async () => {
      const older = (tx: Transaction) =>
        tx.change(
          'UPDATE fi_monthly_income_difference SET financial_version = financial_version + 1 WHERE id = ?',
          [bill.diffId],
        );
      expect(await foundAfter(older)).to.deep.equal([`SNAPSHOT_BEHIND ${bill.snapshotId}`]);
      const asked = async (tx: Transaction) => {
        await older(tx);
        const code = `BDS:${bill.partnerOrgId}:${bill.platformStationId}`;
        await tx.changeExactly(1, 'asking again', 'UPDATE fi_async_task SET status = 0 WHERE task_code = ?', [
          code,
        ]);
      };
      expect(await foundAfter(asked)).to.deep.equal([]);
    });

    it('INV-1 SNAPSHOT_BEHIND: a snapshot of the same version with another projection is found', async () => {
      const found = await foundAfter((tx) =>
        change(tx, 'fi_resident_income_payment_bill_dimension_snapshot', bill.snapshotId, {
          current_payable: '7.00',
        }),
      );
      expect(found).to.deep.equal([`SNAPSHOT_BEHIND ${bill.snapshotId}`]);
    });
  });

  describe('engine', () => {
    const STUCK = { stage: 'session-cleanup', business_key: 'stuck', partner_org_id: '0' };

    it('INV-1 TASK_STUCK: a task that five claims got nowhere is found; four, or an end, are no finding', async () => {
      const plant = (columns: Columns) => (tx: Transaction) => makeTask(tx, { ...STUCK, ...columns });
      expect(await foundAfter(plant({ claims_without_progress: 5 }))).to.deep.equal([
        'TASK_STUCK TEST:session-cleanup:stuck',
      ]);
      expect(await foundAfter(plant({ claims_without_progress: 4, running_attempt: 40 }))).to.deep.equal([]);
      for (const columns of [{ status: 2 }, { status: 4 }, { status: 3, retry_count: 8 }])
        expect(await foundAfter(plant({ claims_without_progress: 9, ...columns }))).to.deep.equal([]);
    });

    it('INV-1 TASK_STUCK: a running task that got nowhere is found by its slot', async () => {
      const found = await foundAfter(async (tx) => {
        const running = { status: 1, slot_no: 9, slot_fence: '3', claims_without_progress: 6 };
        const id = await makeTask(tx, { ...STUCK, ...running });
        await insertRow(tx, 'stage_slot', {
          stage: 'session-cleanup',
          partner_org_id: '0',
          slot_no: 9,
          holder: 'me',
          fence: '3',
          task_ids: JSON.stringify([id]),
        });
      });
      expect(found).to.deep.equal(['TASK_STUCK TEST:session-cleanup:stuck']);
    });

    it('INV-1 TASK_STUCK: a task that has waited for minutes for what another holds is found; for seconds it is not', async () => {
      const plant = (ago: string) => async (tx: Transaction) => {
        const id = await makeTask(tx, STUCK);
        await tx.change(`UPDATE fi_async_task SET busy_since = NOW(3) - INTERVAL ${ago} WHERE id = ?`, [id]);
      };
      expect(await foundAfter(plant('6 MINUTE'))).to.deep.equal(['TASK_STUCK TEST:session-cleanup:stuck']);
      expect(await foundAfter(plant('20 SECOND'))).to.deep.equal([]);
    });

    it('INV-1 SLOT_WITHOUT_OWNER: a slot whose holder died and that nobody took over is found; one that just died is not', async () => {
      const plant = (ago: string) => async (tx: Transaction) => {
        await insertRow(tx, 'stage_slot', {
          stage: 'session-cleanup',
          partner_org_id: '0',
          slot_no: 9,
          holder: 'gone',
          fence: '3',
        });
        await tx.change(`UPDATE stage_slot SET lease_end = NOW(3) - INTERVAL ${ago} WHERE slot_no = 9`);
      };
      expect(await foundAfter(plant('2 MINUTE'))).to.deep.equal(['SLOT_WITHOUT_OWNER session-cleanup:0:9']);
      expect(await foundAfter(plant('5 SECOND'))).to.deep.equal([]);
    });

    for (const push of ['0', 'its own']) {
      it(`INV-1 RUNNING_WITHOUT_SLOT: a running task under a fence that nobody holds is found (push ${push})`, async () => {
        const found = await foundAfter((tx) =>
          makeTask(tx, {
            ...STUCK,
            push_id: push === '0' ? '0' : pushId,
            status: 1,
            slot_no: 1,
            slot_fence: '1',
          }),
        );
        expect(found).to.deep.equal(['RUNNING_WITHOUT_SLOT TEST:session-cleanup:stuck']);
      });
    }

    it('INV-1 GUARD_WITHOUT_STATION: a guard of a station that nobody has is found, of either kind', async () => {
      const found = await foundAfter(async (tx) => {
        await insertRow(tx, 'station_guard', {
          kind: 1,
          partner_org_id: bill.partnerOrgId,
          platform_station_id: '0',
          partner_station_no: 'nobody',
        });
        await insertRow(tx, 'station_guard', {
          kind: 2,
          partner_org_id: '0',
          platform_station_id: '424242',
          partner_station_no: '',
        });
      });
      expect(found).to.deep.equal([
        `GUARD_WITHOUT_STATION 1:${bill.partnerOrgId}:0:nobody`,
        'GUARD_WITHOUT_STATION 2:0:424242:',
      ]);
    });
  });

  describe('coverage', () => {
    const misfits: readonly [what: string, columns: Columns][] = [
      ['INVALID though it was accepted', { place: 1, left_at: 1 }],
      ['CURRENT and said to have left', { left_at: 3 }],
      ['STATION_PENDING with a bill', { place: 3 }],
      ['STATION_PENDING without work', { place: 3, bill_id: null }],
      ['STATION_FAILED without work', { place: 4, left_at: 3, bill_id: null }],
      ['STALE though the bill is its own', { place: 5, left_at: 3, superseded_by_push_id: '1' }],
      ['SUPERSEDED though the bill is its own', { place: 6, left_at: 4, superseded_by_push_id: '1' }],
      ['DIFF_PENDING without work', { place: 7 }],
      ['DIFF_FAILED without work', { place: 8, left_at: 4 }],
      ['PAYMENT_DISABLED with an account task', { place: 9, left_at: 5 }],
      ['ACCOUNT_PENDING without work', { place: 10 }],
      ['ACCOUNT_FAILED without work', { place: 11, left_at: 6 }],
      ['SNAPSHOT_PENDING without work', { place: 13 }],
      ['SNAPSHOT_FAILED without work', { place: 14, left_at: 7 }],
      ['CURRENT without a bill', { bill_id: null }],
      ['CURRENT without a difference', { diff_id: null }],
      ['CURRENT and waiting for a snapshot', { snapshot_task_id: '1' }],
    ];
    for (const [what, columns] of misfits) {
      it(`INV-1 PLACE_DOES_NOT_FIT: a row that is ${what} is found`, async () => {
        const found = await foundAfter((tx) => changePlace(tx, columns));
        expect(found).to.include(`PLACE_DOES_NOT_FIT ${bill.pushId}/${bill.rowNo}`);
      });
    }

    it('INV-1 PLACE_DOES_NOT_FIT: a row that is CURRENT without a snapshot is found', async () => {
      const found = await foundAfter((tx) =>
        tx.change('DELETE FROM fi_resident_income_payment_bill_dimension_snapshot WHERE id = ?', [
          bill.snapshotId,
        ]),
      );
      expect(found).to.deep.equal([`PLACE_DOES_NOT_FIT ${bill.pushId}/${bill.rowNo}`]);
    });

    it('INV-1 COVERAGE_CONSERVED: a pushed row without a place is found, and its push does not add up', async () => {
      const found = await foundAfter((tx) =>
        tx.change('DELETE FROM pushed_row_place WHERE push_id = ? AND row_no = ?', [bill.pushId, bill.rowNo]),
      );
      expect(found).to.deep.equal([
        `COVERAGE_CONSERVED ${bill.pushId}/${bill.rowNo}`,
        `PUSH_TOTALS ${bill.pushId}`,
      ]);
    });

    it('INV-1 COVERAGE_CONSERVED: money that was lost on the way is found', async () => {
      const found = await foundAfter((tx) => changePlace(tx, { rent: '1.00' }));
      expect(found).to.deep.equal([
        `COVERAGE_CONSERVED ${bill.pushId}/${bill.rowNo}`,
        `PUSH_TOTALS ${bill.pushId}`,
      ]);
    });

    for (const column of ['requested_count', 'accepted_amount', 'refused_count']) {
      it(`INV-1 PUSH_TOTALS: a push whose ${column} is not that of its rows is found`, async () => {
        const found = await foundAfter((tx) =>
          tx.changeExactly(
            1,
            'miscounting',
            `UPDATE partner_push SET ${column} = ${column} + 1 WHERE push_id = ?`,
            [pushId],
          ),
        );
        expect(found).to.deep.equal([`PUSH_TOTALS ${pushId}`]);
      });
    }
  });
});
