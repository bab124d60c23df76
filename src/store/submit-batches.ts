/** Statements on `selection_submit_batch`: how far a phase of a submit has come (PAY-2, LCK-28). */
import { BATCH_PHASES, type BatchPhase, type BatchStatus } from '../domain/payment-submit.ts';
import type { TaskRun } from './running-tasks.ts';
import type { Sql } from './sql.ts';

export interface SubmitBatchRow {
  readonly id: string;
  readonly batchPhase: BatchPhase;
  readonly batchStatus: BatchStatus;
  /** Null: the phase's own. */
  readonly batchSize: number | null;
  /** What the phase's work goes along: a platform station, a lock, an order bill. */
  readonly lastItemId: string;
  readonly processedCount: number;
  readonly lastErrorCode: string | null;
  readonly lastErrorMessage: string | null;
}

const COLUMNS = `id, batch_phase batchPhase, batch_status batchStatus, batch_size batchSize, last_item_id lastItemId,
  processed_count processedCount, last_error_code lastErrorCode, last_error_message lastErrorMessage`;

/** All phases at once, as INIT (PAY-2). */
export async function insertSubmitBatches(
  sql: Sql,
  submit: { versionId: string; sessionId: string; batchSize: number | null },
): Promise<void> {
  await sql.change(
    `INSERT INTO selection_submit_batch (payment_order_version_id, session_id, batch_phase, batch_size)
     VALUES ${BATCH_PHASES.map(() => '(?, ?, ?, ?)').join(', ')}`,
    BATCH_PHASES.flatMap((phase) => [submit.versionId, submit.sessionId, phase, submit.batchSize]),
  );
}

export async function lockBatch(
  sql: Sql,
  versionId: string,
  phase: BatchPhase,
): Promise<SubmitBatchRow | null> {
  return sql.maybeOne<SubmitBatchRow>(
    `SELECT ${COLUMNS} FROM selection_submit_batch
      WHERE payment_order_version_id = ? AND batch_phase = ? ORDER BY batch_no, id LIMIT 1 FOR UPDATE`,
    [versionId, phase],
  );
}

export async function listBatches(sql: Sql, versionId: string): Promise<SubmitBatchRow[]> {
  return sql.many<SubmitBatchRow>(
    `SELECT ${COLUMNS} FROM selection_submit_batch WHERE payment_order_version_id = ? ORDER BY id`,
    [versionId],
  );
}

/** INIT, FAILED or RUNNING becomes RUNNING, by this run; false where it is DONE or CANCELLED (LCK-28). */
export async function beginBatchIfOpen(
  sql: Sql,
  batchId: string,
  run: TaskRun & { readonly worker: string | null },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE selection_submit_batch
        SET batch_status = 'RUNNING', lease_version = lease_version + 1, worker_id = ?, owner_task_id = ?,
            owner_attempt = ?, heartbeat_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND batch_status IN ('INIT', 'FAILED', 'RUNNING')`,
    [run.worker, run.id, run.runningAttempt, batchId],
  );
  return hit === 1;
}

/** Of a batch that this transaction has begun. */
export async function advanceBatch(
  sql: Sql,
  batchId: string,
  progress: { lastItemId: string; processed: number; done: boolean },
): Promise<void> {
  await sql.changeExactly(
    1,
    'advancing a batch',
    `UPDATE selection_submit_batch
        SET last_item_id = ?, processed_count = processed_count + ?, batch_status = IF(?, 'DONE', batch_status),
            last_error_code = NULL, last_error_message = NULL, heartbeat_time = NOW(3), update_time = NOW(3)
      WHERE id = ? AND batch_status = 'RUNNING'`,
    [progress.lastItemId, progress.processed, progress.done, batchId],
  );
}

/** Written beside the task's failure, in its transaction, so that it is not lost with the work (LCK-22). */
export async function failBatch(
  sql: Sql,
  versionId: string,
  phase: BatchPhase,
  failure: { code: string; message: string },
): Promise<void> {
  await sql.change(
    `UPDATE selection_submit_batch
        SET batch_status = 'FAILED', retry_count = retry_count + 1, last_error_code = ?, last_error_message = ?,
            update_time = NOW(3)
      WHERE payment_order_version_id = ? AND batch_phase = ? AND batch_status IN ('INIT', 'RUNNING', 'FAILED')`,
    [failure.code.slice(0, 40), failure.message.slice(0, 1000), versionId, phase],
  );
}

/** A submit that was given up: what has not been done will not be; its release remains. */
export async function cancelOpenPhases(sql: Sql, versionId: string): Promise<void> {
  await sql.change(
    `UPDATE selection_submit_batch SET batch_status = 'CANCELLED', update_time = NOW(3)
      WHERE payment_order_version_id = ? AND batch_phase <> 'LOCK_RELEASE' AND batch_status NOT IN ('DONE', 'CANCELLED')`,
    [versionId],
  );
}
