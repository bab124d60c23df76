/**
 * Audit results (PAY-6, DEC-14): an approval may find bills unqualified; those become UNQUALIFIED, as a verification
 * would make them, and are released. A rejection releases nothing: the order is revised or voided.
 */
import { Problem } from '../http/problem.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { recordOperation } from '../store/operation-audit.ts';
import {
  listDifferencesOfBills,
  listLockedOrderBills,
  listPayableBills,
  lockPayableBills,
  type PayableOrderBill,
} from '../store/payment-facts.ts';
import { decideAuditPlan, type OrderRow, setAuditStatus, type VersionRow } from '../store/payment-orders.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { writeVerdicts } from '../store/verifications.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { findAnswers, keepAnswers, lockNamedVersion, requireInForce } from './events.ts';
import { refreshAccounts } from './refresh-accounts.ts';
import { refuse } from './refusals.ts';

export interface AuditResult {
  readonly eventId: string;
  readonly paymentOrderId: string;
  readonly paymentOrderVersionId: string;
  readonly result: 'APPROVED' | 'REJECTED';
  readonly unqualifiedBills: readonly { readonly orderBillId: string; readonly reason: string }[];
}

/** @throws Problem 404, 409, 422; then nothing was taken */
export async function takeAuditResult(
  store: Store,
  audit: AuditResult,
  actor: string,
  kick: Kick,
): Promise<Record<string, unknown>> {
  const { eventId, paymentOrderId, paymentOrderVersionId, result, unqualifiedBills } = audit;
  const content = [paymentOrderVersionId, result, unqualifiedBills];
  const event = { eventId, kind: 'AUDIT_RESULT' as const, paymentOrderId, content };
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { version, order } = await lockNamedVersion(tx, paymentOrderId, paymentOrderVersionId);
    const earlier = (await findAnswers(tx, [event])).get(eventId);
    if (earlier !== undefined) return earlier;
    if (result === 'REJECTED' && unqualifiedBills.length > 0)
      throw new Problem(
        422,
        'REJECTION_NAMES_BILLS',
        'A rejection is of the whole order; it names no bills.',
      );
    requireInForce(version, order);
    const bills = await lockUnqualified(tx, version, order, audit);
    if (!(await decideAuditPlan(tx, version.id, result)))
      throw refuse('NO_OPEN_AUDIT', `Version ${version.id} has no audit plan that is still open.`);
    await setAuditStatus(tx, order.id, result);
    await disqualify(tx, order, audit, bills, actor, kick);
    const answer = {
      eventId,
      paymentOrderId,
      paymentOrderVersionId,
      result,
      unqualified: bills.length,
      // A release that an operator asks for later rests on these (LCK-3).
      unqualifiedOrderBillIds: bills.map((bill) => bill.orderBillId),
    };
    await keepAnswers(tx, [event], new Map([[eventId, answer]]));
    await recordOperation(tx, {
      actor,
      action: 'PAYMENT_AUDIT_RESULT',
      target: order.id,
      before: { auditStatus: order.auditStatus },
      after: { auditStatus: result, paymentOrderVersionId, eventId, unqualifiedBills },
      reason: null,
    });
    return answer;
  });
}

/** Guards, then the order bills' rows (ENG-17). */
async function lockUnqualified(
  tx: Transaction,
  version: VersionRow,
  order: OrderRow,
  { unqualifiedBills }: AuditResult,
): Promise<PayableOrderBill[]> {
  const ids = unqualifiedBills.map((bill) => bill.orderBillId);
  const seen = await listPayableBills(tx, order.id, ids);
  await lockGuards(
    tx,
    seen.map((bill) => ({ key: platformStationGuard(bill.platformStationId) })),
  );
  const bills = await lockPayableBills(tx, order.id, ids);
  const locked = await listLockedOrderBills(tx, version, ids);
  const free = ids.find((id) => !locked.has(id));
  if (free !== undefined)
    throw refuse('BILL_NOT_LOCKED', `Version ${version.id} holds no lock on order bill ${free} (any more).`);
  return bills;
}

async function disqualify(
  tx: Transaction,
  order: OrderRow,
  audit: AuditResult,
  bills: readonly PayableOrderBill[],
  actor: string,
  kick: Kick,
): Promise<void> {
  if (bills.length === 0) return;
  const differences = await listDifferencesOfBills(tx, order.partnerOrgId, bills);
  const reasons = new Map(audit.unqualifiedBills.map((bill) => [bill.orderBillId, bill.reason]));
  await writeVerdicts(
    tx,
    bills.map((bill) => ({
      partnerBillId: bill.partnerBillId,
      diffId: requireDifference(bill, differences),
      partnerQueryStatus: 'UNQUALIFIED',
      reason: reasons.get(bill.orderBillId)!,
    })),
  );
  await acceptLockRelease(
    tx,
    {
      paymentOrderVersionId: audit.paymentOrderVersionId,
      lockReleaseReason: 'REVIEW_APPROVED_UNQUALIFIED',
      selection: { orderBillIds: bills.map((bill) => bill.orderBillId) },
      actor,
      eventId: audit.eventId,
    },
    kick,
  );
  await refreshAccounts(tx, 'AUDIT', order.partnerOrgId, differences, kick);
}

function requireDifference(
  bill: PayableOrderBill,
  differences: readonly { diffId: string; stationId: string; shareMonth: string }[],
): string {
  const own = differences.find(
    (one) => one.stationId === bill.platformStationId && one.shareMonth === bill.billYearMonth,
  );
  if (own !== undefined) return own.diffId;
  throw refuse('NO_DIFFERENCE', `Order bill ${bill.orderBillId} has no difference.`);
}
