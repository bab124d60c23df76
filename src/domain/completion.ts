/** What is kept of a push that has come to its end, for now: a retry may reopen it (COV-4). */
import { type PlaceGroup, type PushState, type Share, shareOf, stateOf } from './funnel.ts';
import { PLACE_MEANINGS, placeName } from './place.ts';

export interface Completion extends Share {
  readonly state: Exclude<PushState, 'IN_PROGRESS'>;
  /** Of all rows: what was refused, failed or skipped. */
  readonly exceptions: Share;
}

/** @returns null while anything of it is under way */
export function completionOf(groups: readonly PlaceGroup[]): Completion | null {
  const state = stateOf(groups);
  if (state === 'IN_PROGRESS') return null;
  const exceptions = groups.filter((group) => PLACE_MEANINGS[placeName(group.place)].kind === 'exception');
  return { state, ...shareOf(groups), exceptions: shareOf(exceptions) };
}
