/** Waiting for states, at an interval that costs the measured system next to nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { Place, type PlaceName, placeName } from '../src/domain/place.ts';
import type { Store } from '../src/store/transaction.ts';

const LOOK_EVERY_MS = 50;
const DEADLINE_MS = 20 * 60_000;

export async function untilStationsDone(store: Store, pushIds: readonly string[]): Promise<void> {
  await until(async () => {
    const open = await store.maybeOne(
      "SELECT id FROM fi_async_task WHERE push_id IN (?) AND stage = 'bill-station' AND status <> 2 LIMIT 1",
      [pushIds],
    );
    return open === null;
  });
}

/** @throws Error if a row ends anywhere else: figures of a run that did not do its work are worth nothing */
export async function untilPlaces(store: Store, pushIds: readonly string[], goal: PlaceName): Promise<void> {
  for (const pushId of pushIds) await untilNothingUnderWay(store, pushId);
  const places = await store.many<{ place: number; n: string }>(
    'SELECT place, COUNT(*) n FROM pushed_row_place WHERE push_id IN (?) GROUP BY place',
    [pushIds],
  );
  const elsewhere = places.filter((row) => row.place !== Place[goal]);
  if (elsewhere.length > 0)
    throw new Error(
      `not every row is ${goal}: ${elsewhere.map((row) => `${row.n} ${placeName(row.place)}`).join(', ')}`,
    );
}

/** Looks from the first row that was still under way: rows that have ended stay so, and are not read again. */
async function untilNothingUnderWay(store: Store, pushId: string): Promise<void> {
  const underWay = [Place.STATION_PENDING, Place.DIFF_PENDING, Place.ACCOUNT_PENDING, Place.SNAPSHOT_PENDING];
  let from = 0;
  await until(async () => {
    const open = await store.maybeOne<{ rowNo: number }>(
      'SELECT row_no rowNo FROM pushed_row_place WHERE push_id = ? AND row_no >= ? AND place IN (?) ORDER BY row_no LIMIT 1',
      [pushId, from, underWay],
    );
    from = open?.rowNo ?? from;
    return open === null;
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error('the measured work did not end within twenty minutes');
    await pause(LOOK_EVERY_MS);
  }
}
