/**
 * What a push has come to, from one reading of its rows' places (COV-1, COV-2, COV-4, DEC-22). Pure arithmetic: every
 * number here is a sum over the same groups, so the stages, the losses and the places add up by construction.
 */
import { centsText, toCents } from './as-written.ts';
import {
  FUNNEL_STAGES,
  type FunnelStage,
  PLACE_MEANINGS,
  Place,
  type PlaceName,
  placeName,
} from './place.ts';

/** Rows that are alike in where they are and why. */
export interface PlaceGroup {
  readonly place: number;
  /** The number of the stage that they did not reach; null while under way or at the goal. */
  readonly leftAt: number | null;
  readonly reason: string | null;
  readonly rows: number;
  /** Sum of the pushed rent, CNY with two decimals. */
  readonly amount: string;
}

/** COV-0: never rows without money. */
export interface Share {
  readonly rows: number;
  readonly amount: string;
}

export interface FunnelStep extends Share {
  readonly stage: FunnelStage;
  /** Reached the stage before, and will not reach this one. */
  readonly dropped: readonly (Share & { readonly reason: string })[];
  /** Reached the stage before, and is on its way to this one. */
  readonly pending: Share;
}

export type PushState = 'IN_PROGRESS' | 'COMPLETE' | 'COMPLETE_WITH_EXCEPTIONS';

export function funnelOf(groups: readonly PlaceGroup[]): FunnelStep[] {
  return FUNNEL_STAGES.map((stage, number) => ({
    stage,
    ...shareOf(groups.filter((group) => reachedNumber(group) >= number)),
    dropped: droppedAt(groups, number),
    pending: shareOf(groups.filter((group) => isPendingAt(group, number))),
  }));
}

/** Every place of the closed set, empty ones too, in the order of the chain. */
export function placesOf(groups: readonly PlaceGroup[]): (Share & { readonly place: PlaceName })[] {
  return (Object.keys(Place) as PlaceName[]).map((place) => ({
    place,
    ...shareOf(groups.filter((group) => group.place === Place[place])),
  }));
}

/** COV-4. Stopped work is under way; named ends are no exceptions. */
export function stateOf(groups: readonly PlaceGroup[]): PushState {
  const kinds = new Set(groups.filter((group) => group.rows > 0).map((group) => meaningOf(group).kind));
  if (kinds.has('under way')) return 'IN_PROGRESS';
  return kinds.has('exception') ? 'COMPLETE_WITH_EXCEPTIONS' : 'COMPLETE';
}

function droppedAt(groups: readonly PlaceGroup[], number: number): (Share & { reason: string })[] {
  const byReason = new Map<string, PlaceGroup[]>();
  for (const group of groups) {
    if (!hasEnded(group) || reachedNumber(group) !== number - 1) continue;
    const reason = group.reason ?? placeName(group.place);
    byReason.set(reason, [...(byReason.get(reason) ?? []), group]);
  }
  return [...byReason]
    .map(([reason, members]) => ({ reason, ...shareOf(members) }))
    .sort((a, b) => b.rows - a.rows || (a.reason < b.reason ? -1 : 1));
}

function isPendingAt(group: PlaceGroup, number: number): boolean {
  return meaningOf(group).kind === 'under way' && reachedNumber(group) === number - 1;
}

function hasEnded(group: PlaceGroup): boolean {
  const { kind } = meaningOf(group);
  return kind === 'exception' || kind === 'named end';
}

/** Where a place can be left at several stages, the row itself says at which (DEC-22). */
function reachedNumber(group: PlaceGroup): number {
  if (hasEnded(group) && group.leftAt !== null) return group.leftAt - 1;
  return FUNNEL_STAGES.indexOf(meaningOf(group).reached);
}

function meaningOf(group: PlaceGroup) {
  return PLACE_MEANINGS[placeName(group.place)];
}

export function shareOf(groups: readonly PlaceGroup[]): Share {
  let rows = 0;
  let cents = 0n;
  for (const group of groups) {
    rows += group.rows;
    cents += toCents(group.amount);
  }
  return { rows, amount: centsText(cents) };
}
