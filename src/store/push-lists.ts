/** Pushes of all partners, for operators; partners see their own through `pushes.ts` (ING-1). */
import { equalities, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

const PUSHES = {
  from: 'partner_push',
  key: 'push_id',
  columns: `push_id id, push_id pushId, partner_org_id partnerOrgId, idempotency_key idempotencyKey, trace_id traceId,
    accept_no acceptNo, code, station_count stationCount, requested_count requestedCount,
    accepted_count acceptedCount, refused_count refusedCount, requested_amount requestedAmount,
    accepted_amount acceptedAmount, refused_amount refusedAmount, ignored_field_count ignoredFieldCount,
    accepted_at acceptedAt, expires_at expiresAt`,
};

/** Null: any. */
export interface AnyPushFilter {
  readonly partnerOrgId: string | null;
  readonly code: string | null;
  readonly idempotencyKey: string | null;
}

export interface ListedPush {
  readonly id: string;
  readonly pushId: string;
  readonly acceptedAt: string;
  readonly expiresAt: string;
  readonly [column: string]: unknown;
}

export function listAnyPushes(
  sql: Sql,
  filter: AnyPushFilter,
  page: { beforeId: string | null; limit: number },
): Promise<Page<ListedPush>> {
  const filters = equalities({
    partner_org_id: filter.partnerOrgId,
    code: filter.code,
    idempotency_key: filter.idempotencyKey,
  });
  return listPage(sql, { ...PUSHES, filters }, page);
}
