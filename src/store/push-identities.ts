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

interface NewIdentity {
  readonly partnerOrgId: string;
  readonly key: string;
  readonly pushId: string;
  readonly contentDigest: string;
  readonly days: number;
}

/**
 * Waits for a transaction that is keeping the same identity, if there is one.
 * @returns whether it was kept; false: that other one has committed, and its identity stands
 */
export async function insertIdentity(sql: Sql, identity: NewIdentity): Promise<boolean> {
  try {
    await insertIdentityRow(sql, identity);
    return true;
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) return false;
    throw error;
  }
}

async function insertIdentityRow(sql: Sql, identity: NewIdentity): Promise<void> {
  await sql.changeExactly(
    1,
    'keeping a push identity',
    `INSERT INTO push_identity (partner_org_id, idempotency_key, push_id, content_digest, accepted_at, expires_at)
     VALUES (?, ?, ?, ?, NOW(3), NOW(3) + INTERVAL ? DAY)`,
    [identity.partnerOrgId, identity.key, identity.pushId, identity.contentDigest, identity.days],
  );
}

/** Of an identity that has expired and that this transaction has locked. */
export async function replaceIdentity(sql: Sql, identity: NewIdentity): Promise<void> {
  await sql.changeExactly(
    1,
    'replacing an expired push identity',
    `UPDATE push_identity SET push_id = ?, content_digest = ?, accepted_at = NOW(3), expires_at = NOW(3) + INTERVAL ? DAY
      WHERE partner_org_id = ? AND idempotency_key = ? AND expires_at <= NOW(3)`,
    [identity.pushId, identity.contentDigest, identity.days, identity.partnerOrgId, identity.key],
  );
}
