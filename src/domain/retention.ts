/**
 * What keeps the rows of a push whose identity has expired (RET-1): as long as one of these holds, somebody could still
 * re-create what is removed, or point at it. The table is in ARCHITECTURE.md.
 */
import { PLACE_MEANINGS, Place, type PlaceName } from './place.ts';

/** The job's name, as leader and for people who hold it. */
export const RETENTION_JOB = 'retention';

/** In the order in which they are looked at, the cheapest first. */
export const KEEP_REASONS = [
  /** It was replaced under the same identity, whose time is not over. */
  'IDENTITY_LIVE',
  /** Its completion is not numbered: something is, or may be, under way. */
  'OPEN',
  /** A task of it waits, runs, is stopped, or failed and may be run again by a person. */
  'TASK_UNFINISHED',
  /** A committed station is on its way to the difference stage. */
  'HANDOVER_OPEN',
  /** A row waits for work that belongs to no push, or failed with it. */
  'ROW_MAY_GO_ON',
  /** A row is the only word on why a station's month is not in the ledger, not refreshed, or not written at all. */
  'ROW_EXPLAINS',
] as const;
export type KeepReason = (typeof KEEP_REASONS)[number];

/** Rows that go on by themselves, or by a person's retry. */
export const PLACES_THAT_MAY_GO_ON = (Object.keys(Place) as PlaceName[]).filter(
  (name) => PLACE_MEANINGS[name].kind === 'under way' || name.endsWith('_FAILED'),
);

/**
 * Ends that nothing else in the database tells of: completeness counts a cancelled row as sent (COV-5), and inspection
 * lets a bill be outside the ledger, or its account unrefreshed, because its row says so (INV-1).
 */
export const PLACES_THAT_EXPLAIN: readonly PlaceName[] = ['CANCELLED', 'SKIPPED'];
