/** What a wish about one of our own bills would do, or why it may not be done (DEC-4, DEC-15, DEC-25). Checks in their order of precedence. */
import { amount } from './money.ts';

const AMOUNTS = ['settlementAmount', 'rent', 'preRent', 'freezeAmount', 'deductionAmount'] as const;
type AmountName = (typeof AMOUNTS)[number];

/** CNY with two decimals; null: not stated, counts 0 (DEC-1). */
export type PlatformBillAmounts = Readonly<Record<Exclude<AmountName, 'rent'>, string | null>> & {
  readonly rent: string;
};

export interface PlatformBillWish {
  readonly platformStationId: string;
  readonly billYearMonth: string;
  /** Null: delete it. */
  readonly amounts: PlatformBillAmounts | null;
}

/** What the wish meets, under its station's guard. */
export interface PlatformBillSeen {
  /** Of the month that it is in Shanghai. */
  readonly currentMonth: string;
  readonly stationExists: boolean;
  readonly stationMapped: boolean;
  readonly accountCount: number;
  readonly locked: boolean;
  /** Null: there never was one. */
  readonly bill: { readonly deleted: boolean; readonly amounts: PlatformBillAmounts } | null;
}

export type PlatformBillFaultCode =
  | 'MONTH_IN_FUTURE'
  | 'NO_SUCH_PLATFORM_STATION'
  | 'STATION_NOT_MAPPED'
  | 'DUPLICATE_ACCOUNT'
  | 'NO_SUCH_BILL'
  | 'PAYMENT_LOCKED';

export interface PlatformBillFault {
  readonly status: 404 | 409 | 422;
  readonly code: PlatformBillFaultCode;
}

/** What must be mended for good comes before what passes by itself. Null: nothing speaks against it. */
export function faultOfPlatformBill(
  wish: PlatformBillWish,
  seen: PlatformBillSeen,
): PlatformBillFault | null {
  if (wish.billYearMonth > seen.currentMonth) return { status: 422, code: 'MONTH_IN_FUTURE' };
  if (!seen.stationExists) return { status: 422, code: 'NO_SUCH_PLATFORM_STATION' };
  if (!seen.stationMapped) return { status: 422, code: 'STATION_NOT_MAPPED' };
  if (seen.accountCount > 1) return { status: 409, code: 'DUPLICATE_ACCOUNT' };
  if (wish.amounts === null && seen.bill === null) return { status: 404, code: 'NO_SUCH_BILL' };
  // What writes nothing is held up by no payment.
  if (seen.locked && effectOf(wish, seen).outcome !== 'UNCHANGED')
    return { status: 409, code: 'PAYMENT_LOCKED' };
  return null;
}

export interface PlatformBillEffect {
  readonly outcome: 'CREATED' | 'CHANGED' | 'DELETED' | 'UNCHANGED';
  /** Whether a verdict on the partner's bill does not stand any more (DEC-8). */
  readonly resetsVerdict: boolean;
}

/** DEC-15: the same content again changes nothing. DEC-25: a deletion always resets, a change only of a compared amount. */
export function effectOf(
  wish: PlatformBillWish,
  { bill }: Pick<PlatformBillSeen, 'bill'>,
): PlatformBillEffect {
  const before = bill === null || bill.deleted ? null : bill.amounts;
  if (wish.amounts === null) {
    if (before === null) return { outcome: 'UNCHANGED', resetsVerdict: false };
    return { outcome: 'DELETED', resetsVerdict: true };
  }
  const after = wish.amounts;
  const resetsVerdict = AMOUNTS.some((name) => !amount(before?.[name]).equals(amount(after[name])));
  if (before === null) return { outcome: 'CREATED', resetsVerdict };
  const same = AMOUNTS.every((name) => before[name] === after[name]);
  return same ? { outcome: 'UNCHANGED', resetsVerdict: false } : { outcome: 'CHANGED', resetsVerdict };
}
