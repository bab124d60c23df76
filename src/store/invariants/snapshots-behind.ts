import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isRefreshDue, isUnfinished, NOT_IN_SNAPSHOT, placeOfBill } from './work-under-way.ts';

/**
 * Snapshots of an older financial version than their difference, or of the same version with another projection, though
 * neither their station's snapshot task nor anything before it has work left.
 */
export function listSnapshotsBehind(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['s.id'], range);
  return reader.many<FoundRow>(
    `SELECT s.id targetId, ${TOTAL}, s.partner_org_id partnerOrgId, s.platform_station_id platformStationId,
            s.bill_year_month billYearMonth, s.financial_version snapshotVersion, d.financial_version differenceVersion,
            s.payment_status snapshotStatus, d.payment_status differenceStatus, s.current_payable snapshotPayable,
            d.current_payable differencePayable, s.snapshot_time snapshotTime, t.task_code taskCode
       FROM fi_resident_income_payment_bill_dimension_snapshot s
       JOIN fi_monthly_income_difference d ON d.partner_org_id = s.partner_org_id
        AND d.station_id = s.platform_station_id AND d.share_month = s.bill_year_month
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
       LEFT JOIN ${placeOfBill('b', 'w')}
       LEFT JOIN fi_async_task t
         ON t.task_code = CONCAT('BDS:', s.partner_org_id, ':', s.platform_station_id) COLLATE utf8mb4_bin
      WHERE ${where.sql}
        AND (s.financial_version < d.financial_version OR s.payment_status <> d.payment_status
             OR s.paid_amount <> d.paid_amount OR s.current_payable <> d.current_payable)
        AND (w.place IS NULL OR w.place NOT IN (${NOT_IN_SNAPSHOT}))
        AND (t.id IS NULL OR NOT ${isUnfinished('t')}) AND NOT ${isRefreshDue('d')}
      ORDER BY s.id ${SHOWN}`,
    where.values,
  );
}
