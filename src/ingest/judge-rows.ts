/**
 * The verdict on every row of a push (DEC-16). Rows are judged in the order of their numbers: those of one station and
 * month come together, in request order, and no verdict depends on any other station-month.
 */
import { isActive, type MappedStation } from '../domain/judge-row.ts';
import type { StationMonth } from '../store/bill-locks.ts';
import type { Sql } from '../store/sql.ts';
import { listStationMappings } from '../store/station-mappings.ts';
import { isRefusedByItself, type ReadPush } from './check-rows.ts';
import { askForLocks, type PaymentLockCheck } from './payment-lock-check.ts';
import type { RowOrder } from './row-order.ts';
import { type MappingOf, Verdicts } from './verdicts.ts';

const MAPPINGS_AT_ONCE_MAX = 500;
const ROWS_AT_ONCE_MAX = 1_000;

interface Lookups {
  readonly sql: Sql;
  readonly partnerOrgId: string;
  readonly lockCheck: PaymentLockCheck;
}

export async function judgeRows(push: ReadPush, order: RowOrder, lookups: Lookups): Promise<Verdicts> {
  const mappings = await loadMappings(push, lookups);
  const mappingOf: MappingOf = (stationIndex) =>
    mappings.get(push.stations.shownStationNo(stationIndex)!) ?? null;
  const verdicts = new Verdicts(push, mappingOf);
  for (let from = 0; from < order.length; from += ROWS_AT_ONCE_MAX) {
    const indexes = order.subarray(from, from + ROWS_AT_ONCE_MAX);
    await answerLocks(push, indexes, mappingOf, lookups.lockCheck, verdicts);
    for (const index of indexes) verdicts.judge(index);
  }
  return verdicts;
}

async function loadMappings(
  push: ReadPush,
  { sql, partnerOrgId }: Lookups,
): Promise<ReadonlyMap<string, MappedStation>> {
  const numbers = new Set<string>();
  for (let index = 0; index < push.stations.length; index++) {
    if (!push.stations.isRefused(index)) numbers.add(push.stations.shownStationNo(index)!);
  }
  const wanted = [...numbers].sort();
  const mappings = new Map<string, MappedStation>();
  for (let from = 0; from < wanted.length; from += MAPPINGS_AT_ONCE_MAX) {
    const chunk = wanted.slice(from, from + MAPPINGS_AT_ONCE_MAX);
    for (const row of await listStationMappings(sql, partnerOrgId, chunk))
      mappings.set(row.partnerStationNo, row);
  }
  return mappings;
}

/** Only rows that could be accepted depend on a lock, and only where there is a platform station to be locked. */
async function answerLocks(
  push: ReadPush,
  indexes: Uint32Array,
  mappingOf: MappingOf,
  lockCheck: PaymentLockCheck,
  verdicts: Verdicts,
): Promise<void> {
  const asked = new Map<number, StationMonth>();
  for (const index of indexes) {
    const where = isRefusedByItself(push, index) ? null : lockedWhere(push, index, mappingOf);
    if (where !== null) asked.set(index, where);
  }
  const answers = await askForLocks(lockCheck, [...asked.values()]);
  for (const [index, where] of asked) verdicts.setLock(index, answers.get(where));
}

function lockedWhere(push: ReadPush, index: number, mappingOf: MappingOf): StationMonth | null {
  const mapping = mappingOf(push.rows.stationIndex(index));
  if (mapping === null || mapping.platformStationId === null) return null;
  const month = push.rows.month(index);
  return isActive(mapping, month) ? { platformStationId: mapping.platformStationId, month } : null;
}
