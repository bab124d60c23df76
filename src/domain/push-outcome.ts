/** What the reply to a push says of it as a whole (ING-5, ING-9). */
import { centsText, MONEY_MAX_CENTS } from './as-written.ts';

/** `REJECTED` and the identity's replay are told, never stored (ING-2, ING-5). */
export type PushCode = 'ACCEPTED' | 'PARTIALLY_ACCEPTED' | 'REJECTED' | 'SKIPPED';

export interface PushCounts {
  readonly requested: number;
  readonly accepted: number;
  readonly refused: number;
}

/** Sums of `rent`, CNY with two decimals; a rent that is no valid amount counts 0 (DEC-17). */
export interface PushAmounts {
  readonly requested: string;
  readonly accepted: string;
  readonly refused: string;
}

export function pushCode(counts: PushCounts): PushCode {
  if (counts.requested === 0) return 'SKIPPED';
  if (counts.accepted === 0) return 'REJECTED';
  return counts.refused === 0 ? 'ACCEPTED' : 'PARTIALLY_ACCEPTED';
}

export interface ControlTotals {
  /** Null where the push carries none. */
  readonly count: number | null;
  readonly amount: string | null;
}

export interface TotalsMismatch {
  readonly field: 'totalCount' | 'totalAmount';
  readonly stated: string;
  readonly found: string;
}

/** Both control totals against all rows sent, refused ones included (ING-9). @returns what does not add up */
export function totalsMismatches(
  totals: ControlTotals,
  found: { count: number; cents: bigint },
): TotalsMismatch[] {
  const mismatches: TotalsMismatch[] = [];
  if (totals.count !== null && totals.count !== found.count) {
    mismatches.push({ field: 'totalCount', stated: String(totals.count), found: String(found.count) });
  }
  if (totals.amount !== null && totals.amount !== centsText(found.cents)) {
    mismatches.push({ field: 'totalAmount', stated: totals.amount, found: centsText(found.cents) });
  }
  return mismatches;
}

/** No column holds more: such a push must be split, or its amounts are wrong. */
export function exceedsMoney(cents: bigint): boolean {
  return cents > MONEY_MAX_CENTS;
}
