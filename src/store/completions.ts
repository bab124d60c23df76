/** The numbered completions of pushes (COV-4). */
import type { Completion } from '../domain/completion.ts';
import { isoInstant } from './instant.ts';
import type { Sql } from './sql.ts';

export interface NumberedCompletion extends Completion {
  /** From 1; a push that was reopened and completed again has one more. */
  readonly number: number;
  /** When it was found complete, ISO 8601 in UTC. */
  readonly at: string;
}

/** The caller has locked the open push, so no other numbers it. @returns its number */
export async function insertCompletion(sql: Sql, pushId: string, completion: Completion): Promise<number> {
  const { number } = await sql.one<{ number: string | number }>(
    'SELECT COALESCE(MAX(completion_no), 0) + 1 number FROM push_completion WHERE push_id = ?',
    [pushId],
  );
  const { state, rows, amount, exceptions } = completion;
  await sql.changeExactly(
    1,
    'numbering a completion',
    `INSERT INTO push_completion
       (push_id, completion_no, state, row_count, amount, exception_count, exception_amount, completed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, NOW(3))`,
    [pushId, number, state, rows, amount, exceptions.rows, exceptions.amount],
  );
  return Number(number);
}

/** In their order. */
export async function listCompletions(sql: Sql, pushId: string): Promise<NumberedCompletion[]> {
  const rows = await sql.many<FlatCompletion>(
    `SELECT completion_no number, state, row_count rowCount, amount, exception_count exceptionCount,
            exception_amount exceptionAmount, completed_at completedAt
       FROM push_completion WHERE push_id = ? ORDER BY completion_no`,
    [pushId],
  );
  return rows.map((row) => ({
    number: row.number,
    state: row.state,
    at: isoInstant(row.completedAt),
    rows: row.rowCount,
    amount: row.amount,
    exceptions: { rows: row.exceptionCount, amount: row.exceptionAmount },
  }));
}

interface FlatCompletion {
  readonly number: number;
  readonly state: Completion['state'];
  readonly rowCount: number;
  readonly amount: string;
  readonly exceptionCount: number;
  readonly exceptionAmount: string;
  readonly completedAt: string;
}
