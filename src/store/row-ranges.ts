/** Pushed rows by ranges: a station's rows lie together, so a batch is a few literal ranges (a joined BETWEEN scans too much). */
import type { SqlValue } from './sql.ts';

export interface RowRange {
  readonly pushId: string;
  readonly firstRowNo: number;
  readonly lastRowNo: number;
}

/** `alias` must name a table with push_id and row_no. Adjacent ranges become one. */
export function inRanges(
  alias: string,
  ranges: readonly RowRange[],
): { condition: string; values: SqlValue[] } {
  const merged = mergeAdjacent(ranges);
  if (merged.length === 0) return { condition: 'FALSE', values: [] };
  return {
    condition: `(${merged.map(() => `(${alias}.push_id = ? AND ${alias}.row_no BETWEEN ? AND ?)`).join(' OR ')})`,
    values: merged.flatMap((range) => [range.pushId, range.firstRowNo, range.lastRowNo]),
  };
}

export function mergeAdjacent(ranges: readonly RowRange[]): RowRange[] {
  const sorted = [...ranges].sort(compareRanges);
  const merged: RowRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && last.pushId === range.pushId && range.firstRowNo <= last.lastRowNo + 1) {
      merged[merged.length - 1] = { ...last, lastRowNo: Math.max(last.lastRowNo, range.lastRowNo) };
    } else {
      merged.push(range);
    }
  }
  return merged;
}

export function compareRanges(left: RowRange, right: RowRange): number {
  const byPush = BigInt(left.pushId) - BigInt(right.pushId);
  return byPush === 0n ? left.firstRowNo - right.firstRowNo : byPush < 0n ? -1 : 1;
}

/** The same rows in chunks of at most `rowsMax`; a range of more rows than that is cut too. */
export function chunkRanges(ranges: readonly RowRange[], rowsMax: number): RowRange[][] {
  const chunks: RowRange[][] = [];
  let room = 0;
  for (const { pushId, firstRowNo, lastRowNo } of ranges) {
    for (let first = firstRowNo; first <= lastRowNo; ) {
      if (room === 0) {
        chunks.push([]);
        room = rowsMax;
      }
      const last = Math.min(lastRowNo, first + room - 1);
      chunks.at(-1)?.push({ pushId, firstRowNo: first, lastRowNo: last });
      room -= last - first + 1;
      first = last + 1;
    }
  }
  return chunks;
}
