/** Statements on payment facts, and on the events that brought them or an audit's result (DEC-13, DEC-26). */
import { hitsUniqueKey } from './duplicate-key.ts';
import type { VersionRow } from './payment-orders.ts';
import { OF_SUBMIT, submitOf } from './reservations.ts';
import type { Sql } from './sql.ts';

export interface PayableOrderBill {
  readonly orderBillId: string;
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly amount: string;
}

const ORDER_BILL = `SELECT id orderBillId, partner_bill_id partnerBillId, platform_station_id platformStationId,
    bill_year_month billYearMonth, amount
  FROM fi_resident_income_payment_order_bill WHERE payment_order_id = ? AND id IN (?) ORDER BY id`;

/** Of that order, of any of its versions. */
export async function listPayableBills(
  sql: Sql,
  orderId: string,
  ids: readonly string[],
): Promise<PayableOrderBill[]> {
  return ids.length === 0 ? [] : sql.many<PayableOrderBill>(ORDER_BILL, [orderId, ids]);
}

/** DEC-13: results of one order bill queue on its row. */
export async function lockPayableBills(
  sql: Sql,
  orderId: string,
  ids: readonly string[],
): Promise<PayableOrderBill[]> {
  return ids.length === 0 ? [] : sql.many<PayableOrderBill>(`${ORDER_BILL} FOR UPDATE`, [orderId, ids]);
}

/** Of these order bills, those with a live lock of this version (DEC-26). */
export async function listLockedOrderBills(
  sql: Sql,
  version: VersionRow,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql.many<{ orderBillId: string }>(
    `SELECT l.order_bill_id orderBillId
       FROM fi_resident_income_payment_order_bill o
       JOIN fi_resident_income_payment_bill_lock l
         ON l.lock_key = CONCAT(o.platform_station_id, ':', o.bill_year_month) AND l.order_bill_id = o.id
        AND l.lock_status IN ('RESERVED', 'ACTIVE') AND ${OF_SUBMIT}
      WHERE o.id IN (?) AND o.payment_order_version_id = ?`,
    [...submitOf(version), ids, version.id],
  );
  return new Set(rows.map((row) => row.orderBillId));
}

export interface FactRow {
  readonly eventId: string;
  readonly orderBillId: string;
  readonly partnerBillId: string;
  readonly paymentOrderVersionId: string;
  readonly amount: string;
  readonly reversedEventId: string | null;
}

const FACT = `SELECT event_id eventId, order_bill_id orderBillId, partner_bill_id partnerBillId,
    payment_order_version_id paymentOrderVersionId, amount, reversed_event_id reversedEventId
  FROM fi_resident_income_payment_fact WHERE payment_order_id = ?`;

/** These payments of the order, and the reversals of them. */
export async function listFactsOf(
  sql: Sql,
  orderId: string,
  eventIds: readonly string[],
): Promise<FactRow[]> {
  if (eventIds.length === 0) return [];
  return sql.many<FactRow>(`${FACT} AND (event_id IN (?) OR reversed_event_id IN (?)) ORDER BY id`, [
    orderId,
    eventIds,
    eventIds,
  ]);
}

export async function sumPaidByOrderBill(
  sql: Sql,
  orderId: string,
  orderBillIds: readonly string[],
): Promise<Map<string, string>> {
  if (orderBillIds.length === 0) return new Map();
  const rows = await sql.many<{ orderBillId: string; paid: string }>(
    `SELECT order_bill_id orderBillId, SUM(amount) paid FROM fi_resident_income_payment_fact
      WHERE payment_order_id = ? AND order_bill_id IN (?) GROUP BY order_bill_id`,
    [orderId, orderBillIds],
  );
  return new Map(rows.map((row) => [row.orderBillId, row.paid]));
}

export async function hasAnyPayment(sql: Sql, orderId: string): Promise<boolean> {
  return (
    (await sql.maybeOne('SELECT id FROM fi_resident_income_payment_fact WHERE payment_order_id = ? LIMIT 1', [
      orderId,
    ])) !== null
  );
}

