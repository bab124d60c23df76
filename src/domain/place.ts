/**
 * What has become of a pushed row: exactly one place at every instant (COV-2), and the stage of the funnel
 * that it did not reach (COV-1). Numbers are what the narrow row stores; they never change their meaning.
 */
export const Place = {
  INVALID: 1,
  LOCKED: 2,
  STATION_PENDING: 3,
  STATION_FAILED: 4,
  STALE: 5,
  SUPERSEDED: 6,
  DIFF_PENDING: 7,
  DIFF_FAILED: 8,
  PAYMENT_DISABLED: 9,
  ACCOUNT_PENDING: 10,
  ACCOUNT_FAILED: 11,
  SKIPPED: 12,
  SNAPSHOT_PENDING: 13,
  SNAPSHOT_FAILED: 14,
  NO_SNAPSHOT: 15,
  CURRENT: 16,
  CANCELLED: 17,
} as const;
export type PlaceName = keyof typeof Place;
export type Place = (typeof Place)[PlaceName];

/** The funnel of COV-1, in order. */
export const FUNNEL_STAGES = [
  'requested',
  'valid',
  'unlocked',
  'committed',
  'inDifference',
  'paymentEnabled',
  'refreshed',
  'snapshotCurrent',
] as const;
export type FunnelStage = (typeof FUNNEL_STAGES)[number];

/** How far a row in this place has come: the last funnel stage that it reached, and whether it goes on by itself. */
interface PlaceMeaning {
  readonly reached: FunnelStage;
  readonly kind: 'under way' | 'exception' | 'named end' | 'goal';
}

/** SUPERSEDED and CANCELLED can happen at several stages: their rows carry `leftAt`, which decides (DEC-22). */
export const PLACE_MEANINGS: Readonly<Record<PlaceName, PlaceMeaning>> = {
  INVALID: { reached: 'requested', kind: 'exception' },
  LOCKED: { reached: 'valid', kind: 'exception' },
  STATION_PENDING: { reached: 'unlocked', kind: 'under way' },
  STATION_FAILED: { reached: 'unlocked', kind: 'exception' },
  STALE: { reached: 'unlocked', kind: 'named end' },
  SUPERSEDED: { reached: 'committed', kind: 'named end' },
  DIFF_PENDING: { reached: 'committed', kind: 'under way' },
  DIFF_FAILED: { reached: 'committed', kind: 'exception' },
  PAYMENT_DISABLED: { reached: 'inDifference', kind: 'named end' },
  ACCOUNT_PENDING: { reached: 'paymentEnabled', kind: 'under way' },
  ACCOUNT_FAILED: { reached: 'paymentEnabled', kind: 'exception' },
  SKIPPED: { reached: 'paymentEnabled', kind: 'exception' },
  SNAPSHOT_PENDING: { reached: 'refreshed', kind: 'under way' },
  SNAPSHOT_FAILED: { reached: 'refreshed', kind: 'exception' },
  NO_SNAPSHOT: { reached: 'refreshed', kind: 'named end' },
  CURRENT: { reached: 'snapshotCurrent', kind: 'goal' },
  CANCELLED: { reached: 'unlocked', kind: 'exception' },
};

/** COV-4: rows that had failed go on again, and so their push is under way once more. */
export function isReopening(move: { readonly from: readonly PlaceName[]; readonly to: PlaceName }): boolean {
  const isUnderWay = PLACE_MEANINGS[move.to].kind === 'under way';
  return isUnderWay && move.from.some((place) => PLACE_MEANINGS[place].kind === 'exception');
}

const PLACE_NAMES = new Map<number, PlaceName>(
  Object.entries(Place).map(([name, value]) => [value, name as PlaceName]),
);

/** @throws Error for a number that is no place. */
export function placeName(place: number): PlaceName {
  const name = PLACE_NAMES.get(place);
  if (name === undefined) throw new Error(`${place} is no place`);
  return name;
}

/** The number stored as `left_at` for the funnel stage that a row did not reach. */
export function funnelStageNumber(stage: FunnelStage): number {
  return FUNNEL_STAGES.indexOf(stage);
}
