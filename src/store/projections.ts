/** Writing what is payable: the same values on platform bill, partner bill and difference of a scope (ACC-7), and account totals. */
import type { Sql } from './sql.ts';

export interface ProjectedScope {
  readonly diffId: string;
  readonly partnerBillId: string | null;
  readonly platformBillId: string | null;
  readonly paymentStatus: string;
  readonly paidAmount: string;
  readonly currentPayable: string;
}

const TARGETS = [
  { table: 'fi_customer_bill_partner', idOf: (scope: ProjectedScope) => scope.partnerBillId },
  { table: 'fi_customer_bill', idOf: (scope: ProjectedScope) => scope.platformBillId },
  { table: 'fi_monthly_income_difference', idOf: (scope: ProjectedScope) => scope.diffId },
];

/** In the lock order of ENG-17: bills, then differences; each table by primary key. */
export async function writeProjections(sql: Sql, scopes: readonly ProjectedScope[]): Promise<void> {
  for (const { table, idOf } of TARGETS) {
    const rows = scopes.flatMap((scope) => {
      const id = idOf(scope);
      return id === null ? [] : [[id, scope.paymentStatus, scope.paidAmount, scope.currentPayable]];
    });
    if (rows.length === 0) continue;
    rows.sort((left, right) => (BigInt(left[0]!) < BigInt(right[0]!) ? -1 : 1));
    await sql.change(
      `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT UNSIGNED PATH '$[0]', payment_status VARCHAR(24) PATH '$[1]',
                         paid_amount DECIMAL(18, 2) PATH '$[2]', current_payable DECIMAL(18, 2) PATH '$[3]')) v
         STRAIGHT_JOIN ${table} t ON t.id = v.id
          SET t.payment_status = v.payment_status, t.paid_amount = v.paid_amount, t.current_payable = v.current_payable`,
      [JSON.stringify(rows)],
    );
  }
}

/** ACC-8: the batch fact of the push that the difference carries. */
export async function writePreRentChecks(
  sql: Sql,
  checks: readonly { diffId: string; result: string; reason: string | null }[],
): Promise<void> {
  if (checks.length === 0) return;
  await sql.change(
    `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT UNSIGNED PATH '$[0]', result VARCHAR(8) PATH '$[1]', reason VARCHAR(255) PATH '$[2]')) v
       STRAIGHT_JOIN fi_monthly_income_difference d ON d.id = v.id
        SET d.pre_rent_check_result = v.result, d.pre_rent_check_reason = v.reason`,
    [JSON.stringify(checks.map((check) => [check.diffId, check.result, check.reason]))],
  );
}

/** Paid is the sum of its facts per partner bill; reversals are negative (DEC-13). A bill without facts has no entry. */
export async function sumPaidByBill(
  sql: Sql,
  partnerBillIds: readonly string[],
): Promise<Map<string, string>> {
  if (partnerBillIds.length === 0) return new Map();
  const rows = await sql.many<{ partnerBillId: string; paid: string }>(
    `SELECT partner_bill_id partnerBillId, SUM(amount) paid FROM fi_resident_income_payment_fact
      WHERE partner_bill_id IN (?) GROUP BY partner_bill_id`,
    [partnerBillIds],
  );
  return new Map(rows.map((row) => [row.partnerBillId, row.paid]));
}

const ACCOUNTS = {
  partner: {
    table: 'fi_customer_account_partner',
    bills: 'fi_customer_bill_partner',
    // STA-15: the account's own, another number than the station's (STA-13).
    besides: 'a.cumulative_deduction = COALESCE(t.deduction, 0),',
  },
  platform: { table: 'fi_customer_account', bills: 'fi_customer_bill', besides: '' },
} as const;

/**
 * DEC-5, ACC-3, STA-15: an account's totals over its bills, payable and paid among them, in one statement: reading the sum
 * and writing it afterwards lost updates. The current month's fields follow `currentMonth` and are never moved back; null
 * leaves them as they are.
 */
export async function recalculateAccounts(
  sql: Sql,
  side: keyof typeof ACCOUNTS,
  accountIds: readonly string[],
  currentMonth: string | null,
): Promise<void> {
  if (accountIds.length === 0) return;
  const { table, bills, besides } = ACCOUNTS[side];
  await sql.change(
    `UPDATE ${table} a FORCE INDEX (PRIMARY)
       LEFT JOIN (SELECT customer_account_id, COUNT(*) bill_count, SUM(rent) rent, SUM(COALESCE(pre_rent, 0)) pre_rent,
                    SUM(COALESCE(freeze_amount, 0)) freeze_amount, SUM(COALESCE(deduction_amount, 0)) deduction,
                    SUM(current_payable) payable, SUM(paid_amount) paid,
                    MIN(bill_year_month) first_month, MAX(bill_year_month) last_month,
                    SUM(IF(bill_year_month = ?, rent, 0)) month_rent
               FROM ${bills} WHERE customer_account_id IN (?) AND del_flag = 0 GROUP BY customer_account_id) t
         ON t.customer_account_id = a.id
        SET a.bill_count = COALESCE(t.bill_count, 0), a.total_rent = COALESCE(t.rent, 0),
            a.total_pre_rent = COALESCE(t.pre_rent, 0), a.total_freeze = COALESCE(t.freeze_amount, 0),
            a.total_deduction = COALESCE(t.deduction, 0), a.total_payable = COALESCE(t.payable, 0),
            a.total_paid = COALESCE(t.paid, 0), ${besides} a.first_bill_month = t.first_month, a.last_bill_month = t.last_month,
            a.current_month_rent = IF(? >= COALESCE(a.current_month, ''), COALESCE(t.month_rent, 0), a.current_month_rent),
            a.current_month = IF(? >= COALESCE(a.current_month, ''), ?, a.current_month), a.update_time = NOW(3)
      WHERE a.id IN (?)`,
    [currentMonth ?? '', accountIds, currentMonth, currentMonth, currentMonth, accountIds],
  );
}
