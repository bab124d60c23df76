/**
 * Rows of the payment submit for tests: an order, a submit of it, its batches, order bills and locks. Each is right in
 * itself; a test says only what it is about.
 */
import type { Sql, SqlValue } from '../../src/store/sql.ts';
import { type Columns, insertNumberedRow, insertRow } from './factory.ts';

const TABLE = {
  order: 'fi_resident_income_payment_order',
  version: 'fi_resident_income_payment_order_version',
  lock: 'fi_resident_income_payment_bill_lock',
  orderBill: 'fi_resident_income_payment_order_bill',
} as const;

export const PAYMENT_PARTNER = '7';
export const CREATOR = 'user-1';
const PHASES = ['BUILD', 'PUBLISH', 'LOCK_ACTIVATE', 'AUDIT_PLAN', 'LOCK_RELEASE'];

let lastNumber = 500_000;
const nextNumber = () => String(++lastNumber);

/** What identifies a submit, and the rows that belong to it. */
export interface MadeSubmit {
  readonly partnerOrgId: string;
  readonly orderId: string;
  readonly sessionId: string;
  readonly versionId: string;
  readonly submitAttempt: number;
  readonly dataVersion: string;
}

export interface SubmitParts {
  readonly order?: Columns;
  readonly session?: Columns;
  readonly version?: Columns;
  /** Of the batch LOCK_RELEASE. */
  readonly batch?: Columns;
  /** Of an order that is there already. */
  readonly orderId?: string;
}

export async function makeOrder(sql: Sql, columns: Columns = {}): Promise<string> {
  return insertNumberedRow(sql, TABLE.order, {
    order_no: `PO${nextNumber()}`,
    partner_org_id: PAYMENT_PARTNER,
    create_user_id: CREATOR,
    ...columns,
  });
}

/** A submit that failed in its build: a NEW session, no version published, all batches INIT. */
export async function makeSubmit(sql: Sql, parts: SubmitParts = {}): Promise<MadeSubmit> {
  const orderId = parts.orderId ?? (await makeOrder(sql, parts.order));
  const sessionId = await insertNumberedRow(sql, 'selection_session', {
    partner_org_id: PAYMENT_PARTNER,
    mode: 'NEW',
    status: 'SUBMIT_FAILED',
    target_payment_order_id: orderId,
    creator_user_id: CREATOR,
    months: '["2026-05"]',
    ...parts.session,
  });
  const version = {
    payment_order_id: orderId,
    session_id: sessionId,
    target_data_version: '1',
    submit_attempt: 1,
    submit_token: `token-${nextNumber()}`,
    version_build_status: 'BUILD_FAILED',
    ...parts.version,
  };
  const versionId = await insertNumberedRow(sql, TABLE.version, version);
  if (parts.session?.active_submit_id === undefined)
    await sql.change('UPDATE selection_session SET active_submit_id = ? WHERE id = ?', [
      versionId,
      sessionId,
    ]);
  for (const phase of PHASES)
    await insertNumberedRow(sql, 'selection_submit_batch', {
      payment_order_version_id: versionId,
      session_id: sessionId,
      batch_phase: phase,
      ...(phase === 'LOCK_RELEASE' ? parts.batch : {}),
    });
  return {
    partnerOrgId: String(parts.order?.partner_org_id ?? PAYMENT_PARTNER),
    orderId,
    sessionId,
    versionId,
    submitAttempt: Number(version.submit_attempt),
    dataVersion: String(version.target_data_version),
  };
}

/**
 * A REVISE whose build failed, of an order with a published version 1; invalid, since the order has been handed to
 * another creator, unless the parts say otherwise (LCK-29).
 */
export async function makeRevise(sql: Sql, parts: SubmitParts = {}): Promise<MadeSubmit> {
  const orderId = await makeOrder(sql, {
    current_publish_version: '1',
    create_user_id: 'user-2',
    ...parts.order,
  });
  await makeSubmit(sql, {
    orderId,
    session: { status: 'PUBLISHED' },
    version: { version_build_status: 'PUBLISHED' },
  });
  return makeSubmit(sql, {
    ...parts,
    orderId,
    session: {
      mode: 'REVISE',
      active_revise_key: `REVISE:${orderId}`,
      active_scope_key: `${PAYMENT_PARTNER}:REVISE:${orderId}`,
      ...parts.session,
    },
    version: { target_data_version: '2', ...parts.version },
  });
}

