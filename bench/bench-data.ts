/** Stations to measure with, made by set-based statements: mapping, our own accounts and bills, snapshots. All names are invented. */
import { createHash } from 'node:crypto';
import { NEW_READ_COMMITTED, type Store } from '../src/store/transaction.ts';
import { ensureSlots } from '../src/tasks/ensure-slots.ts';

export const BILLS_PER_STATION = 12;
const MONTHS = Array.from(
  { length: BILLS_PER_STATION },
  (_, index) => `2025-${String(index + 1).padStart(2, '0')}`,
);
/** Far from ids of an example in the same database. */
const PARTNER_ID_BASE = 900_000;
const STATION_ID_STRIDE = 100_000;
const CHUNK = 500;

export interface BenchPartner {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly key: string;
  readonly stationNos: readonly string[];
}

export async function makeBenchPartners(
  store: Store,
  count: number,
  stations: number,
): Promise<BenchPartner[]> {
  const partners: BenchPartner[] = [];
  for (let index = 1; index <= count; index++) partners.push(await makePartner(store, index, stations));
  return partners;
}

async function makePartner(store: Store, index: number, stations: number): Promise<BenchPartner> {
  const partnerOrgId = String(PARTNER_ID_BASE + index);
  const orgCode = `BENCH${index}`;
  const key = `bench-key-${index}`;
  const stationNos = Array.from(
    { length: stations },
    (_, at) => `B${index}-${String(at + 1).padStart(6, '0')}`,
  );
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await tx.change(
      "INSERT INTO partner (partner_org_id, org_code, name, payment_flow) VALUES (?, ?, ?, 'ENABLED')",
      [partnerOrgId, orgCode, `Benchmark partner ${index}`],
    );
    await tx.change('INSERT INTO partner_credential (partner_org_id, key_hash, label) VALUES (?, ?, ?)', [
      partnerOrgId,
      createHash('sha256').update(key).digest('hex'),
      'bench',
    ]);
    await ensureSlots(tx, partnerOrgId, {});
  });
  for (let from = 0; from < stations; from += CHUNK) {
    await makeStations(store, partnerOrgId, index, stationNos.slice(from, from + CHUNK), from);
  }
  return { partnerOrgId, orgCode, key, stationNos };
}

async function makeStations(
  store: Store,
  partnerOrgId: string,
  index: number,
  numbers: readonly string[],
  from: number,
): Promise<void> {
  const idOf = (at: number) => String((PARTNER_ID_BASE + index) * STATION_ID_STRIDE + from + at + 1);
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await tx.change(
      `INSERT INTO station_mapping (partner_org_id, partner_station_no, partner_station_id, platform_station_id,
         project_company_id, project_company_name, active_from_month) VALUES ${numbers.map(() => "(?, ?, ?, ?, 1, 'Bench', '2010-01')").join(', ')}`,
      numbers.flatMap((number, at) => [partnerOrgId, number, `ID-${number}`, idOf(at)]),
    );
    await tx.change(
      `INSERT INTO fi_customer_account (partner_org_id, small_station_id) VALUES ${numbers.map(() => '(?, ?)').join(', ')}`,
      numbers.flatMap((_, at) => [partnerOrgId, idOf(at)]),
    );
    const months = MONTHS.map((month) => `SELECT '${month}' share_month`).join(' UNION ALL ');
    const own = 'a.partner_org_id = ? AND a.small_station_id BETWEEN ? AND ?';
    const range = [partnerOrgId, idOf(0), idOf(numbers.length - 1)];
    await tx.change(
      `INSERT INTO fi_customer_bill (customer_account_id, partner_org_id, small_station_id, bill_year_month, settlement_amount, rent, deduction_amount)
       SELECT a.id, a.partner_org_id, a.small_station_id, m.share_month, 180, 120, 10 FROM fi_customer_account a JOIN (${months}) m WHERE ${own}`,
      range,
    );
    await tx.change(
      `INSERT INTO fi_resident_income_payment_bill_dimension_snapshot (partner_org_id, platform_station_id, bill_year_month)
       SELECT a.partner_org_id, a.small_station_id, m.share_month FROM fi_customer_account a JOIN (${months}) m WHERE ${own}`,
      range,
    );
  });
}

export function pushBodyOf(partner: BenchPartner): string {
  const bills = MONTHS.map((billYearMonth) => ({
    billYearMonth,
    settlementAmount: '180.00',
    shareRatio: '0.350000',
    period: 12,
    sharingBlockCount: 20,
    unitPrice: '0.385000',
    rent: '120.00',
    preRent: '100.00',
    freezeAmount: '0.00',
    deductionAmount: '10.00',
    settlementBatchNo: `BATCH-${billYearMonth}`,
  }));
  const stations = partner.stationNos.map((partnerStationNo) => ({
    partnerStationNo,
    partnerStationId: `ID-${partnerStationNo}`,
    householdName: 'Benchmark household',
    rentPayMethod: 'MONTHLY',
    bills,
  }));
  return JSON.stringify({ stations });
}
