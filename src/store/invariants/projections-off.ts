import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isRefreshDue, NOT_REFRESHED, placeOfBill } from './work-under-way.ts';

const SETTLED = `(w.place IS NULL OR w.place NOT IN (${NOT_REFRESHED}))`;

/**
 * The projection worked out anew in SQL, apart from the code that writes it (`15-decisions`, Projection). `q` has a
 * difference with its bill's amounts; `remainder` is what is left to pay.
 */
const EXPECTED_STATUS = `CASE
    WHEN q.payment_flow = 'DISABLED' THEN 'NOT_APPLICABLE'
    WHEN q.rent IS NULL THEN 'NOT_VERIFIED'
    WHEN q.bill_query_status = 'UNQUALIFIED' THEN 'UNQUALIFIED'
    WHEN NOT (q.bill_query_status <=> 'VERIFIED') THEN 'NOT_VERIFIED'
    WHEN q.paid > 0 THEN IF(q.remainder = 0, 'PAID', 'PARTIALLY_PAID')
    ELSE IF(q.remainder = 0, 'SETTLED', 'PAYABLE') END`;

/** Differences whose status, paid or payable is not what bill and payment facts say. An undecided payment flow decides nothing. */
export function listProjectionsOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['d.id'], range);
  const paid =
    'SELECT COALESCE(SUM(f.amount), 0) FROM fi_resident_income_payment_fact f WHERE f.partner_bill_id = b.id';
  const basis = `SELECT d.id, d.partner_org_id, d.station_id, d.share_month, d.payment_status, d.paid_amount, d.current_payable,
            p.payment_flow, b.id bill_id, b.rent, b.partner_query_status bill_query_status, (${paid}) paid,
            GREATEST(0, b.rent - COALESCE(b.deduction_amount, 0) - COALESCE(b.freeze_amount, 0) - (${paid})) remainder
       FROM fi_monthly_income_difference d
       JOIN partner p ON p.partner_org_id = d.partner_org_id
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
       LEFT JOIN ${placeOfBill('b', 'w')}
      WHERE ${where.sql} AND p.payment_flow IS NOT NULL AND ${SETTLED}`;
  const judged = `SELECT q.*, ${EXPECTED_STATUS} expected_status FROM (${basis}) q`;
  return reader.many<FoundRow>(
    `SELECT j.id targetId, ${TOTAL}, j.partner_org_id partnerOrgId, j.station_id platformStationId,
            j.share_month billYearMonth, j.bill_id partnerBillId, j.payment_status paymentStatus,
            j.expected_status expectedStatus, j.paid_amount paidAmount, j.paid paidByFacts,
            j.current_payable currentPayable, j.remainder
       FROM (${judged}) j
      WHERE (j.payment_status <> j.expected_status OR j.paid_amount <> j.paid
             OR j.current_payable <> IF(j.expected_status IN ('PAYABLE', 'PARTIALLY_PAID'), j.remainder, 0))
        AND NOT ${isRefreshDue('j')}
      ORDER BY j.id ${SHOWN}`,
    where.values,
  );
}

const fits = (bill: string) =>
  ['payment_status', 'paid_amount', 'current_payable']
    .map((column) => `${bill}.${column} = d.${column}`)
    .join(' AND ');

/** The three tables that carry a projection carry the same one (ACC-7). */
export function listProjectionsApart(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['d.id'], range);
  const side = (name: string, table: string) =>
    `${table}.payment_status ${name}Status, ${table}.paid_amount ${name}Paid, ${table}.current_payable ${name}Payable`;
  return reader.many<FoundRow>(
    `SELECT d.id targetId, ${TOTAL}, d.partner_org_id partnerOrgId, d.station_id platformStationId,
            d.share_month billYearMonth, d.partner_bill_id partnerBillId, d.platform_bill_id platformBillId,
            ${side('difference', 'd')}, ${side('partnerBill', 'b')}, ${side('platformBill', 'ours')}
       FROM fi_monthly_income_difference d
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
       LEFT JOIN fi_customer_bill ours ON ours.id = d.platform_bill_id AND ours.del_flag = 0
       LEFT JOIN ${placeOfBill('b', 'w')}
      WHERE ${where.sql} AND ${SETTLED}
        AND ((b.id IS NOT NULL AND NOT (${fits('b')})) OR (ours.id IS NOT NULL AND NOT (${fits('ours')})))
        AND NOT ${isRefreshDue('d')}
      ORDER BY d.id ${SHOWN}`,
    where.values,
  );
}
