import type { Sql } from './sql.ts';

/** Undo records that InnoDB has yet to purge (RET-1). @throws where the session's user lacks PROCESS */
export async function readHistoryLength(sql: Sql): Promise<number> {
  const row = await sql.one<{ length: string | number }>(
    "SELECT `count` length FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
  );
  return Number(row.length);
}
