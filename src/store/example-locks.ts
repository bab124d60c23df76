/**
 * Bill locks of the example, written as a payment submit would write them: under the platform station's guard (STA-9),
 * with the live key that makes a second one impossible (DEC-12). They stand in for a payment that the example does not run.
 */
import { lockGuards, platformStationGuard } from './guards.ts';
import type { Sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

export interface BillLockSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
}

/** No payment order has this number. */
const EXAMPLE_ORDER_ID = '0';
const RELEASE_REASON = 'COMPENSATION_RELEASE';

/** Once more is the same as once, while it is live. */
export async function reserveExampleLock(tx: Transaction, seed: BillLockSeed): Promise<void> {
  await lockGuards(tx, [{ key: platformStationGuard(seed.platformStationId) }]);
  await tx.change(
    `INSERT INTO fi_resident_income_payment_bill_lock
       (lock_key, lock_status, platform_station_id, bill_year_month, partner_org_id, payment_order_id, session_id,
        submit_attempt, data_version)
     VALUES (?, 'RESERVED', ?, ?, ?, ?, ?, 1, 1)
     ON DUPLICATE KEY UPDATE lock_key = lock_key`,
    [
      liveKey(seed),
      ...[seed.platformStationId, seed.billYearMonth, seed.partnerOrgId],
      ...[EXAMPLE_ORDER_ID, EXAMPLE_ORDER_ID],
    ],
  );
}

/** The row stays, under a key that leaves the live one to the next lock (LCK-17). @returns whether one was live */
export async function releaseExampleLock(tx: Transaction, seed: BillLockSeed): Promise<boolean> {
  await lockGuards(tx, [{ key: platformStationGuard(seed.platformStationId) }]);
  const hit = await tx.change(
    `UPDATE fi_resident_income_payment_bill_lock
        SET lock_status = 'RELEASED', lock_key = CONCAT(lock_key, ':RELEASED:', id), release_time = NOW(3), release_reason = ?
      WHERE lock_key = ? AND payment_order_id = ?`,
    [RELEASE_REASON, liveKey(seed), EXAMPLE_ORDER_ID],
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
