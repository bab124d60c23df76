/** What is recorded about the order bills of a version: payments and verdicts (LCK-3). */
import type { Sql } from './sql.ts';

/** Of the bills asked for, how many are how. */
export interface BillEvidence {
  readonly bills: number;
  readonly unpaid: number;
  readonly paidInPart: number;
  readonly paidInFull: number;
  readonly unqualified: number;
}

/** @param orderBillIds null: all of the version */
export async function readBillEvidence(
  sql: Sql,
  versionId: string,
  orderBillIds: readonly string[] | null,
): Promise<BillEvidence> {
  const selected = orderBillIds === null ? '' : 'AND ob.id IN (?)';
  const row = await sql.one<Record<keyof BillEvidence, string | null>>(
    `SELECT COUNT(*) bills, SUM(paid <= 0) unpaid, SUM(paid > 0 AND paid < amount) paidInPart,
            SUM(paid >= amount AND paid > 0) paidInFull, SUM(verdict = 'UNQUALIFIED') unqualified
       FROM (SELECT ob.amount, b.partner_query_status verdict,
                    (SELECT COALESCE(SUM(f.amount), 0) FROM fi_resident_income_payment_fact f
                      WHERE f.partner_bill_id = ob.partner_bill_id AND f.order_bill_id = ob.id) paid
               FROM fi_resident_income_payment_order_bill ob
               LEFT JOIN fi_customer_bill_partner b ON b.id = ob.partner_bill_id
              WHERE ob.payment_order_version_id = ? ${selected}) own`,
    orderBillIds === null ? [versionId] : [versionId, orderBillIds],
  );
  const count = (name: keyof BillEvidence) => Number(row[name] ?? 0);
  return {
    bills: count('bills'),
    unpaid: count('unpaid'),
    paidInPart: count('paidInPart'),
    paidInFull: count('paidInFull'),
    unqualified: count('unqualified'),
  };
}

/** Whether a result of that kind has come in for the version's order. */
export async function hasResult(
  sql: Sql,
  versionId: string,
  kind: 'AUDIT_RESULT' | 'PAYMENT_RESULT',
): Promise<boolean> {
  const row = await sql.one<{ results: string }>(
    `SELECT COUNT(*) results FROM fi_resident_income_payment_event e
       JOIN fi_resident_income_payment_order_version v ON v.payment_order_id = e.payment_order_id
      WHERE v.id = ? AND e.kind = ?`,
    [versionId, kind],
  );
  return Number(row.results) > 0;
}
