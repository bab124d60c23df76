/** Receipts in request order: of a push that was just judged, or of one that was accepted before. A page of them is in memory at a time. */
import type { Receipt } from '../domain/receipt.ts';
import type { Refusal } from '../domain/refusal.ts';
import { type RowLine, readRowLine } from '../domain/row-line.ts';
import { listReceipts } from '../store/pushed-rows.ts';
import type { Sql } from '../store/sql.ts';
import type { ReadPush } from './check-rows.ts';
import type { Verdicts } from './verdicts.ts';

const PAGE_SIZE = 1_000;

export async function* judgedReceipts(push: ReadPush, verdicts: Verdicts): AsyncGenerator<Receipt[]> {
  for (let from = 0; from < push.rows.length; from += PAGE_SIZE) {
    const indexes = rangeOf(from, Math.min(from + PAGE_SIZE, push.rows.length));
    const lines = await push.lines.lines(indexes.map((index) => push.rows.line(index)));
    yield indexes.map((index, at) => receiptOf(push, verdicts, index, readRowLine(lines[at]!)));
  }
}

export async function* storedReceipts(sql: Sql, pushId: string): AsyncGenerator<Receipt[]> {
  for (let after = -1; ; ) {
    const page = await listReceipts(sql, pushId, after, PAGE_SIZE);
    if (page.length > 0) yield page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)!.index;
  }
}

function receiptOf(push: ReadPush, verdicts: Verdicts, index: number, line: RowLine): Receipt {
  const refused = refusalOf(push, verdicts, index, line);
  return {
    index,
    partnerStationNo: push.stations.shownStationNo(push.rows.stationIndex(index)),
    billYearMonth: line.shownMonth,
    rowId: line.shownRowId,
    receipt: refused === null ? 'ACCEPTED' : 'REFUSED',
    reason: refused?.reason ?? null,
    pointer: refused?.pointer ?? null,
    message: refused?.message ?? null,
    contentHash: push.rows.contentHash(index),
  };
}

/** The row's first fitting reason: its station's fields, its own, then what was looked up (DEC-16). */
export function refusalOf(push: ReadPush, verdicts: Verdicts, index: number, line: RowLine): Refusal | null {
  const stationRefusal = push.stations.refusal(push.rows.stationIndex(index));
  return stationRefusal ?? line.refusal ?? verdicts.refusal(index);
}

function rangeOf(from: number, end: number): number[] {
  return Array.from({ length: end - from }, (_, at) => from + at);
}
