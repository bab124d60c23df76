/** Whether a bill may be reserved for payment, and for how much, as the bill is under its guard (DEC-11, DEC-24, PAY-3). */
import { type ProjectionBasis, project } from './projection.ts';

/** A live lock on the bill's station-month, by whom. */
export interface LiveLockOwner {
  readonly lockId: string;
  readonly paymentOrderId: string;
  readonly dataVersion: string;
}

/** A chosen bill as it is now; `basis` null where there is no bill or no difference any more. */
export interface BillToReserve {
  readonly basis: ProjectionBasis | null;
  readonly paymentEnabled: boolean;
  readonly preRentCheckResult: string | null;
  /** A push of it is on its way, or a refresh that names its difference is unfinished. */
  readonly underWay: boolean;
  readonly lock: LiveLockOwner | null;
}

/** For whom: the order, and its version that is published, if any. */
export interface ReservingOrder {
  readonly paymentOrderId: string;
  readonly publishedVersion: string | null;
}

export type Reservation =
  | { readonly kind: 'reserve'; readonly amount: string }
  /** The order's published version holds it already (PAY-3). */
  | { readonly kind: 'keep' }
  /** A failed attempt of the same order has not let go of it yet. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly reason: string };

export function judgeReservation(bill: BillToReserve, order: ReservingOrder): Reservation {
  const { basis, lock } = bill;
  if (basis === null) return refuse('BILL_GONE');
  const own = lock !== null && lock.paymentOrderId === order.paymentOrderId;
  if (lock !== null && !own) return refuse(lockedBy(lock.paymentOrderId));
  if (own && lock.dataVersion !== order.publishedVersion) return { kind: 'wait' };
  if (bill.underWay) return refuse('WORK_UNDER_WAY');
  const { paymentStatus, currentPayable } = project(basis, bill.paymentEnabled);
  if (paymentStatus !== 'PAYABLE' && paymentStatus !== 'PARTIALLY_PAID') return refuse(paymentStatus);
  if (bill.preRentCheckResult === 'FAIL') return refuse('PRE_RENT_FAILED');
  return own ? { kind: 'keep' } : { kind: 'reserve', amount: currentPayable };
}

/** A conflict names the owner (PAY-3). */
export function lockedBy(paymentOrderId: string): string {
  return `LOCKED_BY_ORDER:${paymentOrderId}`;
}

/** Whether a refusal may have gone by itself when the build is tried again. */
export function isPassing(reason: string): boolean {
  return reason === 'WORK_UNDER_WAY';
}

function refuse(reason: string): Reservation {
  return { kind: 'refuse', reason };
}
