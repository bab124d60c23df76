/** Every change that a person asks for is kept: who, what, before, after (DESIGN, control plane). */
import type { Sql } from './sql.ts';

export interface Operation {
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly reason: string | null;
}

export async function recordOperation(sql: Sql, operation: Operation): Promise<void> {
  await sql.insert(
    'INSERT INTO operation_audit (actor, action, target, before_state, after_state, reason) VALUES (?, ?, ?, ?, ?, ?)',
    [
      operation.actor,
      operation.action,
      operation.target,
      operation.before === null ? null : JSON.stringify(operation.before),
      operation.after === null ? null : JSON.stringify(operation.after),
      operation.reason,
    ],
  );
}
