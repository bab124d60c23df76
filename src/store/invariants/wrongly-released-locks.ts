import { LOCK_RELEASE_REASONS, stopsAtPublishBoundary } from '../../domain/lock-release.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/** Reasons that say that a submit failed or was given up; a rejected review releases nothing at all (LCK-13, LCK-15). */
const NEVER_OF_PUBLISHED = LOCK_RELEASE_REASONS.filter(
  (reason) => stopsAtPublishBoundary(reason) || reason === 'REVIEW_REJECTED',
);

export function listWronglyReleasedLocks(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['l.id'], range);
  return reader.many<FoundRow>(
    `SELECT l.id targetId, ${TOTAL}, l.release_reason releaseReason, l.release_time releaseTime,
            l.platform_station_id platformStationId, l.bill_year_month billYearMonth,
            v.id paymentOrderVersionId, v.payment_order_id paymentOrderId, v.published_time publishedTime
       FROM fi_resident_income_payment_bill_lock l
       JOIN fi_resident_income_payment_order_version v ON v.payment_order_id = l.payment_order_id
        AND v.target_data_version = l.data_version AND v.session_id = l.session_id AND v.submit_attempt = l.submit_attempt
      WHERE ${where.sql} AND l.lock_status = 'RELEASED' AND l.release_reason IN (?) AND v.version_build_status = 'PUBLISHED'
      ORDER BY l.id ${SHOWN}`,
    [...where.values, NEVER_OF_PUBLISHED],
  );
}
