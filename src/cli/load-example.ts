/** Loads `examples/seed/` into the database; what is there already stays as it is, so it may be loaded at any time. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  insertPlatformAccounts,
  insertPlatformBills,
  insertSnapshots,
  type PlatformAccountSeed,
  type PlatformBillSeed,
  type SnapshotSeed,
  totalUntouchedAccounts,
} from '../store/example-bills.ts';
import {
  insertCredentials,
  insertMappings,
  insertPartners,
  insertPlatformStations,
  type PartnerSeed,
  type PlatformStationSeed,
  type StationMappingSeed,
} from '../store/example-data.ts';
import { type BillLockSeed, reserveExampleLock } from '../store/example-locks.ts';
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { findTaskByCode } from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { cancelIfWaiting } from '../store/waiting-tasks.ts';
import { ensureSlots } from '../tasks/ensure-slots.ts';
import {
  planSnapshotRequests,
  snapshotTaskCode,
  submitSnapshotRequests,
} from '../tasks/request-snapshots.ts';

export const EXAMPLES_FOLDER = join(import.meta.dirname, '../../examples');

/** A snapshot task that a person has given up for good. */
interface CancelledSnapshotSeed {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly reason: string;
}

export interface LoadedExample {
  readonly partners: readonly PartnerSeed[];
  readonly stationCount: number;
  readonly platformBillCount: number;
  readonly snapshotCount: number;
}

export async function loadExample(store: Store): Promise<LoadedExample> {
  const partners = seed<PartnerSeed>('partners');
  const mappings = seed<StationMappingSeed>('station-mappings');
  const bills = seed<PlatformBillSeed>('platform-bills');
  const snapshots = seed<SnapshotSeed>('snapshots');
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await insertPartners(tx, partners);
    await insertCredentials(tx, partners);
    await insertPlatformStations(tx, seed<PlatformStationSeed>('platform-stations'));
    await insertMappings(tx, mappings);
    await insertPlatformAccounts(tx, seed<PlatformAccountSeed>('platform-accounts'));
    await insertPlatformBills(tx, bills);
    await totalUntouchedAccounts(
      tx,
      partners.map((partner) => partner.partnerOrgId),
    );
    await insertSnapshots(tx, snapshots);
    for (const partner of partners) await ensureSlots(tx, partner.partnerOrgId, {});
  });
  for (const cancelled of seed<CancelledSnapshotSeed>('cancelled-snapshots')) {
    await store.transaction(NEW_READ_COMMITTED, (tx) => cancelSnapshotTask(tx, cancelled));
  }
  for (const lock of seed<BillLockSeed>('bill-locks')) {
    await store.transaction(NEW_READ_COMMITTED, (tx) => reserveExampleLock(tx, lock));
  }
  return {
    partners,
    stationCount: mappings.length,
    platformBillCount: bills.length,
    snapshotCount: snapshots.reduce((sum, station) => sum + station.months.length, 0),
  };
}

/** As if it had been asked for once, and an operator had cancelled it before it ran. */
async function cancelSnapshotTask(tx: Transaction, seed: CancelledSnapshotSeed): Promise<void> {
  const { partnerOrgId, platformStationId, reason } = seed;
  await lockGuards(tx, [{ key: platformStationGuard(platformStationId) }]);
  const station = { partnerOrgId, platformStationId };
  if ((await findTaskByCode(tx, snapshotTaskCode(station))) !== null) return;
  const request = { ...station, months: [], source: 'EXAMPLE' };
  const [task] = await submitSnapshotRequests(tx, await planSnapshotRequests(tx, [request]));
  await cancelIfWaiting(tx, task!.taskId, reason);
}

function seed<Seed>(name: string): Seed[] {
  return JSON.parse(readFileSync(join(EXAMPLES_FOLDER, 'seed', `${name}.json`), 'utf8'));
}
