/** What a payment means for an order bill (DEC-13). Amounts are CNY with two decimals. */
import { amount, moneyText } from './money.ts';

export interface OrderBillPaid {
  /** Frozen at reservation. */
  readonly amount: string;
  /** The sum of its facts so far, reversals included. */
  readonly paid: string;
}

export type PaymentMeaning =
  | { readonly kind: 'refused'; readonly code: 'AMOUNT_NOT_POSITIVE' | 'MORE_THAN_THE_BILL' }
  | { readonly kind: 'in-full' | 'in-part'; readonly paid: string };

export function meaningOfPayment(paidNow: string, bill: OrderBillPaid): PaymentMeaning {
  const now = amount(paidNow);
  if (now.lessThanOrEqualTo(0)) return { kind: 'refused', code: 'AMOUNT_NOT_POSITIVE' };
  const paid = amount(bill.paid).plus(now);
  const whole = amount(bill.amount);
  if (paid.greaterThan(whole)) return { kind: 'refused', code: 'MORE_THAN_THE_BILL' };
  return { kind: paid.equals(whole) ? 'in-full' : 'in-part', paid: moneyText(paid) };
}

/** A reversal takes back what one payment brought, all of it. */
export function reversalOf(paidThen: string): string {
  return moneyText(amount(paidThen).negated());
}
