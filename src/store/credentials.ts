/** Statements on partners' keys: hashed, several live at once for rotation (ING-1). */
import type { Sql } from './sql.ts';

/** Whether requests with a key may or must be signed (ING-10). */
export type Signing = 'NONE' | 'OPTIONAL' | 'REQUIRED';

/** Who a key belongs to, and the database's time at which it was looked up. */
export interface CredentialOwner {
  readonly credentialId: string;
  readonly keyHash: string;
  readonly signing: Signing;
  /** As it is kept: sealed. */
  readonly signingSecret: string | null;
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly versioned: boolean;
  /** Milliseconds since 1970 by the database's clock. */
  readonly nowMs: number;
}

/** @param keyHash lower-case hex SHA-256 of the key; @returns null for a key that is unknown or revoked */
export async function findCredentialOwner(sql: Sql, keyHash: string): Promise<CredentialOwner | null> {
  const row = await sql.maybeOne<
    Omit<CredentialOwner, 'versioned' | 'nowMs'> & { versioned: number; nowMs: string }
  >(
    `SELECT c.id credentialId, c.key_hash keyHash, c.signing, c.signing_secret signingSecret, p.partner_org_id partnerOrgId,
            p.org_code orgCode, p.versioned, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) nowMs
       FROM partner_credential c JOIN partner p ON p.partner_org_id = c.partner_org_id
      WHERE c.key_hash = ? AND (c.revoked_at IS NULL OR c.revoked_at > NOW(3))`,
    [keyHash],
  );
  if (row === null) return null;
  return { ...row, versioned: Number(row.versioned) === 1, nowMs: Number(row.nowMs) };
}
