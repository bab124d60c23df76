/** Lists of what the chain writes, for people: differences, both sides' accounts, our own bills, snapshots, and the locks that payment holds. */
import { equalities, type ListSource, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

interface PageWish {
  readonly beforeId: string | null;
  readonly limit: number;
}

/** Null: any. */
export interface StationMonthFilter {
  readonly partnerOrgId: string | null;
  readonly platformStationId: string | null;
  readonly month: string | null;
  readonly status: string | null;
}

const PROJECTION = 'payment_status paymentStatus, paid_amount paidAmount, current_payable currentPayable';

const sideColumns = (side: 'partner' | 'platform' | 'diff') =>
  ['settlement', 'rent', 'pre_rent', 'freeze', 'deduction']
    .map((name) => `${side}_${name} ${camelCase(`${side}_${name}`)}`)
    .join(', ');

function camelCase(column: string): string {
  return column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

const DIFFERENCES = {
  from: 'fi_monthly_income_difference',
  key: 'id',
  columns: `id, partner_org_id partnerOrgId, station_id platformStationId, share_month billYearMonth,
    project_company_id projectCompanyId, partner_bill_id partnerBillId, platform_bill_id platformBillId,
    partner_account_id partnerAccountId, platform_account_id platformAccountId, ${sideColumns('partner')},
    ${sideColumns('platform')}, ${sideColumns('diff')}, status, both_sides_ready bothSidesReady,
    partner_query_status partnerQueryStatus, pre_rent_check_result preRentCheckResult,
    pre_rent_check_reason preRentCheckReason, ${PROJECTION}, accept_no acceptNo, data_version dataVersion,
    financial_version financialVersion, create_time createTime, update_time updateTime`,
};

export interface ListedDifference {
  readonly id: string;
  readonly bothSidesReady: number;
  readonly createTime: string;
  readonly updateTime: string;
  readonly [column: string]: unknown;
}

export function listDifferences(
  sql: Sql,
  filter: StationMonthFilter,
  page: PageWish,
): Promise<Page<ListedDifference>> {
  const filters = equalities({
    partner_org_id: filter.partnerOrgId,
    station_id: filter.platformStationId,
    share_month: filter.month,
    status: filter.status,
  });
  const selective = filter.partnerOrgId !== null && filter.platformStationId !== null;
  return listPage(sql, { ...DIFFERENCES, filters, selective }, page);
}

const PLATFORM_BILLS = {
  from: 'fi_customer_bill',
  key: 'id',
  columns: `id, customer_account_id platformAccountId, partner_org_id partnerOrgId, small_station_id platformStationId,
    bill_year_month billYearMonth, settlement_amount settlementAmount, rent, pre_rent preRent,
    freeze_amount freezeAmount, deduction_amount deductionAmount, ${PROJECTION}, del_flag deleted,
    create_time createTime, update_time updateTime`,
};

export interface ListedPlatformBill {
  readonly id: string;
  readonly deleted: number;
  readonly createTime: string;
  readonly updateTime: string;
  readonly [column: string]: unknown;
}

export function listPlatformBills(
  sql: Sql,
  filter: Omit<StationMonthFilter, 'status'> & { readonly deletedToo: boolean },
  page: PageWish,
): Promise<Page<ListedPlatformBill>> {
  const filters = equalities({
    partner_org_id: filter.partnerOrgId,
    small_station_id: filter.platformStationId,
    bill_year_month: filter.month,
    del_flag: filter.deletedToo ? null : 0,
  });
  return listPage(sql, { ...PLATFORM_BILLS, filters }, page);
}

const SNAPSHOTS = {
  from: 'fi_resident_income_payment_bill_dimension_snapshot',
  key: 'id',
  columns: `id, partner_org_id partnerOrgId, platform_station_id platformStationId, bill_year_month billYearMonth,
    partner_bill_id partnerBillId, platform_bill_id platformBillId, diff_id diffId,
    canonical_account_id canonicalAccountId, partner_rent partnerRent, platform_rent platformRent,
    deduction_amount deductionAmount, freeze_amount freezeAmount, ${PROJECTION},
    partner_query_status partnerQueryStatus, pre_rent_check_result preRentCheckResult, accept_no acceptNo,
    data_version dataVersion, financial_version financialVersion, task_id taskId,
    request_generation requestGeneration, snapshot_time snapshotTime, create_time createTime, update_time updateTime`,
};

export interface ListedSnapshot {
  readonly id: string;
  readonly snapshotTime: string | null;
  readonly createTime: string;
  readonly updateTime: string;
  readonly [column: string]: unknown;
}

/** `status` is the payment status. */
export function listSnapshots(
  sql: Sql,
  filter: StationMonthFilter,
  page: PageWish,
): Promise<Page<ListedSnapshot>> {
  const filters = equalities({
    partner_org_id: filter.partnerOrgId,
    platform_station_id: filter.platformStationId,
    bill_year_month: filter.month,
    payment_status: filter.status,
  });
  const selective = filter.partnerOrgId !== null && filter.platformStationId !== null;
  return listPage(sql, { ...SNAPSHOTS, filters, selective }, page);
}

const TOTALS = `bill_count billCount, total_rent totalRent, total_pre_rent totalPreRent, total_freeze totalFreeze,
  total_deduction totalDeduction, total_payable totalPayable, total_paid totalPaid, first_bill_month firstBillMonth,
  last_bill_month lastBillMonth, current_month currentMonth, current_month_rent currentMonthRent,
  create_time createTime, update_time updateTime`;

const PARTNER_ACCOUNTS = {
  from: 'fi_customer_account_partner',
  key: 'id',
  columns: `id, 'PARTNER' side, partner_org_id partnerOrgId, partner_station_no partnerStationNo,
    partner_station_id partnerStationId, household_name householdName, rent_pay_method rentPayMethod,
    cumulative_deduction cumulativeDeduction, push_id pushId, accept_no acceptNo, data_version dataVersion, ${TOTALS}`,
};

const PLATFORM_ACCOUNTS = {
  from: 'fi_customer_account',
  key: 'id',
  columns: `id, 'PLATFORM' side, partner_org_id partnerOrgId, small_station_id platformStationId,
    small_station_no platformStationNo, ${TOTALS}`,
};

export interface AccountFilter {
  readonly side: 'PARTNER' | 'PLATFORM';
  readonly partnerOrgId: string | null;
  /** Of the partner side. */
  readonly partnerStationNo: string | null;
  /** Of the platform side. */
  readonly platformStationId: string | null;
}

export interface ListedAccount {
  readonly id: string;
  readonly createTime: string;
  readonly updateTime: string;
  readonly [column: string]: unknown;
}

export function listAccounts(sql: Sql, filter: AccountFilter, page: PageWish): Promise<Page<ListedAccount>> {
  return listPage(sql, accountSource(filter), page);
}

function accountSource(filter: AccountFilter): ListSource {
  const { partnerOrgId, partnerStationNo, platformStationId } = filter;
  if (filter.side === 'PARTNER') {
    const filters = equalities({
      partner_org_id: partnerOrgId,
      partner_station_no: partnerStationNo,
      del_flag: 0,
    });
    return { ...PARTNER_ACCOUNTS, filters, selective: partnerOrgId !== null && partnerStationNo !== null };
  }
  const filters = equalities({
    partner_org_id: partnerOrgId,
    small_station_id: platformStationId,
    del_flag: 0,
  });
  return { ...PLATFORM_ACCOUNTS, filters, selective: partnerOrgId !== null && platformStationId !== null };
}

const BILL_LOCKS = {
  from: 'fi_resident_income_payment_bill_lock',
  key: 'id',
  columns: `id, lock_key lockKey, lock_status lockStatus, platform_station_id platformStationId,
    bill_year_month billYearMonth, partner_org_id partnerOrgId, payment_order_id paymentOrderId, session_id sessionId,
    submit_attempt submitAttempt, data_version dataVersion, release_time releaseTime, release_reason releaseReason,
    create_time createTime`,
};

export interface ListedBillLock {
  readonly id: string;
  readonly releaseTime: string | null;
  readonly createTime: string;
  readonly [column: string]: unknown;
}

export function listBillLocks(
  sql: Sql,
  filter: StationMonthFilter,
  page: PageWish,
): Promise<Page<ListedBillLock>> {
  const filters = equalities({
    platform_station_id: filter.platformStationId,
    bill_year_month: filter.month,
    lock_status: filter.status,
    partner_org_id: filter.partnerOrgId,
  });
  return listPage(sql, { ...BILL_LOCKS, filters, selective: filter.platformStationId !== null }, page);
}
