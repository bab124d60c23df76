/** Which stages are held, for people, and for whoever holds one or lets it go (ENG-14). */
import type { StageName } from '../domain/stage.ts';
import type { Sql } from './sql.ts';

/** Locks the stage's row, making it if it is missing. @returns whether it is held */
export async function lockStagePaused(sql: Sql, stage: StageName): Promise<boolean> {
  await sql.change(
    'INSERT INTO stage_control (stage) VALUES (?) ON DUPLICATE KEY UPDATE stage = VALUES(stage)',
    [stage],
  );
  const row = await sql.one<{ paused: number }>('SELECT paused FROM stage_control WHERE stage = ?', [stage]);
  return row.paused === 1;
}

export interface StagePause {
  readonly stage: StageName;
  readonly paused: number;
  readonly updatedBy: string | null;
  readonly updateTime: string;
}

/** Stages that somebody has held at some time. */
export async function listStagePauses(sql: Sql): Promise<StagePause[]> {
  return sql.many<StagePause>(
    'SELECT stage, paused, updated_by updatedBy, update_time updateTime FROM stage_control',
  );
}
