/** Statements on partners' keys as operators manage them: given out, listed, revoked; the key itself is never kept. */
import type { Signing } from './credentials.ts';
import type { Sql } from './sql.ts';

export interface PartnerKeyRow {
  readonly id: string;
  readonly label: string;
  readonly createTime: string;
  readonly revokedAt: string | null;
  readonly live: boolean;
  readonly signing: Signing;
}

type StoredKey = Omit<PartnerKeyRow, 'live'> & { readonly live: string };

/** A comparison comes as a number of 64 bits. */
const toKey = (row: StoredKey): PartnerKeyRow => ({ ...row, live: Number(row.live) === 1 });

const COLUMNS = `id, label, create_time createTime, revoked_at revokedAt,
  (revoked_at IS NULL OR revoked_at > NOW(3)) live, signing`;

export interface NewPartnerKey {
  readonly partnerOrgId: string;
  readonly keyHash: string;
  readonly label: string;
  readonly signing: Signing;
  /** Sealed. */
  readonly signingSecret: string | null;
}

export async function insertPartnerKey(sql: Sql, key: NewPartnerKey): Promise<string> {
  return sql.insert(
    `INSERT INTO partner_credential (partner_org_id, key_hash, label, signing, signing_secret)
     VALUES (?, ?, ?, ?, ?)`,
    [key.partnerOrgId, key.keyHash, key.label, key.signing, key.signingSecret],
  );
}

/** Of a live key that has a secret; false: there is none such. */
export async function changeSigningIfLive(
  sql: Sql,
  key: { partnerOrgId: string; id: string; signing: Exclude<Signing, 'NONE'> },
): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE partner_credential SET signing = ?
      WHERE id = ? AND partner_org_id = ? AND signing_secret IS NOT NULL
        AND (revoked_at IS NULL OR revoked_at > NOW(3))`,
    [key.signing, key.id, key.partnerOrgId],
  );
  return hit === 1;
}

/** Newest first. */
export async function listPartnerKeys(
  sql: Sql,
  partnerOrgId: string,
  limit: number,
): Promise<PartnerKeyRow[]> {
  const rows = await sql.many<StoredKey>(
    `SELECT ${COLUMNS} FROM partner_credential WHERE partner_org_id = ? ORDER BY id DESC LIMIT ${limit}`,
    [partnerOrgId],
  );
  return rows.map(toKey);
}

export async function countLivePartnerKeys(sql: Sql, partnerOrgId: string): Promise<number> {
  const row = await sql.one<{ live: string | number }>(
    `SELECT COUNT(*) live FROM partner_credential
      WHERE partner_org_id = ? AND (revoked_at IS NULL OR revoked_at > NOW(3))`,
    [partnerOrgId],
  );
  return Number(row.live);
}

export async function findPartnerKey(
  sql: Sql,
  partnerOrgId: string,
  id: string,
): Promise<PartnerKeyRow | null> {
  const row = await sql.maybeOne<StoredKey>(
    `SELECT ${COLUMNS} FROM partner_credential WHERE id = ? AND partner_org_id = ?`,
    [id, partnerOrgId],
  );
  return row === null ? null : toKey(row);
}

/** Its signing secret goes with it. False: it was revoked already. */
export async function revokeKeyIfLive(sql: Sql, partnerOrgId: string, id: string): Promise<boolean> {
  const hit = await sql.change(
    `UPDATE partner_credential SET revoked_at = NOW(3), signing_secret = NULL
      WHERE id = ? AND partner_org_id = ? AND (revoked_at IS NULL OR revoked_at > NOW(3))`,
    [id, partnerOrgId],
  );
  return hit === 1;
}
