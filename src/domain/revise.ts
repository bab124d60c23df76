/** LCK-29: when a REVISE may speak for its order. */

export interface ReviseSession {
  readonly mode: string;
  readonly targetPaymentOrderId: string | null;
  readonly creatorUserId: string;
}

/** Invalid unless the session is a REVISE of this order by the order's own creator. */
export function isInvalidRevise(submit: {
  readonly session: ReviseSession | null;
  readonly paymentOrderId: string;
  readonly orderCreateUserId: string;
}): boolean {
  const { session } = submit;
  return !(
    session !== null &&
    session.mode === 'REVISE' &&
    session.targetPaymentOrderId === submit.paymentOrderId &&
    session.creatorUserId === submit.orderCreateUserId
  );
}
