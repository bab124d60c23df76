/**
 * Station stage: writes the account and bills of one partner station of a push, and hands the committed bills on; or
 * nothing at all of it, and a reason (STA rules).
 * Reads: pushed rows, station mapping, bill locks. Writes: partner account and log, partner bills, hand-over, places.
 * Hands on: `income_diff_handover`, the difference stage's work. Guarded by: slot, station leases, station guards.
 * Fifty stations share a transaction, and leave what one after the other would leave (ENG-15).
 */
import type { StageName } from '../src/domain/stage.ts';
import { assert, BusyError, Failure } from '../src/errors.ts';
import { acquireLeases, type HeldLeases, type LeaseOptions } from '../src/leases/lease.ts';
import { type Handover, insertHandovers } from '../src/store/diff-handovers.ts';
import {
  type GuardKey,
  type GuardWithFence,
  guardText,
  lockGuards,
  readFences,
} from '../src/store/guards.ts';
import {
  type AccountId,
  listAccountIds,
  logAccountPushes,
  upsertPartnerAccounts,
} from '../src/store/partner-accounts.ts';
import {
  readBackBills,
  resetVerification,
  sumStationAmounts,
  upsertPartnerBills,
  type WrittenBill,
} from '../src/store/partner-bills.ts';
import { listUncommitted, moveCommittedRows, moveRanges } from '../src/store/places.ts';
import { recalculateAccounts } from '../src/store/projections.ts';
import { chunkRanges, type RowRange } from '../src/store/row-ranges.ts';
import { listLockedMonths } from '../src/store/station-units.ts';
import type { TaskRow } from '../src/store/tasks.ts';
import type { Store, Transaction } from '../src/store/transaction.ts';
import type { Kick } from '../src/tasks/kick.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
import {
  dataOf,
  guardKeysOf,
  isOf,
  rangeOf,
  rangeOfData,
  readUnits,
  type StationUnit,
} from './station/station-unit.ts';

/** STA-8: rows in one upsert; bounds the statement, not the transaction. */
const UPSERT_ROWS_MAX = 200;

export interface StationActorNeeds {
  readonly store: Store;
  readonly kick: Kick;
  readonly leases: LeaseOptions;
}

export function stationActor(needs: StationActorNeeds): StageHandler {
  return new StationActor(needs);
}

class StationActor implements StageHandler {
  readonly stage: StageName = 'bill-station';
  readonly #needs: StationActorNeeds;
  /** The leases under which a task's transaction runs; gone with the task object. */
  readonly #leasesOf = new WeakMap<ClaimedTask, HeldLeases>();

  constructor(needs: StationActorNeeds) {
    this.#needs = needs;
  }

  /** Two pushes of one station never share a transaction: the second sees what the first left. */
  serialKey(task: ClaimedTask): string {
    return dataOf(task).partnerStationNo;
  }

  async around(
    tasks: readonly ClaimedTask[],
    run: (free: readonly ClaimedTask[]) => Promise<void>,
  ): Promise<readonly ClaimedTask[]> {
    const units = await readUnits(this.#needs.store, tasks);
    const leases = await this.#acquire(units);
    if (leases === null) return tasks;
    try {
      const free = leases.areTrusted() ? units.filter((unit) => holdsAll(leases, unit)) : [];
      for (const { task } of free) this.#leasesOf.set(task, leases);
      if (free.length > 0) await run(free.map((unit) => unit.task));
      return units.filter((unit) => !free.includes(unit)).map((unit) => unit.task);
    } finally {
      await leases.release();
    }
  }

  async work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
    const units = await this.#lockUnits(tx, tasks);
    const unwritten = await withoutCommitted(tx, units);
    const blocked = await findBlockedStations(tx, unwritten);
    const free = unwritten.filter((unit) => !blocked.has(unit.data.partnerStationNo));
    if (free.length > 0) {
      const accounts = await writeAccounts(tx, free);
      const bills = await writeBills(tx, free, accounts);
      await handOver(tx, free, bills);
      await moveCommittedRows(tx, free.map(rangeOf));
      this.#kickDifferenceStage(tx, free);
    }
    return endingsOf(units, blocked);
  }

