import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isOpen } from './work-under-way.ts';

/** Versions of which a release of the whole or of a part will still run. A release comes from no push. */
const RELEASED_SOON = `SELECT CAST(JSON_UNQUOTE(JSON_EXTRACT(task_data, '$.paymentOrderVersionId')) AS UNSIGNED) version_id
    FROM fi_async_task t FORCE INDEX (idx_task_push)
   WHERE t.push_id = 0 AND t.stage = 'lock-release' AND ${isOpen('t')} GROUP BY 1`;

/** The order's published version still takes over or gives up what its earlier version held (PAY-5). */
const BEING_RELABELLED = `EXISTS (SELECT 1 FROM fi_resident_income_payment_order_version n
      JOIN selection_submit_batch activation ON activation.payment_order_version_id = n.id AND activation.batch_phase = 'LOCK_ACTIVATE'
     WHERE n.payment_order_id = o.id AND n.target_data_version = o.current_publish_version
       AND activation.batch_status NOT IN ('DONE', 'CANCELLED'))`;

const IS_LIVE = `(o.deleted = 0 AND (v.version_build_status IN ('BUILDING', 'BUILT')
   OR (v.version_build_status = 'PUBLISHED' AND o.order_status <> 'VOID'
       AND (o.current_publish_version = v.target_data_version OR ${BEING_RELABELLED}))))`;

/** Live locks whose submit (by the four columns of LCK-14) is over, and that no release will free. */
export function listLocksWithoutSubmit(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['l.id'], range);
  return reader.many<FoundRow>(
    `SELECT l.id targetId, ${TOTAL}, l.lock_status lockStatus, l.platform_station_id platformStationId,
            l.bill_year_month billYearMonth, l.payment_order_id paymentOrderId, l.session_id sessionId,
            l.submit_attempt submitAttempt, l.data_version dataVersion, v.id paymentOrderVersionId,
            v.version_build_status versionStatus, o.order_status orderStatus, o.current_publish_version currentPublishVersion
       FROM fi_resident_income_payment_bill_lock l
       LEFT JOIN fi_resident_income_payment_order o ON o.id = l.payment_order_id
       LEFT JOIN fi_resident_income_payment_order_version v ON v.payment_order_id = l.payment_order_id
         AND v.target_data_version = l.data_version AND v.session_id = l.session_id AND v.submit_attempt = l.submit_attempt
       LEFT JOIN (${RELEASED_SOON}) soon ON soon.version_id = v.id
      WHERE ${where.sql} AND l.lock_status IN ('RESERVED', 'ACTIVE') AND soon.version_id IS NULL
        AND NOT COALESCE(${IS_LIVE}, 0)
      ORDER BY l.id ${SHOWN}`,
    where.values,
  );
}
