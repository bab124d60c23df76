/**
 * Bill locks of the example, written as a payment submit would write them: under the platform station's guard (STA-9),
 * with the live key that makes a second one impossible (DEC-12). They stand in for a payment that the example does not run.
 */
import { type SubmitTaskData, submitTaskCode, submitTaskKey } from '../domain/payment-submit.ts';
import { Activation } from '../domain/task-status.ts';
import { lockGuards, platformStationGuard } from './guards.ts';
import type { Sql } from './sql.ts';
import { findTaskByCode, insertTasksIfAbsent } from './tasks.ts';
import type { Transaction } from './transaction.ts';
import { stopIfWaiting } from './waiting-tasks.ts';

export interface BillLockSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
}

/** One submit of each partner, which is never built: it only occupies. */
const exampleName = (seed: BillLockSeed) => `EXAMPLE-${seed.partnerOrgId}`;
const RELEASE_REASON = 'COMPENSATION_RELEASE';

/** Once more is the same as once, while it is live. */
export async function reserveExampleLock(tx: Transaction, seed: BillLockSeed): Promise<void> {
  await lockGuards(tx, [{ key: platformStationGuard(seed.platformStationId) }]);
  const submit = await ensureExampleSubmit(tx, seed);
  await tx.change(
    `INSERT INTO fi_resident_income_payment_bill_lock
       (lock_key, lock_status, platform_station_id, bill_year_month, partner_org_id, payment_order_id,
        payment_order_version_id, session_id, submit_attempt, data_version)
     VALUES (?, 'RESERVED', ?, ?, ?, ?, ?, ?, 1, 1)
     ON DUPLICATE KEY UPDATE lock_key = lock_key`,
    [
      liveKey(seed),
      ...[seed.platformStationId, seed.billYearMonth, seed.partnerOrgId],
      ...[submit.orderId, submit.versionId, submit.sessionId],
    ],
  );
}

interface ExampleSubmit {
  readonly orderId: string;
  readonly versionId: string;
  readonly sessionId: string;
}

/** A lock without a submit would be what inspection looks for (INV-1). */
async function ensureExampleSubmit(tx: Transaction, seed: BillLockSeed): Promise<ExampleSubmit> {
  const name = exampleName(seed);
  await tx.change(
    `INSERT INTO fi_resident_income_payment_order (order_no, partner_org_id, create_user_id) VALUES (?, ?, 'example')
     ON DUPLICATE KEY UPDATE order_no = order_no`,
    [name, seed.partnerOrgId],
  );
  await tx.change(
    `INSERT INTO selection_session (partner_org_id, mode, status, creator_user_id, months, active_scope_key)
     VALUES (?, 'NEW', 'SUBMITTING', 'example', '[]', ?) ON DUPLICATE KEY UPDATE active_scope_key = active_scope_key`,
    [seed.partnerOrgId, name],
  );
  await tx.change(
    `INSERT INTO fi_resident_income_payment_order_version
       (payment_order_id, session_id, target_data_version, submit_attempt, submit_token, version_build_status)
     SELECT o.id, s.id, 1, 1, ?, 'BUILDING' FROM fi_resident_income_payment_order o JOIN selection_session s ON s.active_scope_key = ?
      WHERE o.order_no = ?
     ON DUPLICATE KEY UPDATE submit_token = VALUES(submit_token)`,
    [name, name, name],
  );
  const submit = await tx.one<ExampleSubmit>(
    `SELECT v.payment_order_id orderId, v.id versionId, v.session_id sessionId
       FROM fi_resident_income_payment_order o
       JOIN fi_resident_income_payment_order_version v ON v.payment_order_id = o.id AND v.target_data_version = 1
      WHERE o.order_no = ?`,
    [name],
  );
  await ensureStoppedBuild(tx, seed.partnerOrgId, submit, name);
  return submit;
}

/** Stopped, as by an operator: work that is under way has a task, and this one only occupies. */
async function ensureStoppedBuild(
  tx: Transaction,
  partnerOrgId: string,
  { versionId, sessionId }: ExampleSubmit,
  submitToken: string,
): Promise<void> {
  const phase = 'BUILD';
  const data: SubmitTaskData = {
    phase,
    paymentOrderVersionId: versionId,
    sessionId,
    submitAttempt: 1,
    submitToken,
  };
  const taskCode = submitTaskCode(versionId, phase);
  await insertTasksIfAbsent(tx, [
    {
      stage: 'payment-submit',
      taskType: 'RESIDENT_INCOME_PAYMENT_SUBMIT',
      taskCode,
      businessKey: submitTaskKey(versionId, phase),
      data,
      partnerOrgId,
      pushId: '0',
      maxRetryCount: 3,
    },
  ]);
  const task = await findTaskByCode(tx, taskCode);
  if (task?.activation === Activation.ACTIVE) await stopIfWaiting(tx, task.id);
}

/** The row stays, under a key that leaves the live one to the next lock (LCK-17). @returns whether one was live */
export async function releaseExampleLock(tx: Transaction, seed: BillLockSeed): Promise<boolean> {
  await lockGuards(tx, [{ key: platformStationGuard(seed.platformStationId) }]);
  const hit = await tx.change(
    `UPDATE fi_resident_income_payment_bill_lock l
       JOIN fi_resident_income_payment_order o ON o.id = l.payment_order_id AND o.order_no = ?
        SET l.lock_status = 'RELEASED', l.lock_key = CONCAT(l.lock_key, ':RELEASED:', l.id), l.release_time = NOW(3),
            l.release_reason = ?
      WHERE l.lock_key = ?`,
    [exampleName(seed), RELEASE_REASON, liveKey(seed)],
  );
  return hit === 1;
}

export async function isLocked(sql: Sql, seed: BillLockSeed): Promise<boolean> {
  const row = await sql.maybeOne('SELECT id FROM fi_resident_income_payment_bill_lock WHERE lock_key = ?', [
    liveKey(seed),
  ]);
  return row !== null;
}

function liveKey(seed: BillLockSeed): string {
  return `${seed.platformStationId}:${seed.billYearMonth}`;
}
