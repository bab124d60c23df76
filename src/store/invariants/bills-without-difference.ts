import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { NOT_IN_LEDGER, placeOfBill } from './work-under-way.ts';

/** Committed bills that no difference speaks of, although the row that wrote them is neither on its way there nor held up. */
export function listBillsWithoutDifference(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['b.id'], range);
  return reader.many<FoundRow>(
    `SELECT b.id targetId, ${TOTAL}, b.partner_org_id partnerOrgId, a.partner_station_no partnerStationNo,
            m.platform_station_id platformStationId, b.bill_year_month billYearMonth, b.push_id pushId, b.push_row_no rowNo,
            w.place, d.id diffId, d.partner_bill_id partnerBillIdOfDifference
       FROM fi_customer_bill_partner b
       JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
       LEFT JOIN station_mapping m ON m.partner_org_id = a.partner_org_id AND m.partner_station_no = a.partner_station_no
       LEFT JOIN fi_monthly_income_difference d ON d.partner_org_id = b.partner_org_id
         AND d.station_id = m.platform_station_id AND d.share_month = b.bill_year_month
       LEFT JOIN ${placeOfBill('b', 'w')}
      WHERE ${where.sql} AND b.del_flag = 0 AND NOT (d.partner_bill_id <=> b.id)
        AND (w.place IS NULL OR w.place NOT IN (${NOT_IN_LEDGER}))
      ORDER BY b.id ${SHOWN}`,
    where.values,
  );
}
