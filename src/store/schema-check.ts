/**
 * What the rules lean on, checked at every start, so that a wrong database is refused with a sentence that says what to
 * do, instead of doubling work in silence: unique keys, matched-row counting, isolation, time zone.
 */
import { Failure } from '../errors.ts';
import type { Sql } from './sql.ts';
import { NEW_READ_COMMITTED, type Store } from './transaction.ts';

/** Unique keys by table: each is what makes some promise true. */
const REQUIRED_KEYS: Readonly<Record<string, readonly string[]>> = {
  fi_async_task: ['uk_task_code_business'],
  push_identity: ['PRIMARY'],
  pushed_row: ['PRIMARY', 'uk_pushed_row_receipt'],
  pushed_row_place: ['PRIMARY'],
  stage_slot: ['PRIMARY'],
  station_guard: ['PRIMARY'],
  station_mapping: ['uk_mapping_partner_station', 'uk_mapping_partner_platform'],
  fi_customer_account_partner: ['uk_partner_account'],
  fi_customer_bill_partner: ['uk_partner_bill'],
  fi_customer_bill: ['uk_platform_bill'],
  fi_monthly_income_difference: ['uk_income_difference'],
  fi_project_income_difference: ['PRIMARY'],
  fi_resident_income_payment_bill_dimension_snapshot: ['uk_bill_snapshot'],
  fi_resident_income_payment_bill_lock: ['uk_bill_lock_key'],
  income_diff_handover: ['PRIMARY'],
};

const PROBE = 'schema-check';

/** @throws Failure `DATABASE_NOT_READY` that names every fault at once */
export async function checkDatabase(store: Store): Promise<void> {
  const faults = [
    ...(await missingKeys(store)),
    ...(await wrongSession(store)),
    ...(await wrongRowCount(store)),
  ];
  if (faults.length === 0) return;
  const text = `The database cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`;
  throw new Failure('DATABASE_NOT_READY', text, { retryable: false, reach: 'platform' });
}

async function missingKeys(sql: Sql): Promise<string[]> {
  const rows = await sql.many<{ tableName: string; keyName: string }>(
    `SELECT DISTINCT table_name tableName, index_name keyName FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND non_unique = 0`,
  );
  const present = new Set(rows.map((row) => `${row.tableName}.${row.keyName}`));
  return Object.entries(REQUIRED_KEYS).flatMap(([table, keys]) =>
    keys
      .filter((key) => !present.has(`${table}.${key}`))
      .map(
        (key) =>
          `unique key ${key} of table ${table} is missing; run "rooftally migrate", or restore the key`,
      ),
  );
}

async function wrongSession(sql: Sql): Promise<string[]> {
  const session = await sql.one<{ isolation: string; lockWait: string | number }>(
    'SELECT @@session.transaction_isolation isolation, @@session.innodb_lock_wait_timeout lockWait',
  );
  const faults: string[] = [];
  if (session.isolation !== 'READ-COMMITTED')
    faults.push(`sessions run ${session.isolation} instead of READ-COMMITTED`);
  if (Number(session.lockWait) > 5)
    faults.push(`innodb_lock_wait_timeout is ${session.lockWait} s; it must stay below a slot's lease`);
  return faults;
}

class Undo extends Error {}

/** ENG-10: the fences count matched rows, not changed ones (FOUND_ROWS). */
async function wrongRowCount(store: Store): Promise<string[]> {
  let matched = 0;
  await store
    .transaction(NEW_READ_COMMITTED, async (tx) => {
      await tx.change('INSERT INTO stage_control (stage) VALUES (?) ON DUPLICATE KEY UPDATE stage = stage', [
        PROBE,
      ]);
      matched = await tx.change('UPDATE stage_control SET stage = stage WHERE stage = ?', [PROBE]);
      throw new Undo();
    })
    .catch((error) => {
      if (!(error instanceof Undo)) throw error;
    });
  return matched === 1
    ? []
    : ['the driver counts changed instead of matched rows (the connection flag FOUND_ROWS is off)'];
}
