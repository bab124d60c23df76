/** What a place means to the person who answers for the money. No sentence claims that anything was paid out (COV-4). */
import type { PlaceName } from '../domain/place.ts';

/** Follows "12 rows 1,795.97 CNY". */
export const PLACE_WORDS: Readonly<Record<PlaceName, string>> = {
  CURRENT: 'done: compared, refreshed, and in the figures that payment selection reads',
  NO_SNAPSHOT:
    'refreshed; no payment was opened for their month, so there are no figures to bring up to date',
  PAYMENT_DISABLED: 'compared only: the partner pays its households itself',
  SUPERSEDED: 'overtaken on their way by a later push of the same bill',
  STALE: 'not written: a later version of the bill was there already',
  INVALID: 'refused: wrong in themselves',
  LOCKED: 'refused: a payment occupies their month',
  STATION_FAILED: 'FAILED: nothing of their station was written',
  DIFF_FAILED: 'FAILED: written, but not compared',
  ACCOUNT_FAILED: 'FAILED: compared, but their account was not refreshed',
  SKIPPED: 'SKIPPED: compared, but their account could not be refreshed in three tries',
  SNAPSHOT_FAILED: 'FAILED: refreshed, but the figures that payment reads are older',
  CANCELLED: 'CANCELLED by a person',
  STATION_PENDING: 'under way: waiting to be written',
  DIFF_PENDING: 'under way: written, waiting to be compared',
  ACCOUNT_PENDING: 'under way: compared, waiting for their account',
  SNAPSHOT_PENDING: 'under way: refreshed, waiting for the figures that payment reads',
};

/** First what is done, then what ended otherwise, then what needs somebody, then what is under way. */
export const PLACE_ORDER: readonly PlaceName[] = [
  ...(['CURRENT', 'NO_SNAPSHOT', 'PAYMENT_DISABLED', 'SUPERSEDED', 'STALE'] as const),
  ...(['INVALID', 'LOCKED', 'STATION_FAILED', 'DIFF_FAILED', 'ACCOUNT_FAILED'] as const),
  ...(['SKIPPED', 'SNAPSHOT_FAILED', 'CANCELLED'] as const),
  ...(['STATION_PENDING', 'DIFF_PENDING', 'ACCOUNT_PENDING', 'SNAPSHOT_PENDING'] as const),
];
