/** The example's own side: platform accounts and bills, and the read model's rows (see example-data.ts). */
import { insertMissing } from './insert-missing.ts';
import type { Sql } from './sql.ts';

export interface PlatformAccountSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly platformStationNo: string;
}

export interface PlatformBillSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly settlementAmount: string;
  readonly rent: string;
  readonly preRent: string;
  readonly freezeAmount: string;
  readonly deductionAmount: string;
}

export interface SnapshotSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  /** The months of which a row exists. */
  readonly months: readonly string[];
}

/** The table has no unique key to lean on (DEC-15), so it is read first; the caller holds a transaction. */
export async function insertPlatformAccounts(sql: Sql, seeds: readonly PlatformAccountSeed[]): Promise<void> {
  const existing = await platformAccountIds(sql, partnersOf(seeds));
  const missing = seeds.filter((seed) => !existing.has(stationKey(seed)));
  const columns = ['partner_org_id', 'small_station_id', 'small_station_no'];
  await insertMissing(sql, 'fi_customer_account', columns, missing, (seed) => [
    seed.partnerOrgId,
    seed.platformStationId,
    seed.platformStationNo,
  ]);
}

/** @throws Error for a bill whose account is not there. */
export async function insertPlatformBills(sql: Sql, seeds: readonly PlatformBillSeed[]): Promise<void> {
  const accounts = await platformAccountIds(sql, partnersOf(seeds));
  const columns = [
    ...['customer_account_id', 'partner_org_id', 'small_station_id', 'bill_year_month'],
    ...['settlement_amount', 'rent', 'pre_rent', 'freeze_amount', 'deduction_amount'],
  ];
  await insertMissing(sql, 'fi_customer_bill', columns, seeds, (seed) => {
    const accountId = accounts.get(stationKey(seed));
    if (accountId === undefined) throw new Error(`No platform account for station ${seed.platformStationId}`);
    return [
      ...[accountId, seed.partnerOrgId, seed.platformStationId, seed.billYearMonth],
      ...[seed.settlementAmount, seed.rent, seed.preRent, seed.freezeAmount, seed.deductionAmount],
    ];
  });
}

/** What the platform accounts' bills add up to (DEC-5), for the accounts of these partners that no work has touched yet. */
export async function totalUntouchedAccounts(sql: Sql, partnerOrgIds: readonly string[]): Promise<void> {
  await sql.change(
    `UPDATE fi_customer_account account
       JOIN (SELECT customer_account_id, COUNT(*) bill_count, SUM(rent) rent, SUM(pre_rent) pre_rent,
                    SUM(freeze_amount) freeze, SUM(deduction_amount) deduction,
                    MIN(bill_year_month) first_month, MAX(bill_year_month) last_month
               FROM fi_customer_bill WHERE partner_org_id IN (?) AND del_flag = 0
              GROUP BY customer_account_id) bills ON bills.customer_account_id = account.id
        SET account.bill_count = bills.bill_count, account.total_rent = bills.rent,
            account.total_pre_rent = bills.pre_rent, account.total_freeze = bills.freeze,
            account.total_deduction = bills.deduction, account.first_bill_month = bills.first_month,
            account.last_bill_month = bills.last_month
      WHERE account.partner_org_id IN (?) AND account.bill_count = 0`,
    [partnerOrgIds, partnerOrgIds],
  );
}

/** A row per station-month whose payment was opened; its amounts come with the first refresh. */
export async function insertSnapshots(sql: Sql, seeds: readonly SnapshotSeed[]): Promise<void> {
  const table = 'fi_resident_income_payment_bill_dimension_snapshot';
  const columns = ['partner_org_id', 'platform_station_id', 'bill_year_month'];
  const rows = seeds.flatMap((seed) => seed.months.map((month) => ({ ...seed, month })));
  await insertMissing(sql, table, columns, rows, (row) => [
    row.partnerOrgId,
    row.platformStationId,
    row.month,
  ]);
}

interface StationOfPartner {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
}

async function platformAccountIds(sql: Sql, partnerOrgIds: readonly string[]): Promise<Map<string, string>> {
  if (partnerOrgIds.length === 0) return new Map();
  const rows = await sql.many<StationOfPartner & { id: string }>(
    `SELECT id, partner_org_id partnerOrgId, small_station_id platformStationId
       FROM fi_customer_account WHERE partner_org_id IN (?) AND del_flag = 0`,
    [partnerOrgIds],
  );
  return new Map(rows.map((row) => [stationKey(row), row.id]));
}

function stationKey(station: StationOfPartner): string {
  return `${station.partnerOrgId} ${station.platformStationId}`;
}

function partnersOf(seeds: readonly StationOfPartner[]): string[] {
  return [...new Set(seeds.map((seed) => seed.partnerOrgId))];
}
