/**
 * What the rules lean on, checked at every start, so that a wrong database is refused with a sentence that says what to
 * do, instead of doubling work in silence: unique keys, matched-row counting, isolation, time zone.
 */
import { Failure } from '../errors.ts';
import type { Sql } from './sql.ts';
import { NEW_READ_COMMITTED, type Store } from './transaction.ts';

const PROBE = 'schema-check';
const PROBED_TABLE = 'stage_control';

/** @throws Failure `DATABASE_NOT_READY` that names every fault at once */
export async function checkDatabase(store: Store): Promise<void> {
  const { faults: keyFaults, tables } = await wrongKeys(store);
  const faults = [
    ...keyFaults,
    ...(await wrongSession(store)),
    ...(tables.has(PROBED_TABLE) ? await wrongRowCount(store) : []),
  ];
  if (faults.length === 0) return;
  const text = `The database cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`;
  throw new Failure('DATABASE_NOT_READY', text, { retryable: false, reach: 'platform' });
}

/** A primary or unique key of an entity; each is what makes some promise true. */
interface UniqueKey {
  readonly table: string;
  readonly name: string;
  readonly columns: string;
}

const PRIMARY = 'PRIMARY';

async function wrongKeys(store: Store): Promise<{ faults: string[]; tables: ReadonlySet<string> }> {
  const found = await store.many<UniqueKey & { nonUnique: number }>(
    `SELECT table_name \`table\`, index_name name, MAX(non_unique) nonUnique,
            GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') \`columns\`
       FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name`,
  );
  const tables = new Set(found.map((key) => key.table));
  const byName = new Map(found.map((key) => [`${key.table}.${key.name}`, key]));
  const wanted = uniqueKeysOf(store);
  const missingTables = [...new Set(wanted.map((key) => key.table))].filter((table) => !tables.has(table));
  const faults = wanted.flatMap((key) => {
    if (!tables.has(key.table)) return [];
    const there = byName.get(`${key.table}.${key.name}`);
    const fits = there !== undefined && Number(there.nonUnique) === 0 && there.columns === key.columns;
    return fits ? [] : [describeKey(key, there !== undefined)];
  });
  if (missingTables.length > 0)
    faults.unshift(`tables are missing (${missingTables.join(', ')}); run "rooftally migrate"`);
  return { faults, tables };
}

/** What the entities say; that the migrations say the same is a test's business. */
function uniqueKeysOf(store: Store): UniqueKey[] {
  return [...store.orm.getMetadata().getAll().values()].flatMap((entity) => {
    const columnsOf = (properties: readonly string[]) =>
      properties.flatMap((name) => entity.properties[name as never]?.fieldNames ?? []).join(', ');
    const uniques = entity.uniques.map((unique) => ({
      table: entity.tableName,
      name: unique.name ?? '',
      columns: columnsOf([unique.properties ?? []].flat()),
    }));
    return [{ table: entity.tableName, name: PRIMARY, columns: columnsOf(entity.primaryKeys) }, ...uniques];
  });
}

/** A migration that has run does not run again, so the statement stands here that puts the key back. */
function describeKey({ table, name, columns }: UniqueKey, isThere: boolean): string {
  const [drop, add] =
    name === PRIMARY
      ? ['DROP PRIMARY KEY, ', `ADD PRIMARY KEY (${columns})`]
      : [`DROP INDEX ${name}, `, `ADD UNIQUE KEY ${name} (${columns})`];
  const fault = isThere ? `is not unique on (${columns})` : 'is missing';
  return `unique key ${name} of table ${table} ${fault}; put it back: ALTER TABLE ${table} ${isThere ? drop : ''}${add};`;
}

async function wrongSession(sql: Sql): Promise<string[]> {
  const { timeZone, lockWait } = await sql.one<{ timeZone: string; lockWait: string | number }>(
    'SELECT @@session.time_zone timeZone, @@session.innodb_lock_wait_timeout lockWait',
  );
  // MariaDB calls it tx_isolation before 11.1.
  const isolation = await sql.many<{ Value: string }>(
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')",
  );
  const faults: string[] = [];
  if (isolation.some((row) => row.Value !== 'READ-COMMITTED'))
    faults.push(`sessions run ${isolation[0]?.Value} instead of READ-COMMITTED`);
  if (timeZone !== '+00:00') faults.push(`sessions run in the time zone ${timeZone} instead of +00:00`);
  if (Number(lockWait) > 5)
    faults.push(`innodb_lock_wait_timeout is ${lockWait} s; it must stay below a slot's lease`);
  return faults;
}

class Undo extends Error {}

/** ENG-10: the fences count matched rows, not changed ones (FOUND_ROWS). */
async function wrongRowCount(store: Store): Promise<string[]> {
  let matched = 0;
  await store
    .transaction(NEW_READ_COMMITTED, async (tx) => {
      await tx.change(
        `INSERT INTO ${PROBED_TABLE} (stage) VALUES (?) ON DUPLICATE KEY UPDATE stage = stage`,
        [PROBE],
      );
      matched = await tx.change(`UPDATE ${PROBED_TABLE} SET stage = stage WHERE stage = ?`, [PROBE]);
      throw new Undo();
    })
    .catch((error) => {
      if (!(error instanceof Undo)) throw error;
    });
  return matched === 1
    ? []
    : ['the driver counts changed instead of matched rows (the connection flag FOUND_ROWS is off)'];
}
