import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/** DEC-4: bills of which more has been paid than they are worth by now. Walks along the bills that have payments. */
export function listOverpaidBills(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['partner_bill_id'], range);
  const worth = 'GREATEST(0, b.rent - COALESCE(b.deduction_amount, 0) - COALESCE(b.freeze_amount, 0))';
  return reader.many<FoundRow>(
    `SELECT b.id targetId, ${TOTAL}, b.partner_org_id partnerOrgId, b.customer_account_id customerAccountId,
            b.bill_year_month billYearMonth, b.push_id pushId, f.paid, ${worth} payableInAll, f.paid - ${worth} overpaid
       FROM (SELECT partner_bill_id, SUM(amount) paid FROM fi_resident_income_payment_fact
              WHERE ${where.sql} GROUP BY partner_bill_id) f
       JOIN fi_customer_bill_partner b ON b.id = f.partner_bill_id
      WHERE f.paid > ${worth}
      ORDER BY b.id ${SHOWN}`,
    where.values,
  );
}
