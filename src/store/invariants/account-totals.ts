import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isUnfinished } from './work-under-way.ts';

/** A column of the account, and what it must be over its bills that are not deleted (DEC-5). */
const SUMS: Readonly<Record<string, string>> = {
  bill_count: 'COUNT(*)',
  total_rent: 'SUM(rent)',
  total_pre_rent: 'SUM(COALESCE(pre_rent, 0))',
  total_freeze: 'SUM(COALESCE(freeze_amount, 0))',
  total_deduction: 'SUM(COALESCE(deduction_amount, 0))',
  total_payable: 'SUM(current_payable)',
  total_paid: 'SUM(paid_amount)',
};
const MONTHS: Readonly<Record<string, string>> = {
  first_bill_month: 'MIN(bill_year_month)',
  last_bill_month: 'MAX(bill_year_month)',
};

/** Both sides' totals are written in the transactions that write what they sum up, so they fit at every instant. */
export function listPartnerAccountsOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  return listAccountsOff(reader, range, {
    table: 'fi_customer_account_partner',
    bills: 'fi_customer_bill_partner',
    named: 'a.partner_station_no partnerStationNo',
    sums: { ...SUMS, cumulative_deduction: 'SUM(COALESCE(deduction_amount, 0))' },
    underWay: 'FALSE',
  });
}

/** The platform side's follow a change of its bills with the account refresh that the change asks for. */
export function listPlatformAccountsOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  return listAccountsOff(reader, range, {
    table: 'fi_customer_account',
    bills: 'fi_customer_bill',
    named: 'a.small_station_id platformStationId',
    sums: SUMS,
    underWay: `EXISTS (SELECT 1 FROM fi_async_task t FORCE INDEX (idx_task_push)
       WHERE t.push_id = 0 AND t.partner_org_id = a.partner_org_id AND ${isUnfinished('t')} AND (t.stage = 'account-full'
          OR (t.stage = 'account-shard' AND JSON_CONTAINS(JSON_EXTRACT(t.task_data, '$.platformAccountScopes[*].platformStationId'),
                                                          JSON_QUOTE(CAST(a.small_station_id AS CHAR))))))`,
  });
}

interface Side {
  readonly table: string;
  readonly bills: string;
  readonly named: string;
  readonly sums: Readonly<Record<string, string>>;
  readonly underWay: string;
}

function listAccountsOff(reader: Reader, range: KeyRange, side: Side): Promise<FoundRow[]> {
  const accounts = inRange(['a.id'], range);
  const bills = inRange(['customer_account_id'], range);
  const sums = Object.entries(side.sums);
  const months = Object.entries(MONTHS);
  const summed = [...sums, ...months].map(([column, sum]) => `${sum} ${column}`);
  const off = [
    ...sums.map(([column]) => `a.${column} <> COALESCE(t.${column}, 0)`),
    ...months.map(([column]) => `NOT (a.${column} <=> t.${column})`),
  ];
  const shown = Object.keys(side.sums).map(
    (column) => `a.${column} ${camel(column)}, COALESCE(t.${column}, 0) ${camel(column)}OfBills`,
  );
  return reader.many<FoundRow>(
    `SELECT a.id targetId, ${TOTAL}, a.partner_org_id partnerOrgId, ${side.named}, ${shown.join(', ')}
       FROM ${side.table} a
       LEFT JOIN (SELECT customer_account_id, ${summed.join(', ')} FROM ${side.bills}
                   WHERE ${bills.sql} AND del_flag = 0 GROUP BY customer_account_id) t ON t.customer_account_id = a.id
      WHERE ${accounts.sql} AND a.del_flag = 0 AND (${off.join(' OR ')}) AND NOT ${side.underWay}
      ORDER BY a.id ${SHOWN}`,
    [...bills.values, ...accounts.values],
  );
}

function camel(column: string): string {
  return column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
