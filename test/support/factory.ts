/**
 * Rows for tests: each function makes one row that is right in itself; a test says only what it is about.
 * Ids are unique within a run, so that no two tests meet by accident.
 */
import { createHash } from 'node:crypto';
import { recalculateAccounts } from '../../src/store/projections.ts';
import type { Sql, SqlValue } from '../../src/store/sql.ts';

let lastNumber = 1000;
const nextNumber = (): string => String(++lastNumber);

/** Columns by their names in the table. */
export type Columns = Readonly<Record<string, SqlValue>>;

/** Any row of any table. */
export async function insertRow(sql: Sql, table: string, columns: Columns): Promise<void> {
  await sql.changeExactly(1, `making a row of ${table}`, ...insertStatement(table, columns));
}

/** Any row of a table that numbers its rows itself. @returns the generated id */
export async function insertNumberedRow(sql: Sql, table: string, columns: Columns): Promise<string> {
  return sql.insert(...insertStatement(table, columns));
}

const ROWS_PER_STATEMENT = 1_000;

/** Many rows, few statements; a column that a row does not have is null in it. */
export async function insertRows(sql: Sql, table: string, rows: readonly Columns[]): Promise<void> {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const tuple = `(${names.map(() => '?').join(', ')})`;
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    const chunk = rows.slice(from, from + ROWS_PER_STATEMENT);
    await sql.changeExactly(
      chunk.length,
      `making rows of ${table}`,
      `INSERT INTO ${table} (${names.join(', ')}) VALUES ${chunk.map(() => tuple).join(', ')}`,
      chunk.flatMap((row) => names.map((name): SqlValue => row[name] ?? null)),
    );
  }
}

function insertStatement(table: string, columns: Columns): [string, SqlValue[]] {
  const names = Object.keys(columns);
  return [
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    Object.values(columns),
  ];
}

export interface MadePartner {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  /** As the partner sends it in `Authorization: Bearer …`. */
  readonly key: string;
}

/** A partner with one live key; payment enabled, not versioned. */
export async function makePartner(sql: Sql, columns: Columns = {}): Promise<MadePartner> {
  const partnerOrgId = String(columns.partner_org_id ?? nextNumber());
  const orgCode = String(columns.org_code ?? `ORG${partnerOrgId}`);
  await insertRow(sql, 'partner', {
    partner_org_id: partnerOrgId,
    org_code: orgCode,
    name: `Partner ${partnerOrgId}`,
    payment_flow: 'ENABLED',
    ...columns,
  });
  const key = await makeCredential(sql, partnerOrgId);
  return { partnerOrgId, orgCode, key };
}

/** @returns the key, which only its holder knows: the table has its hash */
export async function makeCredential(sql: Sql, partnerOrgId: string, columns: Columns = {}): Promise<string> {
  const key = `rt_test_${partnerOrgId}_${nextNumber()}`;
  await insertRow(sql, 'partner_credential', {
    partner_org_id: partnerOrgId,
    key_hash: createHash('sha256').update(key).digest('hex'),
    label: 'test',
    ...columns,
  });
  return key;
}

/** @returns the platform station's id */
export async function makePropStation(sql: Sql, columns: Columns = {}): Promise<string> {
  const id = String(columns.id ?? nextNumber());
  await insertRow(sql, 'prop_station', { id, station_no: `P${id}`, name: `Roof ${id}`, ...columns });
  return id;
}

export interface MadeMapping {
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly platformStationId: string | null;
}

/** A station of a partner on a platform station of its own, active since 2010; `platform_station_id: null` leaves it out. */
export async function makeMapping(
  sql: Sql,
  partnerOrgId: string,
  columns: Columns = {},
): Promise<MadeMapping> {
  const platformStationId =
    columns.platform_station_id === undefined ? await makePropStation(sql) : columns.platform_station_id;
  const row = mappingRow(partnerOrgId, { ...columns, platform_station_id: platformStationId });
  await insertRow(sql, 'station_mapping', row);
  return madeMapping(row);
}

/** Many such stations in few statements. */
export async function makeMappings(sql: Sql, partnerOrgId: string, count: number): Promise<MadeMapping[]> {
  const ids = Array.from({ length: count }, nextNumber);
  await insertRows(
    sql,
    'prop_station',
    ids.map((id) => ({ id, station_no: `P${id}`, name: `Roof ${id}` })),
  );
  const rows = ids.map((id) => mappingRow(partnerOrgId, { platform_station_id: id }));
  await insertRows(sql, 'station_mapping', rows);
  return rows.map(madeMapping);
}

function mappingRow(partnerOrgId: string, columns: Columns) {
  const number = nextNumber();
  return {
    partner_org_id: partnerOrgId,
    partner_station_no: `S${number}`,
    partner_station_id: `SID${number}`,
    project_company_id: '1',
    project_company_name: 'Project company 1',
    active_from_month: '2010-01',
    active_to_month: null,
    ...columns,
  };
}

