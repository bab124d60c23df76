/**
 * Our own bills, written under their stations' guards in one transaction: accounts, bills, the verdicts that do not stand
 * any more, and the messages that bring the change into the ledger (DIF-4). What the difference stage does with them is
 * its own transaction; until then the old difference stands, and no verdict or payment rests on it (DEC-24).
 */
import {
  type DifferenceMessage,
  newTaskMainId,
  type PlatformEntry,
  type PlatformMessageStation,
} from '../domain/difference-message.ts';
import { shanghaiMonth } from '../domain/month.ts';
import { effectOf, type PlatformBillEffect } from '../domain/platform-bill.ts';
import { listPlatformAccounts } from '../store/difference-inputs.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { recordOperations } from '../store/operation-audit.ts';
import { resetVerification } from '../store/partner-bills.ts';
import { findPartner } from '../store/partners.ts';
import { readDatabaseTimeMs } from '../store/payment-facts.ts';
import {
  insertPlatformAccounts,
  type JudgedBill,
  listJudgedBills,
  listStoredPlatformBills,
  markPlatformBillsDeleted,
  upsertPlatformBills,
} from '../store/platform-bills.ts';
import { recalculateAccounts } from '../store/projections.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { acceptMessage } from '../tasks/accept-message.ts';
import type { Kick } from '../tasks/kick.ts';
import {
  amountsOf,
  keyOf,
  type NamedWish,
  type PlatformBillOrder,
  readWorld,
  refuseFaults,
  type World,
} from './platform-world.ts';
import { noSuchPartner } from './refusals.ts';

export interface PlatformBillsWritten {
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
  /** Those that said already what was asked for; nothing was written of them (DEC-15). */
  readonly unchanged: number;
  readonly verdictsReset: number;
  /** The messages that bring the change into the ledger. */
  readonly taskCodes: readonly string[];
  readonly bills: readonly {
    readonly pointer: string;
    readonly outcome: PlatformBillEffect['outcome'];
    readonly billId: string | null;
  }[];
}

/** @throws Problem 404, 409 or 422 with a fault for each bill that has one; then nothing was written */
export async function writePlatformBills(
  store: Store,
  order: PlatformBillOrder,
  kick: Kick,
): Promise<PlatformBillsWritten> {
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    if ((await findPartner(tx, order.partnerOrgId)) === null) throw noSuchPartner(order.partnerOrgId);
    // ENG-16: before anything is read that is written from.
    await lockGuards(
      tx,
      order.wishes.map((wish) => ({ key: platformStationGuard(wish.platformStationId) })),
    );
    const nowMs = await readDatabaseTimeMs(tx);
    const world = await readWorld(tx, order, shanghaiMonth(nowMs));
    refuseFaults(order.wishes, world);
    const planned = order.wishes.map((wish) => ({ wish, ...effectOf(wish, world.seen(wish)) }));
    const effective = planned.filter(({ outcome }) => outcome !== 'UNCHANGED');
    const accounts = await requireAccounts(tx, order, world, effective);
    const ids = await writeBills(tx, order, world, accounts, effective);
    const judged = await resetVerdicts(tx, order, effective);
    const written = effective.map((plan) => ({ ...plan, billId: ids.get(keyOf(plan.wish))! }));
    const taskCodes = await submitMessages(tx, order, written, nowMs);
    await audit(tx, order, world, judged, written);
    if (taskCodes.length > 0) tx.afterCommit(() => kick.kick('income-diff', order.partnerOrgId));
    return answerOf(planned, world, ids, judged, taskCodes);
  });
}

type Planned = PlatformBillEffect & { readonly wish: NamedWish };
type Written = Planned & { readonly billId: string };

/** DEC-15: the first bill of a station creates its account. */
async function requireAccounts(
  tx: Transaction,
  { partnerOrgId }: PlatformBillOrder,
  world: World,
  planned: readonly Planned[],
): Promise<ReadonlyMap<string, string>> {
  const stationIds = [...new Set(planned.map(({ wish }) => wish.platformStationId))];
  const missing = stationIds.filter((id) => !world.accounts.has(id));
  if (missing.length === 0) return world.accounts;
  await insertPlatformAccounts(
    tx,
    partnerOrgId,
    missing.map((id) => world.stations.get(id)!),
  );
  const accounts = await listPlatformAccounts(tx, partnerOrgId, stationIds);
  return new Map(accounts.map((account) => [account.platformStationId, account.accountId]));
}

