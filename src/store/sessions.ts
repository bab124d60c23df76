/** Statements on `selection_session`; each that changes one counts its state version up. */
import type { SessionMode, SessionStatus } from '../domain/payment-submit.ts';
import { hitsUniqueKey } from './duplicate-key.ts';
import type { Sql } from './sql.ts';

export interface SessionRow {
  readonly id: string;
  readonly partnerOrgId: string;
  readonly mode: SessionMode;
  readonly status: SessionStatus;
  /** Of a NEW session from its first submit on. */
  readonly targetPaymentOrderId: string | null;
  readonly creatorUserId: string;
  readonly months: readonly string[];
  /** The version that is being, or was last, submitted. */
  readonly activeSubmitId: string | null;
  readonly invalidatedFlag: number;
  readonly invalidatedReason: string | null;
  readonly failurePhase: string | null;
  readonly failureReason: string | null;
  readonly stateVersion: number;
}

const SESSION = `SELECT id, partner_org_id partnerOrgId, mode, status, target_payment_order_id targetPaymentOrderId,
    creator_user_id creatorUserId, months, active_submit_id activeSubmitId, invalidated_flag invalidatedFlag,
    invalidated_reason invalidatedReason, failure_phase failurePhase, failure_reason failureReason,
    state_version stateVersion
  FROM selection_session WHERE id = ?`;

export async function findSession(sql: Sql, id: string): Promise<SessionRow | null> {
  return sql.maybeOne<SessionRow>(SESSION, [id]);
}

export async function lockSession(sql: Sql, id: string): Promise<SessionRow | null> {
  return sql.maybeOne<SessionRow>(`${SESSION} FOR UPDATE`, [id]);
}

export interface NewSession {
  readonly partnerOrgId: string;
  readonly mode: SessionMode;
  readonly targetPaymentOrderId: string | null;
  readonly creatorUserId: string;
  readonly months: readonly string[];
  /** Unique among live sessions; null for NEW (PAY-1). */
  readonly activeReviseKey: string | null;
}

/** Null: the order has a live REVISE. */
export async function insertSessionIfFree(sql: Sql, session: NewSession): Promise<string | null> {
  let id: string | null = null;
  const taken = await hitsUniqueKey(async () => {
    id = await sql.insert(
      `INSERT INTO selection_session
         (partner_org_id, mode, status, target_payment_order_id, creator_user_id, months, active_revise_key, active_scope_key)
       VALUES (?, ?, 'SELECTING', ?, ?, ?, ?, ?)`,
      [
        session.partnerOrgId,
        session.mode,
        session.targetPaymentOrderId,
        session.creatorUserId,
        JSON.stringify(session.months),
        session.activeReviseKey,
        session.activeReviseKey === null ? null : `${session.partnerOrgId}:${session.activeReviseKey}`,
      ],
    );
  });
  return taken ? null : id;
}

const CHANGED = 'state_version = state_version + 1, heartbeat_time = NOW(3), update_time = NOW(3)';
/** The order is free for another REVISE, the scope for another session. */
const FREED = 'active_revise_key = NULL, active_scope_key = NULL';

/** PAY-2; of a session that this transaction has locked. */
export async function startSubmit(
  sql: Sql,
  sessionId: string,
  submit: { paymentOrderId: string; versionId: string },
): Promise<void> {
  await sql.changeExactly(
    1,
    'starting a submit',
    `UPDATE selection_session
        SET status = 'SUBMITTING', target_payment_order_id = ?, active_submit_id = ?, failure_phase = NULL,
            failure_reason = NULL, ${CHANGED}
      WHERE id = ? AND status IN ('SELECTING', 'SUBMIT_FAILED') AND invalidated_flag = 0`,
    [submit.paymentOrderId, submit.versionId, sessionId],
  );
}

/** Along the way of a submit; false where the session is not that submit's, or elsewhere. */
export async function moveSessionIf(
  sql: Sql,
  submit: { sessionId: string; versionId: string },
  move: { from: readonly SessionStatus[]; to: SessionStatus },
): Promise<boolean> {
  const freed = move.to === 'PUBLISHED' || move.to === 'CANCELLED' ? `${FREED}, ` : '';
  const hit = await sql.change(
    `UPDATE selection_session SET status = ?, ${freed}${CHANGED}
      WHERE id = ? AND active_submit_id = ? AND status IN (?)`,
    [move.to, submit.sessionId, submit.versionId, move.from],
  );
  return hit === 1;
}

/** The submit stays named: its release closes it out (LCK-19), or the next submit takes its place. */
export async function failSubmitIf(
  sql: Sql,
  submit: { sessionId: string; versionId: string },
  failure: { phase: string; reason: string },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE selection_session SET status = 'SUBMIT_FAILED', failure_phase = ?, failure_reason = ?, ${CHANGED}
      WHERE id = ? AND active_submit_id = ? AND status IN ('SUBMITTING', 'PUBLISHING')`,
    [failure.phase.slice(0, 80), failure.reason.slice(0, 1000), submit.sessionId, submit.versionId],
  );
  return hit === 1;
}

/** Of a session that this transaction has locked and found open. */
export async function cancelSession(sql: Sql, sessionId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'cancelling a session',
    `UPDATE selection_session SET status = 'CANCELLED', ${FREED}, ${CHANGED}
      WHERE id = ? AND status IN ('SELECTING', 'SUBMITTING', 'SUBMIT_FAILED', 'PUBLISHING')`,
    [sessionId],
  );
}

export async function touchSession(sql: Sql, sessionId: string): Promise<void> {
  await sql.changeExactly(1, 'changing a selection', `UPDATE selection_session SET ${CHANGED} WHERE id = ?`, [
    sessionId,
  ]);
}
