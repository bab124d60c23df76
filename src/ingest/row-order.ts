/** How the rows of a push are numbered: by station number, then month, so that a station's rows lie together (ING-6). */
import type { ReadPush } from './check-rows.ts';

/** Receipt indexes in the order of row numbers; the row at position 0 has number 1. */
export type RowOrder = Uint32Array;

export function orderRows(push: ReadPush): RowOrder {
  const { rows } = push;
  const ranks = rankStations(push);
  return Uint32Array.from({ length: rows.length }, (_, index) => index).sort(
    (a, b) =>
      ranks[rows.stationIndex(a)]! - ranks[rows.stationIndex(b)]! ||
      rows.monthNumber(a) - rows.monthNumber(b) ||
      a - b,
  );
}

/** For each station entry; entries of one station rank alike. By code units: the same order on every machine. */
function rankStations({ stations }: ReadPush): Uint32Array {
  const numbers = Array.from(
    { length: stations.contentCount },
    (_, at) => stations.shownStationNoOf(at) ?? '',
  );
  const sorted = [...new Set(numbers)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const rankOf = new Map(sorted.map((number, rank) => [number, rank]));
  const contentRanks = numbers.map((number) => rankOf.get(number)!);
  return Uint32Array.from(
    { length: stations.length },
    (_, index) => contentRanks[stations.contentIndex(index)]!,
  );
}

/** A station with an accepted row. Its range may also contain refused rows. */
export interface StationRange {
  readonly partnerStationNo: string;
  /** From 1, inclusive. */
  readonly firstRowNo: number;
  readonly lastRowNo: number;
}

/** @returns the stations that have work to do, and how many the push names in all */
export function stationRanges(
  push: ReadPush,
  order: RowOrder,
  isAccepted: (index: number) => boolean,
): { ranges: StationRange[]; namedCount: number } {
  const ranges: StationRange[] = [];
  let namedCount = 0;
  for (let first = 0; first < order.length; ) {
    const partnerStationNo = stationNoAt(push, order, first);
    let end = first;
    let hasAccepted = false;
    for (; end < order.length && stationNoAt(push, order, end) === partnerStationNo; end++) {
      hasAccepted ||= isAccepted(order[end]!);
    }
    if (hasAccepted) ranges.push({ partnerStationNo, firstRowNo: first + 1, lastRowNo: end });
    if (partnerStationNo !== '') namedCount += 1;
    first = end;
  }
  return { ranges, namedCount };
}

function stationNoAt(push: ReadPush, order: RowOrder, position: number): string {
  return push.stations.shownStationNo(push.rows.stationIndex(order[position]!)) ?? '';
}
