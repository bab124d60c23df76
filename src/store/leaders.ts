/** Who leads what must run once, as a row with a lease by the database's clock (ENG-7, ENG-19). */
import type { Sql } from './sql.ts';

/**
 * Becomes or stays leader if nobody else is within its lease. One statement, so two cannot both succeed.
 * @returns whether `holder` leads now.
 */
export async function tryLead(sql: Sql, name: string, holder: string, leaseMs: number): Promise<boolean> {
  await sql.change(
    `INSERT INTO scheduler_leader (name, holder, fence, lease_end)
     VALUES (?, ?, 1, SYSDATE(3) + INTERVAL ? MICROSECOND)
     ON DUPLICATE KEY UPDATE
       fence = IF(holder <=> VALUES(holder), fence, IF(lease_end IS NULL OR lease_end <= SYSDATE(3), fence + 1, fence)),
       holder = IF(holder <=> VALUES(holder) OR lease_end IS NULL OR lease_end <= SYSDATE(3), VALUES(holder), holder),
       lease_end = IF(holder <=> VALUES(holder), VALUES(lease_end), lease_end)`,
    [name, holder, leaseMs * 1000],
  );
  const place = await sql.maybeOne<{ name: string }>(
    'SELECT name FROM scheduler_leader WHERE name = ? AND holder = ? AND lease_end > SYSDATE(3)',
    [name, holder],
  );
  return place !== null;
}

/** Gives the place up, so that a follower need not wait for the lease's end. */
export async function stepDown(sql: Sql, name: string, holder: string): Promise<void> {
  await sql.change(
    'UPDATE scheduler_leader SET lease_end = NULL, holder = NULL WHERE name = ? AND holder = ?',
    [name, holder],
  );
}

/**
 * Goes on leading, with the row locked to the end of the transaction: nobody can take the place over before it is
 * committed. The lease is looked at once, strictly.
 * @returns false: the place was lost, and nothing may be written
 */
export async function keepLead(sql: Sql, name: string, holder: string, leaseMs: number): Promise<boolean> {
  const kept = await sql.change(
    `UPDATE scheduler_leader SET lease_end = SYSDATE(3) + INTERVAL ? MICROSECOND
      WHERE name = ? AND holder = ? AND lease_end > SYSDATE(3)`,
    [leaseMs * 1000, name, holder],
  );
  return kept === 1;
}

/** Who leads within its lease; null: nobody. */
export async function findLeader(sql: Sql, name: string): Promise<string | null> {
  const row = await sql.maybeOne<{ holder: string }>(
    'SELECT holder FROM scheduler_leader WHERE name = ? AND holder IS NOT NULL AND lease_end > SYSDATE(3)',
    [name],
  );
  return row?.holder ?? null;
}
