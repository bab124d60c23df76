/** DEC-11: the bills of a session, chosen from the snapshots by months or by name; a new choice replaces the one before. */
import { takesSelection } from '../domain/payment-submit.ts';
import { lockedBy } from '../domain/reservation.ts';
import { Problem } from '../http/problem.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findOrder } from '../store/payment-orders.ts';
import {
  type ChoosingSession,
  chooseMonths,
  chooseNamed,
  clearSelection,
  listNamedBills,
  type NamedBill,
} from '../store/session-bills.ts';
import { lockSession, type SessionRow, touchSession } from '../store/sessions.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { noSuchSession, refuse } from './refusals.ts';

export type Choice =
  /** Null: all months of the session. */
  { readonly months: readonly string[] | null } | { readonly partnerBillIds: readonly string[] };

/** @returns how many bills are chosen. @throws Problem 404, 409 `SESSION_NOT_OPEN`, 422 `BILLS_NOT_SELECTABLE`, `OTHER_MONTHS` */
export async function selectBills(
  store: Store,
  sessionId: string,
  choice: Choice,
  actor: string,
): Promise<number> {
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const session = await lockSession(tx, sessionId);
    if (session === null) throw noSuchSession(sessionId);
    if (!takesSelection(session.status) || session.invalidatedFlag === 1)
      throw refuse('SESSION_NOT_OPEN', `Session ${sessionId} is ${session.status}: its bills are fixed.`);
    const choosing = await choosingSession(tx, session);
    await clearSelection(tx, sessionId);
    const bills =
      'months' in choice
        ? await chooseMonths(tx, choosing, monthsOf(session, choice.months))
        : await chooseByName(tx, choosing, choice.partnerBillIds);
    await touchSession(tx, sessionId);
    const after = { ...choice, bills };
    await recordOperation(tx, {
      actor,
      action: 'PAYMENT_SESSION_SELECT',
      target: sessionId,
      before: null,
      after,
      reason: null,
    });
    return bills;
  });
}

async function choosingSession(tx: Transaction, session: SessionRow): Promise<ChoosingSession> {
  const { id: sessionId, partnerOrgId, targetPaymentOrderId } = session;
  const order = targetPaymentOrderId === null ? null : await findOrder(tx, targetPaymentOrderId);
  const dataVersion = order?.currentPublishVersion ?? null;
  const ownLocks = order === null || dataVersion === null ? null : { paymentOrderId: order.id, dataVersion };
  return { sessionId, partnerOrgId, ownLocks };
}

function monthsOf(session: SessionRow, asked: readonly string[] | null): readonly string[] {
  const other = (asked ?? []).find((month) => !session.months.includes(month));
  if (other === undefined) return asked ?? session.months;
  throw new Problem(422, 'OTHER_MONTHS', `The session is about ${session.months.join(', ')}, not ${other}.`);
}

async function chooseByName(
  tx: Transaction,
  choosing: ChoosingSession,
  ids: readonly string[],
): Promise<number> {
  const distinct = [...new Set(ids.map((id) => String(BigInt(id))))];
  const found = new Map(
    (await listNamedBills(tx, choosing.partnerOrgId, distinct)).map((bill) => [bill.partnerBillId, bill]),
  );
  const faults = distinct.flatMap((partnerBillId) => {
    const reason = reasonAgainst(found.get(partnerBillId), choosing.ownLocks);
    return reason === null ? [] : [{ partnerBillId, reason }];
  });
  if (faults.length > 0) {
    const detail = `Nothing was chosen: ${faults.length} of ${distinct.length} bills cannot be selected for payment.`;
    throw new Problem(422, 'BILLS_NOT_SELECTABLE', detail, { members: { faults } });
  }
  await chooseNamed(tx, choosing.sessionId, [...found.values()]);
  return found.size;
}

/** Null: selectable. */
function reasonAgainst(bill: NamedBill | undefined, own: ChoosingSession['ownLocks']): string | null {
  if (bill === undefined) return 'NO_SNAPSHOT';
  if (bill.partnerQueryStatus !== 'VERIFIED') return bill.partnerQueryStatus ?? 'NOT_VERIFIED';
  if (bill.paymentStatus !== 'PAYABLE' && bill.paymentStatus !== 'PARTIALLY_PAID') return bill.paymentStatus;
  if (bill.preRentCheckResult === 'FAIL') return 'PRE_RENT_FAILED';
  if (bill.lockOrderId === null) return null;
  const ours = bill.lockOrderId === own?.paymentOrderId && bill.lockDataVersion === own.dataVersion;
  return ours ? null : lockedBy(bill.lockOrderId);
}
