/** Statements on spent nonces: unique for each credential, forgotten when nothing signed with them could pass any more (ING-10). */
import { hitsUniqueKey } from './duplicate-key.ts';
import type { Sql } from './sql.ts';

/**
 * How long a nonce is kept beyond its time. A statement judges the time at its start and may then wait for locks; as long
 * as none waits for so long, no nonce is forgotten under a request that was in time.
 */
const KEPT_BEYOND_S = 3_600;

/**
 * One statement, committed by itself, that both judges the time by the database's clock and spends the nonce.
 * @returns `used` where it was spent before, `late` where `untilMs` is over
 */
export async function spendNonce(
  sql: Sql,
  nonce: { credentialId: string; nonce: string; untilMs: number },
): Promise<'spent' | 'used' | 'late'> {
  let inserted = 0;
  const used = await hitsUniqueKey(async () => {
    inserted = await sql.change(
      `INSERT INTO request_nonce (credential_id, nonce, expires_at)
       SELECT ?, ?, u.until FROM (SELECT FROM_UNIXTIME(? / 1000) until) u WHERE u.until >= NOW(3)`,
      [nonce.credentialId, nonce.nonce, nonce.untilMs],
    );
  });
  if (used) return 'used';
  return inserted === 1 ? 'spent' : 'late';
}

/** @returns how many were forgotten; fewer than `limit`: there are no more for now */
export async function forgetStaleNonces(sql: Sql, limit: number): Promise<number> {
  const stale = await sql.many<{ id: string }>(
    `SELECT id FROM request_nonce WHERE expires_at < NOW(3) - INTERVAL ${KEPT_BEYOND_S} SECOND
      ORDER BY expires_at LIMIT ${limit}`,
  );
  if (stale.length === 0) return 0;
  const ids = stale.map(({ id }) => id);
  return sql.change('DELETE FROM request_nonce WHERE id IN (?)', [ids]);
}