/** What the order's published versions had to do after the publish is done, as their sessions say. */
export async function endPublished(sql: Sql, orderId: string): Promise<void> {
  await sql.change(
    `UPDATE selection_submit_batch b JOIN ${TABLE.version} v ON v.id = b.payment_order_version_id
        SET b.batch_status = 'DONE'
      WHERE v.payment_order_id = ? AND v.version_build_status = 'PUBLISHED' AND b.batch_phase <> 'LOCK_RELEASE'`,
    [orderId],
  );
}

/** A published version whose order has a later one in force, and how far that one's activation has come (PAY-5). */
export async function makeOvertaken(sql: Sql, activation: string): Promise<MadeSubmit> {
  const published = { session: { status: 'PUBLISHED' }, version: { version_build_status: 'PUBLISHED' } };
  const submit = await makeSubmit(sql, { ...published, order: { current_publish_version: '2' } });
  const later = await makeSubmit(sql, {
    ...published,
    orderId: submit.orderId,
    version: { ...published.version, target_data_version: '2' },
  });
  await sql.changeExactly(
    1,
    'activating',
    `UPDATE selection_submit_batch SET batch_status = ? WHERE payment_order_version_id = ? AND batch_phase = 'LOCK_ACTIVATE'`,
    [activation, later.versionId],
  );
  return submit;
}

const LOCKS_A_STATEMENT = 5_000;

/** Locks of the submit, RESERVED unless said otherwise, each on a roof of its own. @returns their ids, ascending */
export async function makeLocks(
  sql: Sql,
  submit: MadeSubmit,
  count: number,
  columns: Columns = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += LOCKS_A_STATEMENT)
    ids.push(...(await insertLocks(sql, submit, Math.min(LOCKS_A_STATEMENT, count - made), columns)));
  return ids;
}

async function insertLocks(sql: Sql, submit: MadeSubmit, count: number, columns: Columns): Promise<string[]> {
  const rows = Array.from({ length: count }, () => lockColumns(submit, nextNumber(), columns));
  const names = Object.keys(rows[0]!);
  await sql.change(
    `INSERT INTO ${TABLE.lock} (${names.join(', ')})
     VALUES ${rows.map(() => `(${names.map(() => '?').join(', ')})`).join(', ')}`,
    rows.flatMap((row) => Object.values(row)),
  );
  const made = await sql.many<{ id: string }>(
    `SELECT id FROM ${TABLE.lock} WHERE platform_station_id IN (?) ORDER BY id`,
    [rows.map((row) => row.platform_station_id!)],
  );
  return made.map((row) => row.id);
}

function lockColumns(submit: MadeSubmit, station: string, columns: Columns): Record<string, SqlValue> {
  return {
    lock_key: `${station}:2026-05`,
    lock_status: 'RESERVED',
    platform_station_id: station,
    bill_year_month: '2026-05',
    partner_org_id: submit.partnerOrgId,
    payment_order_id: submit.orderId,
    payment_order_version_id: submit.versionId,
    session_id: submit.sessionId,
    submit_attempt: submit.submitAttempt,
    data_version: submit.dataVersion,
    ...columns,
  };
}

export interface MadeOrderBill {
  readonly orderBillId: string;
  readonly lockId: string;
}

/** An order bill of the version with its lock. */
export async function makeBillWithLock(
  sql: Sql,
  submit: MadeSubmit,
  columns: { readonly bill?: Columns; readonly lock?: Columns } = {},
): Promise<MadeOrderBill> {
  const station = nextNumber();
  const orderBillId = await insertNumberedRow(sql, TABLE.orderBill, {
    payment_order_id: submit.orderId,
    payment_order_version_id: submit.versionId,
    data_version: submit.dataVersion,
    partner_org_id: submit.partnerOrgId,
    partner_bill_id: station,
    platform_station_id: station,
    bill_year_month: '2026-05',
    amount: '100.00',
    ...columns.bill,
  });
  const lockId = await insertNumberedRow(
    sql,
    TABLE.lock,
    lockColumns(submit, station, { order_bill_id: orderBillId, ...columns.lock }),
  );
  return { orderBillId, lockId };
}

/** An event that came in about the submit's order, and the answer that it got. @returns its id */
export async function makeEvent(
  sql: Sql,
  submit: MadeSubmit,
  kind: 'PAYMENT_RESULT' | 'AUDIT_RESULT',
  answer: object,
): Promise<string> {
  const eventId = `event-${nextNumber()}`;
  await insertRow(sql, 'fi_resident_income_payment_event', {
    event_id: eventId,
    kind,
    payment_order_id: submit.orderId,
    content_digest: 'd'.repeat(64),
    answer: JSON.stringify({ eventId, ...answer }),
  });
  return eventId;
}

