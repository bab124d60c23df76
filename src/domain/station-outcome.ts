/** What the stations of a push have come to, as the station stage sees it (STA-18). */

export interface StationTaskCounts {
  readonly total: number;
  /** Not ended, never failed, never crashed, not stopped. */
  readonly inFirstAttempt: number;
  readonly succeeded: number;
}

export type StationOutcome = 'SUCCESS' | 'PARTIAL_SUCCESS' | 'FAILED' | 'SKIPPED';

/** Null while a station is in its first attempt; later retries change what was said (DEC-21). */
export function stationOutcome(counts: StationTaskCounts): StationOutcome | null {
  if (counts.total === 0) return 'SKIPPED';
  if (counts.inFirstAttempt > 0) return null;
  if (counts.succeeded === counts.total) return 'SUCCESS';
  return counts.succeeded === 0 ? 'FAILED' : 'PARTIAL_SUCCESS';
}
