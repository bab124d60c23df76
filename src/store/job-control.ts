/** Jobs of the scheduler that people may hold: rows in MySQL, as the pauses of stages are (ENG-14, RET-1). */
import type { Sql } from './sql.ts';

/** Locks the job's row, making it if it is missing. @returns whether it is held */
export async function lockJobPaused(sql: Sql, name: string): Promise<boolean> {
  await sql.change('INSERT INTO job_control (name) VALUES (?) ON DUPLICATE KEY UPDATE name = VALUES(name)', [
    name,
  ]);
  return isJobPaused(sql, name);
}

export async function isJobPaused(sql: Sql, name: string): Promise<boolean> {
  const row = await sql.maybeOne('SELECT name FROM job_control WHERE name = ? AND paused = 1', [name]);
  return row !== null;
}

/** The caller has locked the row. */
export async function setJobPaused(sql: Sql, name: string, paused: boolean, actor: string): Promise<void> {
  await sql.changeExactly(
    1,
    'holding a job',
    'UPDATE job_control SET paused = ?, updated_by = ?, update_time = NOW(3) WHERE name = ?',
    [paused ? 1 : 0, actor, name],
  );
}

export interface JobPause {
  readonly paused: number;
  readonly updatedBy: string | null;
  readonly updateTime: string;
}

/** Null: nobody has ever held it. */
export async function findJobPause(sql: Sql, name: string): Promise<JobPause | null> {
  return sql.maybeOne<JobPause>(
    'SELECT paused, updated_by updatedBy, update_time updateTime FROM job_control WHERE name = ?',
    [name],
  );
}
