/**
 * Verification (DEC-8, DEC-25): an operator's verdict on bills, each with the order number that was looked at; all or
 * none. The same transaction writes bill and difference and submits the account task.
 */
import { faultOfVerdict, type VerdictFault, type VerdictWish } from '../domain/verification.ts';
import { Problem } from '../http/problem.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { recordOperations } from '../store/operation-audit.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { listVerifiableBills, type VerifiableBill, writeVerdicts } from '../store/verifications.ts';
import type { Kick } from '../tasks/kick.ts';
import { refreshAccounts } from './refresh-accounts.ts';

export interface Verified {
  readonly verified: number;
  /** Those that said already what was asked for; nothing was written of them (DEC-15). */
  readonly unchanged: number;
  readonly taskCodes: readonly string[];
}

/** @param wishes of distinct bills. @throws Problem 404, 409 or 422 with a fault for each bill that has one */
export async function verifyBills(
  store: Store,
  wishes: readonly VerdictWish[],
  actor: string,
  kick: Kick,
): Promise<Verified> {
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const ids = wishes.map((wish) => wish.partnerBillId);
    const seen = await listVerifiableBills(tx, ids);
    await lockGuards(
      tx,
      seen.flatMap(({ platformStationId }) =>
        platformStationId === null ? [] : [{ key: platformStationGuard(platformStationId) }],
      ),
    );
    const bills = new Map((await listVerifiableBills(tx, ids)).map((bill) => [bill.partnerBillId, bill]));
    refuseFaults(wishes, bills);
    const changed = wishes.filter((wish) => !saysSo(bills.get(wish.partnerBillId)!, wish));
    const taskCodes = await apply(tx, changed, bills, kick);
    const operations = changed.map((wish) => operationOf(wish, bills.get(wish.partnerBillId)!, actor));
    await recordOperations(tx, operations);
    return { verified: changed.length, unchanged: wishes.length - changed.length, taskCodes };
  });
}

function refuseFaults(wishes: readonly VerdictWish[], bills: ReadonlyMap<string, VerifiableBill>): void {
  const faults = wishes.flatMap((wish) => {
    const fault = faultOfVerdict(wish, toVerify(bills.get(wish.partnerBillId)));
    return fault === null ? [] : [{ ...fault, partnerBillId: wish.partnerBillId }];
  });
  const first = [404, 409, 422].flatMap((status) => faults.find((fault) => fault.status === status) ?? [])[0];
  if (first === undefined) return;
  const detail = `Nothing was verified: ${FAULT_TEXTS[first.code]} (bill ${first.partnerBillId}${faults.length > 1 ? ` and ${faults.length - 1} more` : ''}).`;
  const members = { faults: faults.map(({ partnerBillId, code }) => ({ partnerBillId, code })) };
  throw new Problem(first.status, first.code, detail, { members });
}

const FAULT_TEXTS: Readonly<Record<VerdictFault['code'], string>> = {
  NO_SUCH_BILL: 'there is no such bill',
  PUSHED_AGAIN: 'the bill was pushed again since it was looked at',
  NO_DIFFERENCE: 'the bill has no difference yet',
  PAYMENT_NOT_ENABLED: 'the partner does not take part in payment',
  DIFFERENCE_BEHIND: 'the difference does not speak yet of this push, or of a change of our own bill',
  REASON_NEEDED: 'a reason must be stated unless both sides are there and match',
};

function toVerify(bill: VerifiableBill | undefined) {
  if (bill === undefined) return null;
  const { acceptNo, paymentFlow, diffId } = bill;
  const difference =
    diffId === null
      ? null
      : { acceptNo: bill.diffAcceptNo!, status: bill.diffStatus!, bothSidesReady: bill.bothSidesReady === 1 };
  return { acceptNo, paymentFlow, difference, platformChangeDue: Number(bill.platformChangeDue) === 1 };
}

function saysSo(bill: VerifiableBill, wish: VerdictWish): boolean {
  if (bill.partnerQueryStatus !== wish.partnerQueryStatus) return false;
  return wish.partnerQueryStatus === 'VERIFIED' || bill.unqualifiedReason === wish.reason;
}

async function apply(
  tx: Transaction,
  wishes: readonly VerdictWish[],
  bills: ReadonlyMap<string, VerifiableBill>,
  kick: Kick,
): Promise<string[]> {
  const changed = wishes.map((wish) => ({ ...wish, bill: bills.get(wish.partnerBillId)! }));
  await writeVerdicts(
    tx,
    changed.map(({ bill, ...wish }) => ({ ...wish, diffId: bill.diffId! })),
  );
  const taskCodes: string[] = [];
  for (const [partnerOrgId, own] of Map.groupBy(changed, ({ bill }) => bill.partnerOrgId)) {
    const differences = own.map(({ bill }) => ({
      diffId: bill.diffId!,
      stationId: bill.platformStationId!,
      shareMonth: bill.billYearMonth,
      partnerAccountId: bill.partnerAccountId,
      platformAccountId: bill.platformAccountId,
    }));
    taskCodes.push(...(await refreshAccounts(tx, 'VERIFICATION', partnerOrgId, differences, kick)));
  }
  return taskCodes;
}

function operationOf(
  wish: VerdictWish,
  { partnerQueryStatus, unqualifiedReason }: VerifiableBill,
  actor: string,
) {
  return {
    actor,
    action: 'BILL_VERIFICATION',
    target: wish.partnerBillId,
    before: { partnerQueryStatus, unqualifiedReason },
    after: { partnerQueryStatus: wish.partnerQueryStatus, acceptNo: wish.acceptNo },
    reason: wish.reason,
  };
}
