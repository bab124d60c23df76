/** Rows that may be there already: the key decides, and what is there stays as it is. */
import type { Sql, SqlValue } from './sql.ts';

const CHUNK_SIZE_MAX = 500;

/** @param columns the first one is of the table's own, no generated column */
export async function insertMissing<Seed>(
  sql: Sql,
  table: string,
  columns: readonly string[],
  seeds: readonly Seed[],
  valuesOf: (seed: Seed) => SqlValue[],
): Promise<void> {
  const tuple = `(${columns.map(() => '?').join(', ')})`;
  for (let from = 0; from < seeds.length; from += CHUNK_SIZE_MAX) {
    const chunk = seeds.slice(from, from + CHUNK_SIZE_MAX);
    await sql.change(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${chunk.map(() => tuple).join(', ')}
       ON DUPLICATE KEY UPDATE ${columns[0]} = ${table}.${columns[0]}`,
      chunk.flatMap(valuesOf),
    );
  }
}
