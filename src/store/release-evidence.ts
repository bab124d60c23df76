/** What has come in about the order bills of a version: payment results and audits (LCK-3). */
import type { Sql } from './sql.ts';

export type PaymentReason = 'PAYMENT_SUCCESS' | 'PARTIAL_PAYMENT' | 'PAYMENT_FAIL';

/** Of the order bills asked for, how many a result speaks of. */
export interface BillEvidence {
  readonly bills: number;
  readonly backed: number;
}

/** What the facts of a bill must come to as well: a payment may have been taken back since. */
const PAID_AS: Readonly<Record<PaymentReason, string>> = {
  PAYMENT_SUCCESS: 'paid >= amount',
  PARTIAL_PAYMENT: 'paid > 0 AND paid < amount',
  PAYMENT_FAIL: 'paid < amount',
};

/**
 * Of a bill the last result counts that released it: a bill may fail while its first payment is still being released.
 * A reversal releases nothing.
 * @param orderBillIds null: all of the version
 */
export async function readPaymentEvidence(
  sql: Sql,
  versionId: string,
  orderBillIds: readonly string[] | null,
  reason: PaymentReason,
): Promise<BillEvidence> {
  const { condition, values } = billsOf(versionId, orderBillIds);
  const row = await sql.one<{ bills: string; backed: string | null }>(
    `SELECT COUNT(*) bills, SUM(reason = ? AND ${PAID_AS[reason]}) backed
       FROM (SELECT ob.amount, last_result.reason,
                    (SELECT COALESCE(SUM(f.amount), 0) FROM fi_resident_income_payment_fact f
                      WHERE f.partner_bill_id = ob.partner_bill_id AND f.order_bill_id = ob.id) paid
               FROM fi_resident_income_payment_order_bill ob
               LEFT JOIN (SELECT CAST(e.answer->>'$.orderBillId' AS UNSIGNED) order_bill_id,
                                 e.answer->>'$.lockReleaseReason' reason,
                                 ROW_NUMBER() OVER (PARTITION BY e.answer->>'$.orderBillId'
                                                    ORDER BY e.create_time DESC, e.event_id DESC) back
                            FROM fi_resident_income_payment_order_version v
                            JOIN fi_resident_income_payment_event e ON e.payment_order_id = v.payment_order_id
                           WHERE v.id = ? AND e.kind = 'PAYMENT_RESULT'
                             AND e.answer->>'$.lockReleaseReason' IS NOT NULL) last_result
                 ON last_result.order_bill_id = ob.id AND last_result.back = 1
              WHERE ${condition}) own`,
    [reason, versionId, ...values],
  );
  return evidenceOf(row);
}

/**
 * DEC-14: those that an approval of this very version found unqualified.
 * @param orderBillIds null: all of the version
 */
export async function readAuditEvidence(
  sql: Sql,
  versionId: string,
  orderBillIds: readonly string[] | null,
): Promise<BillEvidence> {
  const { condition, values } = billsOf(versionId, orderBillIds);
  const row = await sql.one<{ bills: string; backed: string | null }>(
    `SELECT COUNT(*) bills, COUNT(found.id) backed
       FROM fi_resident_income_payment_order_bill ob
       LEFT JOIN (SELECT DISTINCT named.id
                    FROM fi_resident_income_payment_order_version v
                    JOIN fi_resident_income_payment_event e ON e.payment_order_id = v.payment_order_id
                    JOIN JSON_TABLE(e.answer, '$.unqualifiedOrderBillIds[*]' COLUMNS (id BIGINT UNSIGNED PATH '$')) named
                   WHERE v.id = ? AND e.kind = 'AUDIT_RESULT' AND e.answer->>'$.result' = 'APPROVED'
                     AND e.answer->>'$.paymentOrderVersionId' = ?) found ON found.id = ob.id
      WHERE ${condition}`,
    [versionId, versionId, ...values],
  );
  return evidenceOf(row);
}

function billsOf(versionId: string, orderBillIds: readonly string[] | null) {
  return orderBillIds === null
    ? { condition: 'ob.payment_order_version_id = ?', values: [versionId] }
    : { condition: 'ob.payment_order_version_id = ? AND ob.id IN (?)', values: [versionId, orderBillIds] };
}

function evidenceOf(row: { bills: string; backed: string | null }): BillEvidence {
  return { bills: Number(row.bills), backed: Number(row.backed ?? 0) };
}
