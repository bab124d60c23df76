/** What a message's differences change about the monthly summaries: new values minus old ones (DIF-9). */
import type { DifferenceStatus } from './difference.ts';
import { type Amount, amount, moneyText } from './money.ts';

export interface Summarised {
  readonly projectCompanyId: string;
  readonly shareMonth: string;
  readonly status: DifferenceStatus;
  readonly partnerRent: string;
  readonly platformRent: string;
  readonly diffRent: string;
}

interface Sums {
  readonly projectCompanyId: string;
  readonly shareMonth: string;
  differences: number;
  readonly byStatus: Record<DifferenceStatus, number>;
  partnerRent: Amount;
  platformRent: Amount;
  diffRent: Amount;
}

/** @returns one move per project company and month, ascending: the order in which their rows are locked (ENG-17) */
export function summaryMoves(before: readonly Summarised[], after: readonly Summarised[]) {
  const sums = new Map<string, Sums>();
  for (const row of before) add(sums, row, -1);
  for (const row of after) add(sums, row, 1);
  return [...sums.values()].sort(byCompanyAndMonth).map((sum) => ({
    projectCompanyId: sum.projectCompanyId,
    shareMonth: sum.shareMonth,
    differences: sum.differences,
    matched: sum.byStatus.MATCHED,
    mismatched: sum.byStatus.MISMATCHED,
    partnerOnly: sum.byStatus.PARTNER_ONLY,
    platformOnly: sum.byStatus.PLATFORM_ONLY,
    partnerRent: moneyText(sum.partnerRent),
    platformRent: moneyText(sum.platformRent),
    diffRent: moneyText(sum.diffRent),
  }));
}

function add(sums: Map<string, Sums>, row: Summarised, sign: 1 | -1): void {
  const key = `${row.projectCompanyId}/${row.shareMonth}`;
  const sum = sums.get(key) ?? emptySums(row);
  sums.set(key, sum);
  sum.differences += sign;
  sum.byStatus[row.status] += sign;
  sum.partnerRent = sum.partnerRent.plus(amount(row.partnerRent).times(sign));
  sum.platformRent = sum.platformRent.plus(amount(row.platformRent).times(sign));
  sum.diffRent = sum.diffRent.plus(amount(row.diffRent).times(sign));
}

function emptySums(row: Summarised): Sums {
  return {
    projectCompanyId: row.projectCompanyId,
    shareMonth: row.shareMonth,
    differences: 0,
    byStatus: { MATCHED: 0, MISMATCHED: 0, PARTNER_ONLY: 0, PLATFORM_ONLY: 0 },
    partnerRent: amount('0'),
    platformRent: amount('0'),
    diffRent: amount('0'),
  };
}

function byCompanyAndMonth(left: Sums, right: Sums): number {
  const byCompany = BigInt(left.projectCompanyId) - BigInt(right.projectCompanyId);
  if (byCompany !== 0n) return byCompany < 0n ? -1 : 1;
  return left.shareMonth < right.shareMonth ? -1 : left.shareMonth > right.shareMonth ? 1 : 0;
}
