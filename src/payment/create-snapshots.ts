/** SNP-3: rows of the read model that are missing, asked for by an operator or by opening a payment session. */
import { lockGuards, platformStationGuard } from '../store/guards.ts';
import { listMissingSnapshots } from '../store/session-bills.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import type { Kick } from '../tasks/kick.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../tasks/request-snapshots.ts';

export interface SnapshotsToCreate {
  readonly partnerOrgId: string;
  readonly months: readonly string[];
  readonly source: string;
}

/** Station-months in one transaction. */
const PAGE_SIZE = 1000;

/** @returns for how many platform stations rows were asked for; the snapshot stage makes them */
export async function createSnapshots(store: Store, wish: SnapshotsToCreate, kick: Kick): Promise<number> {
  let stations = 0;
  let afterStationId = '0';
  for (;;) {
    const page = { afterStationId, limit: PAGE_SIZE };
    const missing = await listMissingSnapshots(store, wish.partnerOrgId, wish.months, page);
    if (missing.length === 0) return stations;
    const months = Map.groupBy(missing, (row) => row.platformStationId);
    await requestPage(store, wish, months, kick);
    stations += months.size;
    afterStationId = [...months.keys()].at(-1)!;
  }
}

async function requestPage(
  store: Store,
  { partnerOrgId, source }: SnapshotsToCreate,
  months: ReadonlyMap<string, readonly { readonly month: string }[]>,
  kick: Kick,
): Promise<void> {
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await lockGuards(
      tx,
      [...months.keys()].map((station) => ({ key: platformStationGuard(station) })),
    );
    const planned = await planSnapshotRequests(
      tx,
      [...months].map(([platformStationId, rows]) => ({
        partnerOrgId,
        platformStationId,
        months: rows.map((row) => row.month),
        source,
        mode: 'CREATE' as const,
      })),
    );
    await submitSnapshotRequests(tx, planned);
    tx.afterCommit(() => kick.kick('bill-snapshot', partnerOrgId));
  });
}
