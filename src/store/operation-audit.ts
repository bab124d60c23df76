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
  await recordOperations(sql, [operation]);
}

/** In their order, in one statement: some hundred of one request would hold its guards for seconds. */
export async function recordOperations(sql: Sql, operations: readonly Operation[]): Promise<void> {
  if (operations.length === 0) return;
  await sql.changeExactly(
    operations.length,
    'recording operations',
    `INSERT INTO operation_audit (actor, action, target, before_state, after_state, reason)
     VALUES ${operations.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}`,
    operations.flatMap((operation) => [
      operation.actor,
      operation.action,
      operation.target,
      jsonOf(operation.before),
      jsonOf(operation.after),
      operation.reason,
    ]),
  );
}

function jsonOf(state: object | null): string | null {
  return state === null ? null : JSON.stringify(state);
}
