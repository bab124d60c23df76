/** How much is open, for metrics: from the slot table and two indexes, never by counting the whole task table. */
import type { StageName } from '../domain/stage.ts';
import type { Sql } from './sql.ts';

export interface StageFigures {
  readonly stage: StageName;
  readonly waiting: string;
  readonly running: string;
  readonly failed: string;
  /** Seconds that the oldest due task has been due; null if none is. */
  readonly oldestS: string | null;
}

export async function listStageFigures(sql: Sql): Promise<StageFigures[]> {
  return sql.many<StageFigures>(
    `SELECT s.stage,
            (SELECT COUNT(*) FROM fi_async_task t FORCE INDEX (idx_task_claim) WHERE t.claimable = 1 AND t.stage = s.stage) waiting,
            COALESCE(SUM(IF(s.holder IS NULL, 0, JSON_LENGTH(COALESCE(s.task_ids, JSON_ARRAY())))), 0) running,
            (SELECT COUNT(*) FROM fi_async_task t FORCE INDEX (idx_task_failed) WHERE t.failed = 1 AND t.stage = s.stage) failed,
            MAX(TIMESTAMPDIFF(MICROSECOND,
              (SELECT t.next_execute_time FROM fi_async_task t FORCE INDEX (idx_task_claim)
                WHERE t.claimable = 1 AND t.stage = s.stage AND t.partner_org_id = s.partner_org_id
                ORDER BY t.next_execute_time LIMIT 1), NOW(3))) / 1000000 oldestS
       FROM stage_slot s GROUP BY s.stage`,
  );
}