  async onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
    const range = rangeOfData(dataOf(task));
    switch (halt) {
      case 'FAILED':
        await moveRanges(tx, [range], {
          from: ['STATION_PENDING'],
          to: 'STATION_FAILED',
          leftAt: 'committed',
          reason,
        });
        break;
      case 'CANCELLED':
        await moveRanges(tx, [range], {
          from: ['STATION_PENDING', 'STATION_FAILED'],
          to: 'CANCELLED',
          leftAt: 'committed',
          reason,
        });
        break;
      case 'REOPENED':
        await moveRanges(tx, [range], {
          from: ['STATION_FAILED'],
          to: 'STATION_PENDING',
          leftAt: null,
          reason: null,
        });
        break;
    }
    // The segment of the others may have waited for this station (STA-17).
    tx.afterCommit(() => this.#needs.kick.kick('income-diff', task.partnerOrgId));
  }

  /** STA-3, STA-4. Null where Redis cannot be asked: then everybody waits a moment, and nothing is lost. */
  async #acquire(units: readonly StationUnit[]): Promise<HeldLeases | null> {
    const keys = distinctKeys(units.flatMap(guardKeysOf));
    const floors = await readFences(this.#needs.store, keys);
    const requests = keys.map((key) => ({ name: guardText(key), floor: floors.get(guardText(key)) ?? '0' }));
    return acquireLeases(this.#needs.leases, requests).catch(() => null);
  }

  /** ENG-16, ENG-17: all guards of all units before the first write; then the mapping that named them is looked at again. */
  async #lockUnits(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<readonly StationUnit[]> {
    const units = await readUnits(tx, tasks);
    await lockGuards(
      tx,
      units.flatMap((unit) => this.#guardsOf(unit)),
    );
    const again = await readUnits(tx, tasks);
    const moved = units.filter(
      (unit, index) => unit.station.platformStationId !== again[index]?.station.platformStationId,
    );
    if (moved.length > 0)
      throw new BusyError(`the mapping of ${moved.map((unit) => unit.data.partnerStationNo).join(', ')}`);
    return units;
  }

  #guardsOf(unit: StationUnit): GuardWithFence[] {
    const leases = this.#leasesOf.get(unit.task);
    return guardKeysOf(unit).map((key) => {
      const fence = leases?.fenceOf(guardText(key));
      return fence === undefined ? { key } : { key, fence };
    });
  }

  #kickDifferenceStage(tx: Transaction, units: readonly StationUnit[]): void {
    for (const partnerOrgId of new Set(units.map((unit) => unit.task.partnerOrgId))) {
      tx.afterCommit(() => this.#needs.kick.kick('income-diff', partnerOrgId));
    }
  }
}

/**
 * STA-19: a station that had committed is recognised by its rows, which went on, and changes nothing. Only a task that
 * ran before can have; a first run asks nothing.
 */
async function withoutCommitted(
  tx: Transaction,
  units: readonly StationUnit[],
): Promise<readonly StationUnit[]> {
  const again = new Map(
    units.filter(({ task }) => task.runningAttempt > 1).map((unit) => [rangeOf(unit), unit]),
  );
  if (again.size === 0) return units;
  for (const range of await listUncommitted(tx, [...again.keys()])) again.delete(range);
  const committed = new Set(again.values());
  return units.filter((unit) => !committed.has(unit));
}

/** STA-9, found before the first write: set aside by name, so that the rest of the batch commits (ENG-15). */
async function findBlockedStations(
  tx: Transaction,
  units: readonly StationUnit[],
): Promise<ReadonlyMap<string, string[]>> {
  const blocked = new Map<string, string[]>();
  for (const { partnerStationNo, billYearMonth } of await listLockedMonths(tx, units.map(rangeOf))) {
    blocked.set(partnerStationNo, [...(blocked.get(partnerStationNo) ?? []), billYearMonth]);
  }
  return blocked;
}

/** STA-5, first part: account, then account log. */
async function writeAccounts(tx: Transaction, units: readonly StationUnit[]): Promise<readonly AccountId[]> {
  await upsertPartnerAccounts(tx, units.map(rangeOf));
  const accounts = await listAccountIds(
    tx,
    units[0]!.task.partnerOrgId,
    units.map((unit) => unit.data.partnerStationNo),
  );
  const idOf = new Map(accounts.map((account) => [account.partnerStationNo, account.id]));
  const entries = units.map(({ data }) => ({
    customerAccountId: mustHave(idOf, data.partnerStationNo),
    pushId: data.pushId,
  }));
  await logAccountPushes(tx, entries);
  return accounts;
}

