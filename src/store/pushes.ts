/** Statements on pushes: what was said of each as a whole when it was accepted (ING-6). */
import type { PushAmounts, PushCode, PushCounts } from '../domain/push-outcome.ts';
import { isoInstant } from './instant.ts';
import type { Sql } from './sql.ts';

export interface NewPush {
  readonly partnerOrgId: string;
  readonly idempotencyKey: string;
  readonly traceId: string;
  readonly code: PushCode;
  readonly stationCount: number;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
  readonly ignoredFieldCount: number;
  readonly identityDays: number;
}

export async function insertPush(sql: Sql, push: NewPush): Promise<string> {
  return sql.insert(
    `INSERT INTO partner_push
       (partner_org_id, idempotency_key, trace_id, code, station_count, requested_count, accepted_count, refused_count,
        requested_amount, accepted_amount, refused_amount, ignored_field_count, accepted_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NOW(3), NOW(3) + INTERVAL ? DAY)`,
    [
      push.partnerOrgId,
      push.idempotencyKey,
      push.traceId,
      push.code,
      push.stationCount,
      push.counts.requested,
      push.counts.accepted,
      push.counts.refused,
      push.amounts.requested,
      push.amounts.accepted,
      push.amounts.refused,
      push.ignoredFieldCount,
      push.identityDays,
    ],
  );
}

/**
 * ING-6: the push's place in the total order of its partner's pushes. The partner's row stays locked from here to the
 * commit, so the order of the numbers is the order of the commits: nothing may come after this in the transaction.
 */
export async function takeAcceptNo(sql: Sql, partnerOrgId: string, pushId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'counting up the accept number',
    'UPDATE partner SET accept_seq = LAST_INSERT_ID(accept_seq + 1) WHERE partner_org_id = ?',
    [partnerOrgId],
  );
  await sql.changeExactly(
    1,
    'numbering a push',
    'UPDATE partner_push SET accept_no = LAST_INSERT_ID() WHERE push_id = ?',
    [pushId],
  );
}

/** A push as it was accepted. Instants are ISO 8601 in UTC. */
export interface PushRow {
  readonly pushId: string;
  readonly idempotencyKey: string;
  readonly traceId: string;
  readonly acceptNo: string | null;
  readonly code: PushCode;
  readonly stationCount: number;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
  readonly ignoredFieldCount: number;
  readonly acceptedAt: string;
  readonly expiresAt: string;
}

/** A push of this partner; another's is as if it did not exist (ING-1). */
export async function findPush(sql: Sql, partnerOrgId: string, pushId: string): Promise<PushRow | null> {
  const row = await sql.maybeOne<FlatPush>(
    `SELECT ${PUSH_COLUMNS} FROM partner_push WHERE push_id = ? AND partner_org_id = ?`,
    [pushId, partnerOrgId],
  );
  return row === null ? null : toPushRow(row);
}

export interface PushFilter {
  /** Null: any. An expired identity may have been used for several. */
  readonly idempotencyKey: string | null;
  /** Only pushes older than this one; null is from the newest. */
  readonly beforePushId: string | null;
  readonly limit: number;
}

/** Newest first. */
export async function listPushes(sql: Sql, partnerOrgId: string, filter: PushFilter): Promise<PushRow[]> {
  const conditions = ['partner_org_id = ?'];
  const values = [partnerOrgId];
  if (filter.idempotencyKey !== null) {
    conditions.push('idempotency_key = ?');
    values.push(filter.idempotencyKey);
  }
  if (filter.beforePushId !== null) {
    conditions.push('push_id < ?');
    values.push(filter.beforePushId);
  }
  const rows = await sql.many<FlatPush>(
    `SELECT ${PUSH_COLUMNS} FROM partner_push WHERE ${conditions.join(' AND ')} ORDER BY push_id DESC LIMIT ${filter.limit}`,
    values,
  );
  return rows.map(toPushRow);
}

const PUSH_COLUMNS = `push_id pushId, idempotency_key idempotencyKey, trace_id traceId, accept_no acceptNo, code,
  station_count stationCount, requested_count requestedCount, accepted_count acceptedCount, refused_count refusedCount,
  requested_amount requestedAmount, accepted_amount acceptedAmount, refused_amount refusedAmount,
  ignored_field_count ignoredFieldCount, accepted_at acceptedAt, expires_at expiresAt`;

interface FlatPush extends Omit<PushRow, 'counts' | 'amounts'> {
  readonly requestedCount: number;
  readonly acceptedCount: number;
  readonly refusedCount: number;
  readonly requestedAmount: string;
  readonly acceptedAmount: string;
  readonly refusedAmount: string;
}

function toPushRow(row: FlatPush): PushRow {
  return {
    pushId: row.pushId,
    idempotencyKey: row.idempotencyKey,
    traceId: row.traceId,
    acceptNo: row.acceptNo,
    code: row.code,
    stationCount: row.stationCount,
    counts: { requested: row.requestedCount, accepted: row.acceptedCount, refused: row.refusedCount },
    amounts: { requested: row.requestedAmount, accepted: row.acceptedAmount, refused: row.refusedAmount },
    ignoredFieldCount: row.ignoredFieldCount,
    acceptedAt: isoInstant(row.acceptedAt),
    expiresAt: isoInstant(row.expiresAt),
  };
}