export interface NewFact {
  readonly eventId: string;
  readonly paymentOrderVersionId: string;
  readonly orderBillId: string;
  readonly partnerBillId: string;
  /** CNY; negative for a reversal. */
  readonly amount: string;
  readonly reversedEventId: string | null;
  /** ISO 8601 in UTC. */
  readonly paidTime: string;
}

export async function insertFacts(sql: Sql, orderId: string, facts: readonly NewFact[]): Promise<void> {
  if (facts.length === 0) return;
  await sql.changeExactly(
    facts.length,
    'writing payment facts',
    `INSERT INTO fi_resident_income_payment_fact
       (event_id, payment_order_id, payment_order_version_id, order_bill_id, partner_bill_id, amount, reversed_event_id,
        paid_time)
     VALUES ${facts.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    facts.flatMap((fact) => [
      fact.eventId,
      orderId,
      fact.paymentOrderVersionId,
      fact.orderBillId,
      fact.partnerBillId,
      fact.amount,
      fact.reversedEventId,
      fact.paidTime.replace('T', ' ').replace('Z', ''),
    ]),
  );
}

export interface EventRow {
  readonly eventId: string;
  readonly kind: 'AUDIT_RESULT' | 'PAYMENT_RESULT';
  readonly paymentOrderId: string;
  readonly contentDigest: string;
  readonly answer: Record<string, unknown>;
}

export async function listEvents(sql: Sql, ids: readonly string[]): Promise<Map<string, EventRow>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.many<EventRow>(
    `SELECT event_id eventId, kind, payment_order_id paymentOrderId, content_digest contentDigest, answer
       FROM fi_resident_income_payment_event WHERE event_id IN (?)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.eventId, row]));
}

/** False: one of them has come in for another order meanwhile. */
export async function insertEventsIfNew(sql: Sql, events: readonly EventRow[]): Promise<boolean> {
  if (events.length === 0) return true;
  const taken = await hitsUniqueKey(() =>
    sql.change(
      `INSERT INTO fi_resident_income_payment_event (event_id, kind, payment_order_id, content_digest, answer)
       VALUES ${events.map(() => '(?, ?, ?, ?, ?)').join(', ')}`,
      events.flatMap((event) => [
        event.eventId,
        event.kind,
        event.paymentOrderId,
        event.contentDigest,
        JSON.stringify(event.answer),
      ]),
    ),
  );
  return !taken;
}

/** Where a change must be refreshed: the difference of a partner's station-month, with its accounts. */
export interface DifferenceOfBill {
  readonly diffId: string;
  readonly stationId: string;
  readonly shareMonth: string;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
}

export async function listDifferencesOfBills(
  sql: Sql,
  partnerOrgId: string,
  bills: readonly Pick<PayableOrderBill, 'platformStationId' | 'billYearMonth'>[],
): Promise<DifferenceOfBill[]> {
  if (bills.length === 0) return [];
  return sql.many<DifferenceOfBill>(
    `SELECT d.id diffId, d.station_id stationId, d.share_month shareMonth, d.partner_account_id partnerAccountId,
            d.platform_account_id platformAccountId
       FROM JSON_TABLE(?, '$[*]' COLUMNS (station_id BIGINT UNSIGNED PATH '$[0]',
              share_month CHAR(7) CHARACTER SET utf8mb4 PATH '$[1]')) v
       STRAIGHT_JOIN fi_monthly_income_difference d
         ON d.partner_org_id = ? AND d.station_id = v.station_id AND d.share_month = v.share_month COLLATE utf8mb4_bin
      ORDER BY d.station_id, d.id`,
    [JSON.stringify(bills.map((bill) => [bill.platformStationId, bill.billYearMonth])), partnerOrgId],
  );
}

/** Milliseconds since 1970, by the database's clock. */
export async function readDatabaseTimeMs(sql: Sql): Promise<number> {
  const row = await sql.one<{ ms: string }>('SELECT ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) ms');
  return Number(row.ms);
}
