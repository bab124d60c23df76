/** Where a push stands in its partner's order, with the database's time. */
import type { Sql } from './sql.ts';

export interface PushOrder {
  readonly pushId: string;
  readonly partnerOrgId: string;
  readonly traceId: string;
  readonly acceptNo: string;
  /** The database's time now, in ms since 1970. */
  readonly nowMs: string;
}

export async function readPushOrder(sql: Sql, pushId: string): Promise<PushOrder> {
  return sql.one<PushOrder>(
    `SELECT push_id pushId, partner_org_id partnerOrgId, trace_id traceId, accept_no acceptNo,
            CAST(FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR) nowMs
       FROM partner_push WHERE push_id = ?`,
    [pushId],
  );
}
