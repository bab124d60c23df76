/**
 * `station_guard`: one row per platform station, and one per (partner, partner station number), serialises all that is
 * written about it, whatever stage writes it (ENG-16).
 */
import { BusyError } from '../errors.ts';
import type { Sql } from './sql.ts';
import { isLockWait } from './transaction.ts';

/** Kinds in the lock order of ENG-17: partner stations come before platform stations. */
const PARTNER_STATION = 1;
const PLATFORM_STATION = 2;

export interface GuardKey {
  readonly kind: number;
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly partnerStationNo: string;
}

export function partnerStationGuard(partnerOrgId: string, partnerStationNo: string): GuardKey {
  return { kind: PARTNER_STATION, partnerOrgId, platformStationId: '0', partnerStationNo };
}

export function platformStationGuard(platformStationId: string): GuardKey {
  return { kind: PLATFORM_STATION, partnerOrgId: '0', platformStationId, partnerStationNo: '' };
}

/** The one order in which every transaction takes guards; by bytes, as the database's binary collation has it. */
export function compareGuards(left: GuardKey, right: GuardKey): number {
  return (
    left.kind - right.kind ||
    compareIds(left.partnerOrgId, right.partnerOrgId) ||
    compareIds(left.platformStationId, right.platformStationId) ||
    Buffer.compare(Buffer.from(left.partnerStationNo), Buffer.from(right.partnerStationNo))
  );
}

export function guardText(key: GuardKey): string {
  return key.kind === PLATFORM_STATION
    ? `platform:${key.platformStationId}`
    : `partner:${key.partnerOrgId}:${key.partnerStationNo}`;
}

/** The guard that is named so, or null where the text names none. */
export function guardOfText(text: string): GuardKey | null {
  const [, platformStationId, partnerOrgId, partnerStationNo] =
    /^(?:platform:(\d{1,20})|partner:(\d{1,20}):(.{1,64}))$/s.exec(text) ?? [];
  if (platformStationId !== undefined) return platformStationGuard(platformStationId);
  if (partnerOrgId === undefined || partnerStationNo === undefined) return null;
  return partnerStationGuard(partnerOrgId, partnerStationNo);
}

export type GuardKind = 'PARTNER_STATION' | 'PLATFORM_STATION';

export function kindOf(kind: GuardKind): number {
  return kind === 'PARTNER_STATION' ? PARTNER_STATION : PLATFORM_STATION;
}

/** A guard with the fence of the lease that stands in front of it; none where the stage takes no lease. */
export interface GuardWithFence {
  readonly key: GuardKey;
  readonly fence?: string;
}

const CHUNK_SIZE_MAX = 500;

/**
 * Locks the guards to the end of the transaction, making those that are missing: one sorted `INSERT … ON DUPLICATE KEY
 * UPDATE` (ENG-17). A lease's fence is written to its row; a row that carries a higher one has seen a later holder.
 * @throws BusyError if another transaction holds one for too long, or a later lease has been there; nothing of the
 * caller's has been written by then.
 */
export async function lockGuards(sql: Sql, guards: readonly GuardWithFence[]): Promise<void> {
  const sorted = distinct(guards);
  for (let from = 0; from < sorted.length; from += CHUNK_SIZE_MAX)
    await lockChunk(sql, sorted.slice(from, from + CHUNK_SIZE_MAX));
  await refuseOvertaken(sql, guards);
}

async function lockChunk(sql: Sql, chunk: readonly GuardWithFence[]): Promise<void> {
  try {
    await sql.change(
      `INSERT INTO station_guard (kind, partner_org_id, platform_station_id, partner_station_no, fence)
       VALUES ${chunk.map(() => '(?, ?, ?, ?, ?)').join(', ')}
       ON DUPLICATE KEY UPDATE fence = IF(fence <= VALUES(fence), VALUES(fence), fence)`,
      chunk.flatMap(({ key, fence }) => [
        key.kind,
        key.partnerOrgId,
        key.platformStationId,
        key.partnerStationNo,
        fence ?? '0',
      ]),
    );
  } catch (error) {
    if (isLockWait(error))
      throw new BusyError(`one of ${chunk.map(({ key }) => guardText(key)).join(', ')}`, { cause: error });
    throw error;
  }
}

async function refuseOvertaken(sql: Sql, guards: readonly GuardWithFence[]): Promise<void> {
  const leased = guards.filter((guard) => guard.fence !== undefined);
  if (leased.length === 0) return;
  const fences = await readFences(
    sql,
    leased.map((guard) => guard.key),
  );
  const overtaken = leased.filter(
    ({ key, fence }) => BigInt(fences.get(guardText(key)) ?? '0') > BigInt(fence ?? '0'),
  );
  if (overtaken.length > 0)
    throw new BusyError(`a later lease on ${overtaken.map(({ key }) => guardText(key)).join(', ')}`);
}

/** The fences as they stand, without a lock; 0 where there is no row. The floor for handing out leases (ENG-18). */
export async function readFences(sql: Sql, keys: readonly GuardKey[]): Promise<Map<string, string>> {
  const fences = new Map<string, string>();
  for (let from = 0; from < keys.length; from += CHUNK_SIZE_MAX) {
    const chunk = keys.slice(from, from + CHUNK_SIZE_MAX);
    const rows = await sql.many<GuardKey & { fence: string }>(
      `SELECT kind, partner_org_id partnerOrgId, platform_station_id platformStationId, partner_station_no partnerStationNo, fence
         FROM station_guard FORCE INDEX (PRIMARY)
        WHERE (kind, partner_org_id, platform_station_id, partner_station_no) IN (${chunk.map(() => '(?, ?, ?, ?)').join(', ')})`,
      chunk.flatMap((key) => [key.kind, key.partnerOrgId, key.platformStationId, key.partnerStationNo]),
    );
    for (const row of rows) fences.set(guardText(row), row.fence);
  }
  return fences;
}

/** Each guard once, in the one order; of several fences the highest. */
function distinct(guards: readonly GuardWithFence[]): GuardWithFence[] {
  const byText = new Map<string, GuardWithFence>();
  for (const guard of guards) {
    const text = guardText(guard.key);
    const known = byText.get(text);
    if (known === undefined || BigInt(guard.fence ?? '0') > BigInt(known.fence ?? '0'))
      byText.set(text, guard);
  }
  return [...byText.values()].sort((left, right) => compareGuards(left.key, right.key));
}

function compareIds(left: string, right: string): number {
  const difference = BigInt(left) - BigInt(right);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
