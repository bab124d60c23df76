import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/** Live locks of a station-month that an earlier live lock holds already. */
export function listDoubleLocks(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['l.id'], range);
  return reader.many<FoundRow>(
    `SELECT l.id targetId, ${TOTAL}, l.platform_station_id platformStationId, l.bill_year_month billYearMonth,
            l.payment_order_id paymentOrderId, l.session_id sessionId, l.lock_key lockKey,
            other.id otherLockId, other.payment_order_id otherPaymentOrderId, other.session_id otherSessionId,
            other.lock_key otherLockKey
       FROM fi_resident_income_payment_bill_lock l
       JOIN fi_resident_income_payment_bill_lock other
         ON other.platform_station_id = l.platform_station_id AND other.bill_year_month = l.bill_year_month
        AND other.lock_status IN ('RESERVED', 'ACTIVE') AND other.id < l.id
      WHERE ${where.sql} AND l.lock_status IN ('RESERVED', 'ACTIVE')
      ORDER BY l.id, other.id ${SHOWN}`,
    where.values,
  );
}
