/** Statements on the identities of pushes (ING-2): unique on (partner, key), kept by the accepting transaction itself. */
import { UniqueConstraintViolationException } from '@mikro-orm/mysql';
import { BusyError } from '../errors.ts';
import { isLockedElsewhere } from './locked-elsewhere.ts';
import type { Sql } from './sql.ts';

export interface PushIdentityRow {
  readonly pushId: string;
  readonly contentDigest: string;
  /** By the database's clock: an expired identity is replaced in place. */
  readonly expired: boolean;
}

/**
 * Locked to the end of the transaction. `NOWAIT`: an identity whose accepting transaction is still running answers at
 * once, where a plain read would not see it and an insert would wait for its commit (FACTS).
 * @throws BusyError where the identity is being accepted right now
 */
export async function lockIdentity(
  sql: Sql,
  partnerOrgId: string,
  key: string,
): Promise<PushIdentityRow | null> {
  try {
    const row = await sql.maybeOne<{ pushId: string; contentDigest: string; expired: number }>(
      `SELECT push_id pushId, content_digest contentDigest, expires_at <= NOW(3) expired
         FROM push_identity WHERE partner_org_id = ? AND idempotency_key = ? FOR UPDATE NOWAIT`,
      [partnerOrgId, key],
    );
    return row === null ? null : { ...row, expired: Number(row.expired) === 1 };
  } catch (error) {
    if (isLockedElsewhere(error)) throw new BusyError('the identity is being accepted', { cause: error });
    throw error;
  }
}

/** Of a push that is written already: its times are the identity's. */
interface NewIdentity {
  readonly key: string;
  readonly pushId: string;
  readonly contentDigest: string;
}

/**
 * Waits for a transaction that is keeping the same identity, if there is one.
 * @returns whether it was kept; false: that other one has committed, and its identity stands
 */
export async function insertIdentity(sql: Sql, identity: NewIdentity): Promise<boolean> {
  try {
    await sql.changeExactly(
      1,
      'keeping a push identity',
      `INSERT INTO push_identity (partner_org_id, idempotency_key, push_id, content_digest, accepted_at, expires_at)
       SELECT partner_org_id, ?, push_id, ?, accepted_at, expires_at FROM partner_push WHERE push_id = ?`,
      [identity.key, identity.contentDigest, identity.pushId],
    );
    return true;
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) return false;
    throw error;
  }
}

/** Of an identity that has expired and that this transaction has locked. */
export async function replaceIdentity(sql: Sql, identity: NewIdentity): Promise<void> {
  await sql.changeExactly(
    1,
    'replacing an expired push identity',
    `UPDATE push_identity kept JOIN partner_push push ON push.push_id = ?
        SET kept.push_id = push.push_id, kept.content_digest = ?, kept.accepted_at = push.accepted_at,
            kept.expires_at = push.expires_at
      WHERE kept.partner_org_id = push.partner_org_id AND kept.idempotency_key = ? AND kept.expires_at <= NOW(3)`,
    [identity.pushId, identity.contentDigest, identity.key],
  );
}
