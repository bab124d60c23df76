/** Whether a verdict on a bill may be given, on what its operator looked at (DEC-8, DEC-25). Checks in their order of precedence. */
export type Verdict = 'VERIFIED' | 'UNQUALIFIED';

export interface VerdictWish {
  readonly partnerBillId: string;
  /** The order number of the push that was looked at. */
  readonly acceptNo: string;
  readonly partnerQueryStatus: Verdict;
  readonly reason: string | null;
}

/** The bill as it is under its guard; null parts are not there. */
export interface BillToVerify {
  readonly acceptNo: string;
  readonly paymentFlow: 'ENABLED' | 'DISABLED' | null;
  /** Our own bill of it has changed, and the difference does not say so yet. */
  readonly platformChangeDue: boolean;
  readonly difference: {
    readonly acceptNo: string;
    readonly status: string;
    readonly bothSidesReady: boolean;
  } | null;
}

export interface VerdictFault {
  readonly status: 404 | 409 | 422;
  readonly code: string;
}

/** Null: it may be given. */
export function faultOfVerdict(wish: VerdictWish, bill: BillToVerify | null): VerdictFault | null {
  if (bill === null) return { status: 404, code: 'NO_SUCH_BILL' };
  if (bill.acceptNo !== wish.acceptNo) return { status: 409, code: 'PUSHED_AGAIN' };
  const { difference } = bill;
  if (difference === null) return { status: 409, code: 'NO_DIFFERENCE' };
  if (bill.paymentFlow !== 'ENABLED') return { status: 409, code: 'PAYMENT_NOT_ENABLED' };
  if (difference.acceptNo !== bill.acceptNo || bill.platformChangeDue)
    return { status: 409, code: 'DIFFERENCE_BEHIND' };
  if (wish.reason !== null) return null;
  const matched = difference.bothSidesReady && difference.status === 'MATCHED';
  if (wish.partnerQueryStatus === 'UNQUALIFIED' || !matched) return { status: 422, code: 'REASON_NEEDED' };
  return null;
}
