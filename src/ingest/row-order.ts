/** How the rows of a push are numbered: by station number, then month, so that a station's rows lie together (ING-6). */
import type { ReadPush } from './check-rows.ts';
import type { Verdicts } from './judge-rows.ts';

/** A station with an accepted row. Its range may also contain refused rows. */
export interface StationRange {
  readonly partnerStationNo: string;
  /** From 1, inclusive. */
  readonly firstRowNo: number;
  readonly lastRowNo: number;
}

export interface RowOrder {
  /** Receipt indexes in the order of row numbers, which start at 1. */
  readonly rowIndexes: readonly number[];
  readonly stations: readonly StationRange[];
  /** All stations that the push names, also those without an accepted row. */
  readonly stationCount: number;
}

export function orderRows(push: ReadPush, verdicts: Verdicts): RowOrder {
  const numberOf = (index: number): string =>
    push.stations[push.rows[index]!.stationIndex]!.shownStationNo ?? '';
  const monthOf = (index: number): string => push.rows[index]!.month ?? '';
  const rowIndexes = push.rows
    .map((_, index) => index)
    .sort((a, b) => compare(numberOf(a), numberOf(b)) || compare(monthOf(a), monthOf(b)) || a - b);
  const stations: StationRange[] = [];
  let stationCount = 0;
  for (let first = 0; first < rowIndexes.length; ) {
    const partnerStationNo = numberOf(rowIndexes[first]!);
    let end = first;
    let accepted = false;
    for (; end < rowIndexes.length && numberOf(rowIndexes[end]!) === partnerStationNo; end++) {
      accepted ||= verdicts.isAccepted(rowIndexes[end]!);
    }
    if (accepted) stations.push({ partnerStationNo, firstRowNo: first + 1, lastRowNo: end });
    if (partnerStationNo !== '') stationCount += 1;
    first = end;
  }
  return { rowIndexes, stations, stationCount };
}

/** By code units: the same order everywhere, whatever the machine's language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