function madeMapping(row: ReturnType<typeof mappingRow>): MadeMapping {
  const { platform_station_id: id } = row as Columns;
  return {
    partnerStationNo: row.partner_station_no,
    partnerStationId: row.partner_station_id,
    platformStationId: id === null ? null : String(id),
  };
}

/** @returns the platform account's id */
export async function makePlatformAccount(
  sql: Sql,
  where: { partnerOrgId: string; platformStationId: string },
  columns: Columns = {},
): Promise<string> {
  return insertNumberedRow(sql, 'fi_customer_account', {
    partner_org_id: where.partnerOrgId,
    small_station_id: where.platformStationId,
    small_station_no: `P${where.platformStationId}`,
    ...columns,
  });
}

/** Our own bill of a platform station for a month, in the account given, whose totals follow. @returns its id */
export async function makePlatformBill(
  sql: Sql,
  where: { partnerOrgId: string; platformStationId: string; accountId: string; month: string },
  columns: Columns = {},
): Promise<string> {
  const billId = await insertNumberedRow(sql, 'fi_customer_bill', {
    customer_account_id: where.accountId,
    partner_org_id: where.partnerOrgId,
    small_station_id: where.platformStationId,
    bill_year_month: where.month,
    rent: '120.00',
    ...columns,
  });
  await recalculateAccounts(sql, 'platform', [where.accountId], null);
  return billId;
}

/** The read model's row for a station-month, older than anything the chain would write. @returns its id */
export async function makeSnapshot(
  sql: Sql,
  where: { partnerOrgId: string; platformStationId: string; month: string },
  columns: Columns = {},
): Promise<string> {
  return insertNumberedRow(sql, 'fi_resident_income_payment_bill_dimension_snapshot', {
    partner_org_id: where.partnerOrgId,
    platform_station_id: where.platformStationId,
    bill_year_month: where.month,
    ...columns,
  });
}

/** A live lock (RESERVED unless said otherwise) on a station-month, of a submit that is being built. @returns its id */
export async function makeBillLock(
  sql: Sql,
  where: { platformStationId: string; month: string; partnerOrgId?: string },
  columns: Columns = {},
): Promise<string> {
  const partnerOrgId = where.partnerOrgId ?? '0';
  const submit = columns.payment_order_id === undefined ? await makeSubmit(sql, partnerOrgId) : {};
  return insertNumberedRow(sql, 'fi_resident_income_payment_bill_lock', {
    lock_key: `${where.platformStationId}:${where.month}`,
    lock_status: 'RESERVED',
    platform_station_id: where.platformStationId,
    bill_year_month: where.month,
    partner_org_id: partnerOrgId,
    session_id: '1',
    submit_attempt: 1,
    data_version: '1',
    ...submit,
    ...columns,
  });
}

/** An order with its first version BUILDING, as a submit has just started it. @returns the columns that its locks name it by */
async function makeSubmit(sql: Sql, partnerOrgId: string): Promise<Columns> {
  const orderId = await insertNumberedRow(sql, 'fi_resident_income_payment_order', {
    order_no: `PO${nextNumber()}`,
    partner_org_id: partnerOrgId,
    create_user_id: 'test',
  });
  const sessionId = await insertNumberedRow(sql, 'selection_session', {
    partner_org_id: partnerOrgId,
    mode: 'NEW',
    status: 'SUBMITTING',
    creator_user_id: 'test',
    months: '[]',
  });
  const versionId = await insertNumberedRow(sql, 'fi_resident_income_payment_order_version', {
    payment_order_id: orderId,
    session_id: sessionId,
    target_data_version: '1',
    submit_attempt: 1,
    submit_token: `token-${orderId}`,
    version_build_status: 'BUILDING',
  });
  // Stopped, so that no worker goes on with it: what is held stays held.
  await insertNumberedRow(sql, 'fi_async_task', {
    stage: 'payment-submit',
    task_type: 'TEST',
    task_code: `RIPPS:${versionId}:BUILD`,
    business_key: `PAYMENT_SUBMIT:${versionId}:BUILD`,
    task_data: '{}',
    max_retry_count: 3,
    next_execute_time: '2030-01-01 00:00:00.000',
    partner_org_id: partnerOrgId,
    activation: 0,
  });
  return { payment_order_id: orderId, payment_order_version_id: versionId, session_id: sessionId };
}

/** A released lock leaves its key to the next one (LCK-17). */
export async function releaseBillLock(sql: Sql, lockId: string): Promise<void> {
  await sql.changeExactly(
    1,
    'releasing a test lock',
    `UPDATE fi_resident_income_payment_bill_lock
        SET lock_status = 'RELEASED', lock_key = CONCAT(lock_key, ':', id), release_time = NOW(3) WHERE id = ?`,
    [lockId],
  );
}
