/**
 * Along which key, and how far at a time, the rules walk the large tables: some hundred milliseconds a range on a
 * machine that is busy with other things.
 */
import type { WalkedKey } from './key-ranges.ts';

const byId = (table: string, step: number): WalkedKey => ({ table, columns: ['id'], index: 'PRIMARY', step });

export const BILL_LOCKS = byId('fi_resident_income_payment_bill_lock', 20_000);
export const ORDER_VERSIONS = byId('fi_resident_income_payment_order_version', 2_000);
export const PARTNER_BILLS = byId('fi_customer_bill_partner', 10_000);
export const PLATFORM_BILLS = byId('fi_customer_bill', 10_000);
export const DIFFERENCES = byId('fi_monthly_income_difference', 5_000);
export const SNAPSHOTS = byId('fi_resident_income_payment_bill_dimension_snapshot', 10_000);
export const PARTNER_ACCOUNTS = byId('fi_customer_account_partner', 2_000);
export const PLATFORM_ACCOUNTS = byId('fi_customer_account', 2_000);

/** Bills that something was paid of, along the payments. */
export const PAID_BILLS: WalkedKey = {
  table: 'fi_resident_income_payment_fact',
  columns: ['partner_bill_id'],
  index: 'idx_payment_partner_bill',
  step: 10_000,
};

/** Tasks as they lie in the one index that has their status; all that come from no push are one range. */
export const TASKS_BY_PUSH: WalkedKey = {
  table: 'fi_async_task',
  columns: ['push_id'],
  index: 'idx_task_push',
  step: 50_000,
};

const ROW = { columns: ['push_id', 'row_no'], index: 'PRIMARY' };
export const PUSHED_ROWS: WalkedKey = { table: 'pushed_row', ...ROW, step: 20_000 };
export const PLACES: WalkedKey = { table: 'pushed_row_place', ...ROW, step: 5_000 };
/** Whole pushes, so many that their rows come to about as many as this. */
export const PUSHES_BY_ROWS: WalkedKey = {
  table: 'pushed_row_place',
  columns: ['push_id'],
  index: 'PRIMARY',
  step: 50_000,
};

/** Whole project companies, so many that their differences come to about as many as this. */
export const PROJECT_COMPANIES: WalkedKey = {
  table: 'fi_monthly_income_difference',
  columns: ['project_company_id'],
  index: 'idx_difference_project',
  step: 20_000,
};
