import { TaskStatus } from '../../domain/task-status.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isOpen } from './work-under-way.ts';

/** Of what was published, the first phase that is not done yet. */
const PHASE_AFTER_PUBLISH = `(SELECT open_batch.batch_phase FROM selection_submit_batch open_batch
    WHERE open_batch.payment_order_version_id = v.id AND open_batch.batch_phase IN ('LOCK_ACTIVATE', 'AUDIT_PLAN')
      AND open_batch.batch_status NOT IN ('DONE', 'CANCELLED')
    ORDER BY FIELD(open_batch.batch_phase, 'LOCK_ACTIVATE', 'AUDIT_PLAN') LIMIT 1)`;

const PHASE_DUE = `CASE v.version_build_status WHEN 'BUILDING' THEN 'BUILD' WHEN 'BUILT' THEN 'PUBLISH'
    WHEN 'PUBLISHED' THEN ${PHASE_AFTER_PUBLISH} END`;

/**
 * Versions with a phase to come that no task will carry out. Before the publish a task that fails for good fails the
 * version in its own transaction (LCK-3); after it, it stays and waits for a person, who sees it as failed.
 */
export function listSubmitsWithoutTask(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['v.id'], range);
  const due = `SELECT v.id, v.payment_order_id, v.session_id, v.submit_attempt, v.version_build_status, ${PHASE_DUE} phase
       FROM fi_resident_income_payment_order_version v
      WHERE ${where.sql} AND v.version_build_status IN ('BUILDING', 'BUILT', 'PUBLISHED')`;
  return reader.many<FoundRow>(
    `SELECT d.id targetId, ${TOTAL}, d.payment_order_id paymentOrderId, d.session_id sessionId, d.submit_attempt submitAttempt,
            d.version_build_status versionStatus, d.phase, t.task_code taskCode, t.status taskStatus
       FROM (${due}) d
       LEFT JOIN fi_async_task t ON t.task_code = CONCAT('RIPPS:', d.id, ':', d.phase) COLLATE utf8mb4_bin
      WHERE d.phase IS NOT NULL AND NOT COALESCE(${isOpen('t')}, 0)
        AND NOT (d.version_build_status = 'PUBLISHED' AND COALESCE(t.status, -1) = ${TaskStatus.FAILED})
      ORDER BY d.id ${SHOWN}`,
    where.values,
  );
}