/** Bills, then the totals of their accounts, which fit at every instant (DEC-5). @returns the bills' ids */
async function writeBills(
  tx: Transaction,
  { partnerOrgId }: PlatformBillOrder,
  world: World,
  accounts: ReadonlyMap<string, string>,
  planned: readonly Planned[],
): Promise<Map<string, string>> {
  const writes = planned.flatMap(({ wish }) => {
    const { amounts, platformStationId, billYearMonth } = wish;
    const customerAccountId = accounts.get(platformStationId)!;
    return amounts === null ? [] : [{ customerAccountId, platformStationId, month: billYearMonth, amounts }];
  });
  await upsertPlatformBills(tx, partnerOrgId, writes);
  const deletions = planned.filter(({ outcome }) => outcome === 'DELETED');
  await markPlatformBillsDeleted(
    tx,
    deletions.map(({ wish }) => world.billOf(wish)!.billId),
  );
  const touched = [...new Set(planned.map(({ wish }) => accounts.get(wish.platformStationId)!))];
  await recalculateAccounts(tx, 'platform', touched.sort(), null);
  const stationOf = new Map([...accounts].map(([station, account]) => [account, station]));
  const stored = await listStoredPlatformBills(
    tx,
    touched,
    planned.map(({ wish }) => wish.billYearMonth),
  );
  return new Map(
    stored.map((bill) => [`${stationOf.get(bill.customerAccountId)}/${bill.billYearMonth}`, bill.billId]),
  );
}

/** DEC-8, DEC-25: at once, so that nothing is paid on a verdict that rested on another bill of ours. */
async function resetVerdicts(
  tx: Transaction,
  { partnerOrgId }: PlatformBillOrder,
  planned: readonly Planned[],
): Promise<readonly JudgedBill[]> {
  const where = planned
    .filter((plan) => plan.resetsVerdict)
    .map(({ wish }) => ({ platformStationId: wish.platformStationId, month: wish.billYearMonth }));
  const judged = await listJudgedBills(tx, partnerOrgId, where);
  await resetVerification(
    tx,
    judged.map((bill) => bill.partnerBillId),
  );
  return judged;
}

/** DIF-4: an entry for what was written and one for what was deleted; each is a task of the difference stage. */
async function submitMessages(
  tx: Transaction,
  order: PlatformBillOrder,
  written: readonly Written[],
  nowMs: number,
): Promise<string[]> {
  const codes: string[] = [];
  for (const entry of ['PLATFORM_CHANGED', 'PLATFORM_DELETED'] as const) {
    const own = written.filter(({ outcome }) => (outcome === 'DELETED') === (entry === 'PLATFORM_DELETED'));
    if (own.length === 0) continue;
    const message: DifferenceMessage<PlatformEntry> = {
      taskMainId: newTaskMainId(nowMs),
      parentTraceId: order.traceId,
      startTime: String(nowMs),
      recordTimestamp: String(nowMs),
      requestparams: { entry, stations: stationsOf(own) },
    };
    codes.push((await acceptMessage(tx, order.partnerOrgId, message)).taskCode);
  }
  return codes;
}

function stationsOf(written: readonly Written[]): PlatformMessageStation[] {
  return [...Map.groupBy(written, ({ wish }) => wish.platformStationId)].map(([platformStationId, own]) => ({
    platformStationId,
    bills: own.map(({ wish, billId }) => ({ billId, billYearMonth: wish.billYearMonth })),
  }));
}

async function audit(
  tx: Transaction,
  { partnerOrgId, actor }: PlatformBillOrder,
  world: World,
  judged: readonly JudgedBill[],
  written: readonly Written[],
): Promise<void> {
  const verdicts = new Map(
    judged.map((bill) => [keyOf(bill), { partnerBillId: bill.partnerBillId, was: bill.partnerQueryStatus }]),
  );
  const operations = written.map(({ wish, outcome }) => {
    const before = world.billOf(wish);
    return {
      actor,
      action: `PLATFORM_BILL_${outcome}`,
      target: `${partnerOrgId}:${wish.platformStationId}:${wish.billYearMonth}`,
      before: before === null || before.deleted === 1 ? null : amountsOf(before),
      after: { ...wish.amounts, verdictReset: verdicts.get(keyOf(wish)) ?? null },
      reason: null,
    };
  });
  await recordOperations(tx, operations);
}

function answerOf(
  planned: readonly Planned[],
  world: World,
  ids: ReadonlyMap<string, string>,
  judged: readonly JudgedBill[],
  taskCodes: readonly string[],
): PlatformBillsWritten {
  const count = (outcome: PlatformBillEffect['outcome']) =>
    planned.filter((plan) => plan.outcome === outcome).length;
  return {
    created: count('CREATED'),
    changed: count('CHANGED'),
    deleted: count('DELETED'),
    unchanged: count('UNCHANGED'),
    verdictsReset: judged.length,
    taskCodes,
    bills: planned.map(({ wish, outcome }) => ({
      pointer: wish.pointer,
      outcome,
      billId: ids.get(keyOf(wish)) ?? world.billOf(wish)?.billId ?? null,
    })),
  };
}
