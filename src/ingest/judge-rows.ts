/** The verdict on every row of a push: what is looked up for all of them together, then row by row in request order (DEC-16). */
import { toCents } from '../domain/as-written.ts';
import { isActive, judgeRow, type MappedStation } from '../domain/judge-row.ts';
import type { Refusal } from '../domain/refusal.ts';
import type { StationMonth } from '../store/bill-locks.ts';
import type { Sql } from '../store/sql.ts';
import { listStationMappings } from '../store/station-mappings.ts';
import type { ReadPush, ReadRow, ReadStation } from './check-rows.ts';
import { askForLocks, type LockAnswers, type PaymentLockCheck } from './payment-lock-check.ts';

const MAPPINGS_AT_ONCE_MAX = 500;

export interface Verdicts {
  /** By receipt index; null: accepted, or refused by its own fields, which its line tells. */
  readonly refusals: readonly (Refusal | null)[];
  readonly acceptedCount: number;
  readonly acceptedCents: bigint;
  isAccepted(index: number): boolean;
}

interface Lookups {
  readonly sql: Sql;
  readonly partnerOrgId: string;
  readonly lockCheck: PaymentLockCheck;
}

type Mappings = ReadonlyMap<string, MappedStation>;

export async function judgeRows(push: ReadPush, lookups: Lookups): Promise<Verdicts> {
  const mappings = await loadMappings(push, lookups);
  const locks = await askForLocks(lookups.lockCheck, stationMonths(push, mappings));
  return judgeInOrder(push, mappings, locks);
}

async function loadMappings(push: ReadPush, { sql, partnerOrgId }: Lookups): Promise<Mappings> {
  const numbers = new Set<string>();
  for (const station of push.stations) if (station.refusal === null) numbers.add(stationNoOf(station));
  const wanted = [...numbers].sort();
  const mappings = new Map<string, MappedStation>();
  for (let from = 0; from < wanted.length; from += MAPPINGS_AT_ONCE_MAX) {
    const chunk = wanted.slice(from, from + MAPPINGS_AT_ONCE_MAX);
    for (const row of await listStationMappings(sql, partnerOrgId, chunk))
      mappings.set(row.partnerStationNo, row);
  }
  return mappings;
}

/** What the lock check is asked about: each station-month once, and only those whose rows could be accepted. */
function stationMonths(push: ReadPush, mappings: Mappings): StationMonth[] {
  const asked = new Map<string, StationMonth>();
  for (const row of push.rows) {
    if (isRefusedByItself(push, row)) continue;
    const mapping = mappings.get(stationNoOf(push.stations[row.stationIndex]!));
    const month = row.month!;
    if (mapping === undefined || mapping.platformStationId === null || !isActive(mapping, month)) continue;
    const { platformStationId } = mapping;
    asked.set(`${platformStationId}:${month}`, { platformStationId, month });
  }
  return [...asked.values()];
}

function judgeInOrder(push: ReadPush, mappings: Mappings, locks: LockAnswers): Verdicts {
  const refusals = new Array<Refusal | null>(push.rows.length).fill(null);
  const taken = new Map<string, string>();
  let acceptedCount = 0;
  let acceptedCents = 0n;
  push.rows.forEach((row, index) => {
    if (isRefusedByItself(push, row)) return;
    const key = `${stationNoOf(push.stations[row.stationIndex]!)}\n${row.month}`;
    refusals[index] = judge(push, row, mappings, locks, taken.get(key) ?? null);
    if (refusals[index] !== null) return;
    taken.set(key, row.pointer);
    acceptedCount += 1;
    acceptedCents += toCents(row.rent!);
  });
  const isAccepted = (index: number): boolean =>
    refusals[index] === null && !isRefusedByItself(push, push.rows[index]!);
  return { refusals, acceptedCount, acceptedCents, isAccepted };
}

function judge(
  push: ReadPush,
  row: ReadRow,
  mappings: Mappings,
  locks: LockAnswers,
  acceptedBefore: string | null,
): Refusal | null {
  const station = push.stations[row.stationIndex]!;
  const mapping = mappings.get(stationNoOf(station)) ?? null;
  const platformStationId = mapping?.platformStationId ?? null;
  return judgeRow(
    {
      stationNo: stationNoOf(station),
      partnerStationId: station.values.partnerStationId as string | null,
      month: row.month!,
      stationPointer: station.pointer,
      billPointer: row.pointer,
    },
    {
      mapping,
      acceptedBefore,
      lock: platformStationId === null ? 'UNKNOWN' : locks.get({ platformStationId, month: row.month! }),
    },
  );
}

export function isRefusedByItself(push: ReadPush, row: ReadRow): boolean {
  return row.wrong || push.stations[row.stationIndex]!.refusal !== null;
}

function stationNoOf(station: ReadStation): string {
  return station.values.partnerStationNo as string;
}
