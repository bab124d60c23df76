/** What is payable of a station-month, and why (ACC-8 and its table in the business decisions). First match wins. */
import { amount, maxOfZeroAnd, moneyText } from './money.ts';

export type PaymentStatus =
  | 'NOT_APPLICABLE'
  | 'UNQUALIFIED'
  | 'NOT_VERIFIED'
  | 'PAID'
  | 'PARTIALLY_PAID'
  | 'SETTLED'
  | 'PAYABLE';

/** The partner bill that the projection rests on. */
export interface ProjectionBasis {
  readonly rent: string;
  readonly deduction: string | null;
  readonly freeze: string | null;
  readonly paid: string;
  readonly partnerQueryStatus: string | null;
}

export interface Projection {
  readonly paymentStatus: PaymentStatus;
  readonly paidAmount: string;
  readonly currentPayable: string;
}

/** @param basis null where there is no partner bill: nothing is verified and nothing payable; a disabled partner comes first (DEC-20) */
export function project(basis: ProjectionBasis | null, paymentEnabled: boolean): Projection {
  const paidAmount = moneyText(amount(basis?.paid));
  const nothing = (paymentStatus: PaymentStatus): Projection => ({
    paymentStatus,
    paidAmount,
    currentPayable: '0.00',
  });
  if (!paymentEnabled) return nothing('NOT_APPLICABLE');
  if (basis === null) return nothing('NOT_VERIFIED');
  if (basis.partnerQueryStatus === 'UNQUALIFIED') return nothing('UNQUALIFIED');
  if (basis.partnerQueryStatus !== 'VERIFIED') return nothing('NOT_VERIFIED');
  const paid = amount(basis.paid);
  const due = amount(basis.rent).minus(amount(basis.deduction)).minus(amount(basis.freeze)).minus(paid);
  const remainder = maxOfZeroAnd(due);
  const currentPayable = moneyText(remainder);
  if (paid.greaterThan(0)) {
    return remainder.isZero()
      ? nothing('PAID')
      : { paymentStatus: 'PARTIALLY_PAID', paidAmount, currentPayable };
  }
  return remainder.isZero() ? nothing('SETTLED') : { paymentStatus: 'PAYABLE', paidAmount, currentPayable };
}

export interface PreRentCheck {
  readonly result: 'PASS' | 'FAIL';
  readonly reason: string | null;
}

/** The batch deduction must not exceed the station's cumulative pre-rent; null without a batch deduction: not checked. */
export function checkPreRent(batchDeduction: string | null, cumulativePreRent: string): PreRentCheck | null {
  if (batchDeduction === null) return null;
  if (amount(batchDeduction).lessThanOrEqualTo(amount(cumulativePreRent)))
    return { result: 'PASS', reason: null };
  const reason = `The cumulative deduction ${moneyText(amount(batchDeduction))} exceeds the cumulative pre-rent ${moneyText(amount(cumulativePreRent))}`;
  return { result: 'FAIL', reason };
}
