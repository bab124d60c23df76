/** What the database could do if nothing but the bills were written: one durable multi-row upsert a station, 16 connections. */
import { NEW_READ_COMMITTED, type Store } from '../src/store/transaction.ts';
import { BILLS_PER_STATION } from './bench-data.ts';

const CONNECTIONS = 16;
const TABLE = 'bench_raw_bill';

/** @returns seconds; the table is made like the bills' own, keys included, and dropped afterwards */
export async function measureRaw(store: Store, stations: number): Promise<number> {
  await store.change(`DROP TABLE IF EXISTS ${TABLE}`);
  await store.change(`CREATE TABLE ${TABLE} LIKE fi_customer_bill_partner`);
  try {
    let next = 1;
    const startedMs = performance.now();
    const writeSome = async () => {
      for (let station = next++; station <= stations; station = next++) await writeStation(store, station);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, writeSome));
    return (performance.now() - startedMs) / 1000;
  } finally {
    await store.change(`DROP TABLE ${TABLE}`);
  }
}

async function writeStation(store: Store, station: number): Promise<void> {
  const rows = Array.from({ length: BILLS_PER_STATION }, (_, index) => [
    station,
    1,
    `2025-${String(index + 1).padStart(2, '0')}`,
    `ID-${station}`,
    'MONTHLY',
    '180.00',
    '0.350000',
    12,
    20,
    '0.385000',
    '120.00',
    '100.00',
    '0.00',
    '10.00',
    'BATCH',
    'x'.repeat(64),
    station,
    index + 1,
    1,
  ]);
  const tuple = `(${rows[0]!.map(() => '?').join(', ')}, NOW(3))`;
  await store.transaction(NEW_READ_COMMITTED, (tx) =>
    tx.change(
      `INSERT INTO ${TABLE} (customer_account_id, partner_org_id, bill_year_month, station_id, rent_pay_method, settlement_amount,
         share_ratio, period, sharing_block_count, unit_price, rent, pre_rent, freeze_amount, deduction_amount, settlement_batch_no,
         content_hash, push_id, push_row_no, accept_no, last_push_time) VALUES ${rows.map(() => tuple).join(', ')}
       ON DUPLICATE KEY UPDATE settlement_amount = VALUES(settlement_amount), rent = VALUES(rent), pre_rent = VALUES(pre_rent),
         freeze_amount = VALUES(freeze_amount), deduction_amount = VALUES(deduction_amount), content_hash = VALUES(content_hash),
         push_id = VALUES(push_id), push_row_no = VALUES(push_row_no), accept_no = VALUES(accept_no), last_push_time = VALUES(last_push_time)`,
      rows.flat(),
    ),
  );
}