/**
 * STA-5, second part: sort → payment check → upsert → payment check → read back. The guards are held since the start.
 * A month that is blocked here, though it was free before the first write, rolls the whole batch back; then each
 * station stands alone (STA-9).
 */
async function writeBills(
  tx: Transaction,
  units: readonly StationUnit[],
  accounts: readonly AccountId[],
): Promise<readonly WrittenBill[]> {
  const ranges = sortedByAccount(units, accounts).map(rangeOf);
  await refuseLockedMonths(tx, ranges);
  for (const chunk of chunkRanges(ranges, UPSERT_ROWS_MAX)) await upsertPartnerBills(tx, chunk);
  await refuseLockedMonths(tx, ranges);
  return readBackBills(tx, ranges);
}

async function refuseLockedMonths(tx: Transaction, ranges: readonly RowRange[]): Promise<void> {
  const locked = await listLockedMonths(tx, ranges);
  if (locked.length > 0) throw paymentLocked(locked.map((month) => month.billYearMonth));
}

function paymentLocked(months: readonly string[]): Failure {
  const named = [...new Set(months)].sort().join(', ');
  return new Failure(
    'PAYMENT_LOCKED',
    `A payment submit occupies ${named}; the whole station waits until it is released`,
    {
      retryable: false,
      fields: { months },
    },
  );
}

/** STA-5, last part: batch deduction → reset verification → account's own deduction → hand over. */
async function handOver(
  tx: Transaction,
  units: readonly StationUnit[],
  bills: readonly WrittenBill[],
): Promise<void> {
  const won = bills.filter((bill) => bill.won);
  const amounts = await sumStationAmounts(
    tx,
    units.flatMap(({ station }) => station.platformStationId ?? []),
  );
  await resetVerification(
    tx,
    won.map((bill) => bill.billId),
  );
  await recalculateAccounts(tx, 'partner', [...new Set(won.map((bill) => bill.customerAccountId))], null);
  const handovers = units.flatMap((unit) => {
    const billCount = won.filter((bill) => isOf(bill, unit)).length;
    if (billCount === 0) return [];
    const { platformStationId } = unit.station;
    const batchDeduction =
      platformStationId === null ? null : (amounts.get(platformStationId)?.deduction ?? '0.00');
    return [handoverOf(unit, billCount, batchDeduction)];
  });
  await insertHandovers(tx, handovers);
}

function handoverOf(unit: StationUnit, billCount: number, batchDeduction: string | null): Handover {
  return {
    stationTaskId: unit.task.id,
    partnerOrgId: unit.task.partnerOrgId,
    ...unit.data,
    platformStationId: unit.station.platformStationId,
    billCount,
    batchDeduction,
  };
}

function endingsOf(units: readonly StationUnit[], blocked: ReadonlyMap<string, string[]>): Endings {
  const succeeded: Ending = { kind: 'succeeded', finalResult: 'FULL_SUCCESS' };
  return new Map(
    units.map(({ task, data }) => {
      const months = blocked.get(data.partnerStationNo);
      return [task.id, months === undefined ? succeeded : { kind: 'failed', failure: paymentLocked(months) }];
    }),
  );
}

function holdsAll(leases: HeldLeases, unit: StationUnit): boolean {
  return guardKeysOf(unit).every((key) => leases.fenceOf(guardText(key)) !== undefined);
}

function distinctKeys(keys: readonly GuardKey[]): GuardKey[] {
  return [...new Map(keys.map((key) => [guardText(key), key])).values()];
}

/** STA-7: by account, then by month; within a station the rows are numbered by month already. */
function sortedByAccount(
  units: readonly StationUnit[],
  accounts: readonly AccountId[],
): readonly StationUnit[] {
  const idOf = new Map(accounts.map((account) => [account.partnerStationNo, BigInt(account.id)]));
  return [...units].sort((left, right) => {
    const difference =
      mustHave(idOf, left.data.partnerStationNo) - mustHave(idOf, right.data.partnerStationNo);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  });
}

function mustHave<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  assert(value !== undefined, `an account was just written for station ${String(key)}`);
  return value;
}
