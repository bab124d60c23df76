/**
 * Payment results (PAY-6, DEC-13, DEC-26): what the paying side says of order bills: paid, failed, taken back. Facts, the
 * releases of what is settled and the account tasks commit together, under the order bills' rows.
 * Guarded by: version and order, platform guards ascending, the order bills' rows.
 */
import type { LockReleaseReason } from '../domain/lock-release.ts';
import { meaningOfPayment, reversalOf } from '../domain/payment-result.ts';
import { Problem } from '../http/problem.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { recordOperation } from '../store/operation-audit.ts';
import {
  type FactRow,
  insertFacts,
  listDifferencesOfBills,
  listFactsOf,
  listLockedOrderBills,
  listPayableBills,
  lockPayableBills,
  type NewFact,
  type PayableOrderBill,
  sumPaidByOrderBill,
} from '../store/payment-facts.ts';
import type { OrderRow, VersionRow } from '../store/payment-orders.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { acceptLockRelease } from './accept-lock-release.ts';
import { findAnswers, type IncomingEvent, keepAnswers, lockNamedVersion, requireInForce } from './events.ts';
import { refreshAccounts } from './refresh-accounts.ts';
import { refuse } from './refusals.ts';

export type PaymentResult =
  | {
      readonly eventId: string;
      readonly outcome: 'PAID';
      readonly orderBillId: string;
      readonly amount: string;
      readonly paidTime: string;
    }
  | { readonly eventId: string; readonly outcome: 'FAILED'; readonly orderBillId: string }
  | {
      readonly eventId: string;
      readonly outcome: 'REVERSED';
      readonly reversedEventId: string;
      readonly paidTime: string;
    };

export interface PaymentResults {
  readonly paymentOrderId: string;
  readonly paymentOrderVersionId: string;
  /** Events are distinct, and so are the order bills that they speak of. */
  readonly results: readonly PaymentResult[];
}

export type PaymentAnswer = Readonly<Record<string, unknown>>;

/** @returns an answer for each result, in their order. @throws Problem 404, 409, 422; then nothing was taken */
export async function takePaymentResults(
  store: Store,
  request: PaymentResults,
  actor: string,
  kick: Kick,
): Promise<PaymentAnswer[]> {
  const events = request.results.map((result) => eventOf(request, result));
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const { version, order } = await lockNamedVersion(
      tx,
      request.paymentOrderId,
      request.paymentOrderVersionId,
    );
    const answers = await findAnswers(tx, events);
    const fresh = request.results.filter((result) => !answers.has(result.eventId));
    if (fresh.length > 0) {
      const taken = await takeFresh(tx, { version, order, actor, kick }, fresh);
      for (const [eventId, answer] of taken) answers.set(eventId, answer);
      await keepAnswers(
        tx,
        events.filter((event) => taken.has(event.eventId)),
        taken,
      );
      await recordOperation(tx, {
        actor,
        action: 'PAYMENT_RESULTS',
        target: order.id,
        before: null,
        after: { paymentOrderVersionId: version.id, results: [...taken.values()] },
        reason: null,
      });
    }
    return request.results.map((result) => answers.get(result.eventId)!);
  });
}

function eventOf(request: PaymentResults, result: PaymentResult): IncomingEvent {
  const { paymentOrderId, paymentOrderVersionId } = request;
  const content = [paymentOrderVersionId, ...Object.entries(result).sort()];
  return { eventId: result.eventId, kind: 'PAYMENT_RESULT', paymentOrderId, content };
}

interface Scene {
  readonly version: VersionRow;
  readonly order: OrderRow;
  readonly actor: string;
  readonly kick: Kick;
}

/** What a result comes to: its answer, and what follows from it. */
interface Taken {
  readonly eventId: string;
  readonly bill: PayableOrderBill;
  readonly fact: NewFact | null;
  readonly release: LockReleaseReason | null;
  readonly answer: PaymentAnswer;
}

async function takeFresh(
  tx: Transaction,
  scene: Scene,
  results: readonly PaymentResult[],
): Promise<Map<string, PaymentAnswer>> {
  const reversible = await findReversible(tx, scene.order, results);
  const billIds = distinctBills(results.map((result) => orderBillOf(result, reversible)));
  const bills = await lockBills(tx, scene.order, billIds);
  const needLock = results.flatMap((result) => (result.outcome === 'REVERSED' ? [] : [result.orderBillId]));
  if (needLock.length > 0) requireInForce(scene.version, scene.order);
  await requireLocked(tx, scene.version, needLock);
  const paid = await sumPaidByOrderBill(tx, scene.order.id, billIds);
  const taken = results.map((result) => {
    const bill = bills.get(orderBillOf(result, reversible))!;
    return judge(scene, result, bill, paid.get(bill.orderBillId) ?? '0.00', reversible);
  });
  await write(tx, scene, taken);
  return new Map(taken.map(({ eventId, answer }) => [eventId, answer]));
}

