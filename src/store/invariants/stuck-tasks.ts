import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { isOpen } from './work-under-way.ts';

/** INV-1: claims of a task since something of it was last recorded. */
export const CLAIMS_WITHOUT_PROGRESS_MAX = 5;
/** A task that waits for a guard or lease of another is claimed twice a second, which is no fault for a while (ENG-13). */
const BUSY_MINUTES_MAX = 5;

/**
 * Tasks that go on by themselves and get nowhere: claimed five times without an end or a recorded step, or waiting for
 * minutes for what another holds. The waiting ones are those of the claiming index; the running ones are named by slots.
 */
export function listStuckTasks(reader: Reader): Promise<FoundRow[]> {
  const columns = `t.id, t.task_code, t.stage, t.partner_org_id, t.status, t.claims_without_progress, t.running_attempt,
            t.retry_count, t.crash_count, t.busy_since, t.error_code, t.error_message`;
  const stuck = `(t.claims_without_progress >= ${CLAIMS_WITHOUT_PROGRESS_MAX}
          OR t.busy_since < NOW(3) - INTERVAL ${BUSY_MINUTES_MAX} MINUTE)`;
  return reader.many<FoundRow>(
    `SELECT u.task_code targetId, ${TOTAL}, u.stage, u.partner_org_id partnerOrgId, u.status,
            u.claims_without_progress claimsWithoutProgress, u.running_attempt runningAttempt, u.retry_count retryCount,
            u.crash_count crashCount, u.busy_since busySince, u.error_code errorCode, u.error_message errorMessage
       FROM (SELECT ${columns} FROM fi_async_task t FORCE INDEX (idx_task_claim) WHERE t.claimable = 1 AND ${stuck}
             UNION
             SELECT ${columns} FROM stage_slot s
               JOIN JSON_TABLE(COALESCE(s.task_ids, '[]'), '$[*]' COLUMNS (id BIGINT UNSIGNED PATH '$')) held
               JOIN fi_async_task t ON t.id = held.id AND ${isOpen('t')}
              WHERE s.holder IS NOT NULL AND ${stuck}) u
      ORDER BY u.id ${SHOWN}`,
  );
}
