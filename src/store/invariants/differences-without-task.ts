import { Place } from '../../domain/place.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isRefreshDue, NOT_IN_LEDGER, placeOfBill } from './work-under-way.ts';

const WAITS_FOR_ACCOUNT = `w.place IN (${Place.ACCOUNT_PENDING}, ${Place.ACCOUNT_FAILED})`;
/** Ended tasks may have been removed (RET-1), so a task is asked for only where it still has something to do. */
const TASK_IS_GONE = `(${WAITS_FOR_ACCOUNT} AND (t.id IS NULL
  OR NOT JSON_CONTAINS(t.task_data, JSON_QUOTE(CAST(d.id AS CHAR)), '$.differenceFactIds')))`;

/** Differences of payment-enabled partners whose bill came into the ledger without an account refresh that names them. */
export function listDifferencesWithoutTask(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['d.id'], range);
  return reader.many<FoundRow>(
    `SELECT d.id targetId, ${TOTAL}, d.partner_org_id partnerOrgId, d.station_id platformStationId,
            d.share_month billYearMonth, d.partner_bill_id partnerBillId, b.push_id pushId, b.push_row_no rowNo, w.place,
            w.account_task_id accountTaskId, t.task_code taskCode
       FROM fi_monthly_income_difference d
       JOIN partner p ON p.partner_org_id = d.partner_org_id AND p.payment_flow = 'ENABLED'
       JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
       JOIN ${placeOfBill('b', 'w')}
       LEFT JOIN fi_async_task t ON t.id = w.account_task_id AND t.stage = 'account-shard'
      WHERE ${where.sql} AND w.place NOT IN (${NOT_IN_LEDGER}, ${Place.PAYMENT_DISABLED})
        AND (w.account_task_id IS NULL OR ${TASK_IS_GONE}) AND NOT ${isRefreshDue('d')}
      ORDER BY d.id ${SHOWN}`,
    where.values,
  );
}