/** The payments that are to be taken back, by event. @throws Problem 409 */
async function findReversible(
  tx: Transaction,
  order: OrderRow,
  results: readonly PaymentResult[],
): Promise<ReadonlyMap<string, FactRow>> {
  const asked = results.flatMap((result) => (result.outcome === 'REVERSED' ? [result.reversedEventId] : []));
  const facts = await listFactsOf(tx, order.id, asked);
  for (const eventId of asked) {
    const fact = facts.find((one) => one.eventId === eventId);
    if (fact === undefined || fact.reversedEventId !== null)
      throw refuse('NO_SUCH_PAYMENT', `Order ${order.id} has no payment ${eventId} to take back.`);
    if (facts.some((one) => one.reversedEventId === eventId))
      throw refuse('ALREADY_REVERSED', `Payment ${eventId} was taken back before.`);
  }
  return new Map(facts.map((fact) => [fact.eventId, fact]));
}

function orderBillOf(result: PaymentResult, reversible: ReadonlyMap<string, FactRow>): string {
  return result.outcome === 'REVERSED'
    ? reversible.get(result.reversedEventId)!.orderBillId
    : result.orderBillId;
}

function distinctBills(ids: readonly string[]): string[] {
  const distinct = [...new Set(ids)];
  if (distinct.length === ids.length) return distinct;
  throw new Problem(422, 'ORDER_BILL_TWICE', 'A call speaks of each order bill once; send the other later.');
}

async function lockBills(
  tx: Transaction,
  order: OrderRow,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PayableOrderBill>> {
  const seen = await listPayableBills(tx, order.id, ids);
  const missing = ids.find((id) => !seen.some((bill) => bill.orderBillId === id));
  if (missing !== undefined)
    throw refuse('OTHER_ORDER_BILL', `Order ${order.id} has no order bill ${missing}.`);
  await lockGuards(
    tx,
    seen.map((bill) => ({ key: platformStationGuard(bill.platformStationId) })),
  );
  const locked = await lockPayableBills(tx, order.id, ids);
  return new Map(locked.map((bill) => [bill.orderBillId, bill]));
}

/** DEC-26: a result for a bill that no live lock of the named version holds is refused. */
async function requireLocked(tx: Transaction, version: VersionRow, ids: readonly string[]): Promise<void> {
  const locked = await listLockedOrderBills(tx, version, ids);
  const free = ids.find((id) => !locked.has(id));
  if (free === undefined) return;
  throw refuse('BILL_NOT_LOCKED', `Version ${version.id} holds no lock on order bill ${free} (any more).`);
}

function judge(
  scene: Scene,
  result: PaymentResult,
  bill: PayableOrderBill,
  paid: string,
  reversible: ReadonlyMap<string, FactRow>,
): Taken {
  const { eventId, outcome } = result;
  const { orderBillId, partnerBillId } = bill;
  const head = { eventId, outcome, orderBillId, partnerBillId };
  if (outcome === 'FAILED')
    return {
      eventId,
      bill,
      fact: null,
      release: 'PAYMENT_FAIL',
      answer: { ...head, lockReleaseReason: 'PAYMENT_FAIL' },
    };
  const common = { eventId, orderBillId, partnerBillId, paidTime: result.paidTime };
  if (outcome === 'REVERSED') {
    const payment = reversible.get(result.reversedEventId)!;
    const amount = reversalOf(payment.amount);
    const { paymentOrderVersionId } = payment;
    const fact = { ...common, paymentOrderVersionId, amount, reversedEventId: payment.eventId };
    return {
      eventId,
      bill,
      fact,
      release: null,
      answer: { ...head, amount, reversedEventId: payment.eventId },
    };
  }
  const { amount } = result;
  const meaning = meaningOfPayment(amount, { amount: bill.amount, paid });
  if (meaning.kind === 'refused') throw refuseAmount(meaning.code, result.amount, bill, paid);
  const release = meaning.kind === 'in-full' ? 'PAYMENT_SUCCESS' : 'PARTIAL_PAYMENT';
  const fact = { ...common, paymentOrderVersionId: scene.version.id, amount, reversedEventId: null };
  return {
    eventId,
    bill,
    fact,
    release,
    answer: { ...head, amount, paidAmount: meaning.paid, lockReleaseReason: release },
  };
}

function refuseAmount(code: string, amount: string, bill: PayableOrderBill, paid: string): Problem {
  const detail = `${amount} cannot be paid of order bill ${bill.orderBillId}: it is ${bill.amount}, and ${paid} is paid.`;
  return new Problem(422, code, detail, { members: { orderBillId: bill.orderBillId } });
}

const RELEASES = ['PAYMENT_SUCCESS', 'PARTIAL_PAYMENT', 'PAYMENT_FAIL'] as const;

/** One release task per call and reason; each event is audited with it. */
async function write(
  tx: Transaction,
  { version, order, actor, kick }: Scene,
  taken: readonly Taken[],
): Promise<void> {
  await insertFacts(
    tx,
    order.id,
    taken.flatMap(({ fact }) => fact ?? []),
  );
  const changed = taken.filter(({ fact }) => fact !== null).map(({ bill }) => bill);
  const differences = await listDifferencesOfBills(tx, order.partnerOrgId, changed);
  for (const reason of RELEASES) {
    const own = taken.filter((one) => one.release === reason);
    if (own.length === 0) continue;
    await acceptLockRelease(
      tx,
      {
        paymentOrderVersionId: version.id,
        lockReleaseReason: reason,
        selection: { orderBillIds: own.map(({ bill }) => bill.orderBillId) },
        actor,
        eventId: own.map(({ eventId }) => eventId).join(','),
      },
      kick,
    );
  }
  await refreshAccounts(tx, 'PAYMENT', order.partnerOrgId, differences, kick);
}
