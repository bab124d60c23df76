/** What stands where our own bills are to be written, and why a wish for one cannot be carried out (DEC-4, DEC-15). */
import {
  faultOfPlatformBill,
  type PlatformBillAmounts,
  type PlatformBillFault,
  type PlatformBillFaultCode,
  type PlatformBillSeen,
  type PlatformBillWish,
} from '../domain/platform-bill.ts';
import { assert } from '../errors.ts';
import { Problem } from '../http/problem.ts';
import { listLocksOf } from '../store/bill-locks.ts';
import { listPlatformAccounts } from '../store/difference-inputs.ts';
import {
  listNamedStations,
  listStoredPlatformBills,
  type NamedStation,
  type StoredPlatformBill,
} from '../store/platform-bills.ts';
import type { Transaction } from '../store/transaction.ts';

/** A wish, and where it stands in the request. */
export type NamedWish = PlatformBillWish & { readonly pointer: string };

export interface PlatformBillOrder {
  readonly partnerOrgId: string;
  /** Of distinct station-months. */
  readonly wishes: readonly NamedWish[];
  readonly actor: string;
  readonly traceId: string;
}

export interface World {
  readonly stations: ReadonlyMap<string, NamedStation>;
  /** By platform station. */
  readonly accounts: ReadonlyMap<string, string>;
  seen(wish: PlatformBillWish): PlatformBillSeen;
  billOf(wish: PlatformBillWish): StoredPlatformBill | null;
}

export async function readWorld(
  tx: Transaction,
  order: PlatformBillOrder,
  currentMonth: string,
): Promise<World> {
  const { partnerOrgId, wishes } = order;
  const stationIds = [...new Set(wishes.map((wish) => wish.platformStationId))];
  const stations = await listNamedStations(tx, partnerOrgId, stationIds);
  const accounts = await listPlatformAccounts(tx, partnerOrgId, stationIds);
  const bills = await listStoredPlatformBills(
    tx,
    accounts.map((account) => account.accountId),
    [...new Set(wishes.map((wish) => wish.billYearMonth))],
  );
  const locks = await listLocksOf(
    tx,
    wishes.map((wish) => ({ platformStationId: wish.platformStationId, month: wish.billYearMonth })),
  );
  const accountOf = new Map(accounts.map((account) => [account.platformStationId, account.accountId]));
  const accountCounts = Map.groupBy(accounts, (account) => account.platformStationId);
  const billOf = new Map(bills.map((bill) => [`${bill.customerAccountId}/${bill.billYearMonth}`, bill]));
  const locked = new Map(locks.map((lock) => [`${lock.platformStationId}/${lock.month}`, lock.locked]));
  const find = (wish: PlatformBillWish) =>
    billOf.get(`${accountOf.get(wish.platformStationId)}/${wish.billYearMonth}`) ?? null;
  return {
    stations,
    accounts: accountOf,
    billOf: find,
    seen: (wish) => {
      const bill = find(wish);
      // Silence is never taken for "free" (DEC-4).
      const isLocked = locked.get(keyOf(wish));
      assert(isLocked !== undefined, `no answer whether ${keyOf(wish)} is locked`);
      return {
        currentMonth,
        stationExists: stations.has(wish.platformStationId),
        stationMapped: (stations.get(wish.platformStationId)?.partnerStationNo ?? null) !== null,
        accountCount: accountCounts.get(wish.platformStationId)?.length ?? 0,
        locked: isLocked,
        bill: bill === null ? null : { deleted: bill.deleted === 1, amounts: amountsOf(bill) },
      };
    },
  };
}

/** All faults of the request in one answer. @throws Problem 404, 422 or 409 */
export function refuseFaults(wishes: readonly NamedWish[], world: World): void {
  const faults = wishes.flatMap((wish) => {
    const fault = faultOfPlatformBill(wish, world.seen(wish));
    return fault === null ? [] : [{ ...fault, wish }];
  });
  const first = [404, 422, 409].flatMap((status) => faults.find((fault) => fault.status === status) ?? [])[0];
  if (first === undefined) return;
  const others = faults.length > 1 ? ` and ${faults.length - 1} more` : '';
  const detail = `Nothing was written: ${FAULT_TEXTS[first.code]} (${first.wish.pointer}${others}).`;
  throw new Problem(first.status, first.code, detail, { members: { faults: faults.map(faultView) } });
}

const FAULT_TEXTS: Readonly<Record<PlatformBillFaultCode, string>> = {
  MONTH_IN_FUTURE: 'the month has not begun; bills go up to the current month in Shanghai',
  NO_SUCH_PLATFORM_STATION: 'we have no such station',
  STATION_NOT_MAPPED: 'none of this partner’s stations is mapped to it; complete the mapping first',
  DUPLICATE_ACCOUNT: 'there is more than one account of this partner and station; leave one',
  NO_SUCH_BILL: 'there is no bill to delete',
  PAYMENT_LOCKED: 'the month is being paid; wait until the payment is through or given up',
};

function faultView({ wish, code }: PlatformBillFault & { readonly wish: NamedWish }) {
  const { pointer, platformStationId, billYearMonth } = wish;
  return { pointer, code, message: FAULT_TEXTS[code], platformStationId, billYearMonth };
}

export function amountsOf(bill: PlatformBillAmounts): PlatformBillAmounts {
  const { settlementAmount, rent, preRent, freezeAmount, deductionAmount } = bill;
  return { settlementAmount, rent, preRent, freezeAmount, deductionAmount };
}

export function keyOf(where: { readonly platformStationId: string; readonly billYearMonth: string }): string {
  return `${where.platformStationId}/${where.billYearMonth}`;
}