/** A payment fact of an order bill; a negative amount takes a payment back. */
export async function makeFact(
  sql: Sql,
  orderBillId: string,
  eventId: string,
  amount: string,
): Promise<void> {
  await sql.changeExactly(
    1,
    'making a payment fact',
    `INSERT INTO fi_resident_income_payment_fact
       (event_id, payment_order_id, payment_order_version_id, order_bill_id, partner_bill_id, amount, paid_time)
     SELECT ?, payment_order_id, payment_order_version_id, id, partner_bill_id, ?, NOW(3)
       FROM fi_resident_income_payment_order_bill WHERE id = ?`,
    [eventId, amount, orderBillId],
  );
}

export interface LockRow {
  readonly id: string;
  readonly lockStatus: string;
  readonly lockKey: string;
  readonly releaseReason: string | null;
  readonly releaseTime: string | null;
  readonly platformStationId: string;
  readonly billYearMonth: string;
}

export async function readLocks(sql: Sql, ids: readonly string[]): Promise<LockRow[]> {
  return sql.many<LockRow>(
    `SELECT id, lock_status lockStatus, lock_key lockKey, release_reason releaseReason, release_time releaseTime,
            platform_station_id platformStationId, bill_year_month billYearMonth
       FROM ${TABLE.lock} WHERE id IN (?) ORDER BY id`,
    [ids],
  );
}

export async function lockStatuses(sql: Sql, ids: readonly string[]): Promise<string[]> {
  return (await readLocks(sql, ids)).map((lock) => lock.lockStatus);
}

export interface BatchRow {
  readonly status: string;
  readonly lastItemId: string;
  readonly processedCount: number;
  readonly leaseVersion: number;
  readonly payableCount: number;
  readonly unqualifiedCount: number;
  readonly workerId: string | null;
  readonly ownerTaskId: string | null;
  readonly ownerAttempt: number | null;
  readonly lastErrorCode: string | null;
}

export async function readBatch(sql: Sql, versionId: string, phase = 'LOCK_RELEASE'): Promise<BatchRow> {
  return sql.one<BatchRow>(
    `SELECT batch_status status, last_item_id lastItemId, processed_count processedCount, lease_version leaseVersion,
            payable_count payableCount, unqualified_count unqualifiedCount, worker_id workerId,
            owner_task_id ownerTaskId, owner_attempt ownerAttempt, last_error_code lastErrorCode
       FROM selection_submit_batch WHERE payment_order_version_id = ? AND batch_phase = ?`,
    [versionId, phase],
  );
}

export async function versionStatus(sql: Sql, versionId: string): Promise<string> {
  const row = await sql.one<{ status: string }>(
    `SELECT version_build_status status FROM ${TABLE.version} WHERE id = ?`,
    [versionId],
  );
  return row.status;
}

export interface SessionView {
  readonly status: string;
  readonly activeSubmitId: string | null;
  readonly activeReviseKey: string | null;
  readonly activeScopeKey: string | null;
  readonly invalidatedFlag: number;
  readonly invalidatedReason: string | null;
  readonly failurePhase: string | null;
  readonly stateVersion: number;
}

export async function readSession(sql: Sql, sessionId: string): Promise<SessionView> {
  return sql.one<SessionView>(
    `SELECT status, active_submit_id activeSubmitId, active_revise_key activeReviseKey,
            active_scope_key activeScopeKey, invalidated_flag invalidatedFlag, invalidated_reason invalidatedReason,
            failure_phase failurePhase, state_version stateVersion
       FROM selection_session WHERE id = ?`,
    [sessionId],
  );
}

/** What publishing does, as PAY-4 has it: the version row first. False: the version has left BUILT. */
export async function publish(sql: Sql, submit: MadeSubmit): Promise<boolean> {
  await sql.one(`SELECT id FROM ${TABLE.version} WHERE id = ? FOR UPDATE`, [submit.versionId]);
  const hit = await sql.change(
    `UPDATE ${TABLE.version} SET version_build_status = 'PUBLISHED' WHERE id = ? AND version_build_status = 'BUILT'`,
    [submit.versionId],
  );
  if (hit === 0) return false;
  await sql.changeExactly(
    1,
    'publishing',
    `UPDATE ${TABLE.order} SET current_publish_version = ? WHERE id = ?`,
    [submit.dataVersion, submit.orderId],
  );
  return true;
}
