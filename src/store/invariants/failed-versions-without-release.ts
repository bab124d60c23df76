import { LOCK_RELEASE_REASONS } from '../../domain/lock-release.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/**
 * Versions that are over without having been published, and of which no release was ever accepted, for whatever reason.
 * A release of the whole submission has a business key that says version and reason (LCK-1).
 */
export function listFailedVersionsWithoutRelease(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['v.id'], range);
  return reader.many<FoundRow>(
    `SELECT v.id targetId, ${TOTAL}, v.payment_order_id paymentOrderId, v.session_id sessionId,
            v.version_build_status versionStatus, v.failure_code failureCode,
            (SELECT COUNT(*) FROM fi_resident_income_payment_bill_lock l
              WHERE l.payment_order_id = v.payment_order_id AND l.session_id = v.session_id
                AND l.submit_attempt = v.submit_attempt AND l.data_version = v.target_data_version
                AND l.lock_status IN ('RESERVED', 'ACTIVE')) liveLocks
       FROM fi_resident_income_payment_order_version v
      WHERE ${where.sql} AND v.version_build_status IN ('BUILD_FAILED', 'CANCELLED')
        AND NOT EXISTS (
              SELECT 1 FROM JSON_TABLE(?, '$[*]' COLUMNS (reason VARCHAR(40) CHARACTER SET utf8mb4 PATH '$')) why
                JOIN fi_async_task t ON t.business_key = CONCAT('LOCK_RELEASE:', v.id, ':', why.reason) COLLATE utf8mb4_bin)
      ORDER BY v.id ${SHOWN}`,
    [...where.values, JSON.stringify(LOCK_RELEASE_REASONS)],
  );
}
