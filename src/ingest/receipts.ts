/** Receipts in request order: of a push that was just judged, or of one that was accepted before. A page of them is in memory at a time. */
import type { Receipt } from '../domain/receipt.ts';
import type { Refusal } from '../domain/refusal.ts';
import { listReceipts } from '../store/pushed-rows.ts';
import type { Sql } from '../store/sql.ts';
import { parseLine, type ReadPush, type RowLine } from './check-rows.ts';
import type { Verdicts } from './judge-rows.ts';

const PAGE_SIZE = 1_000;

export async function* judgedReceipts(push: ReadPush, verdicts: Verdicts): AsyncGenerator<Receipt[]> {
  for (let from = 0; from < push.rows.length; from += PAGE_SIZE) {
    const page = push.rows.slice(from, from + PAGE_SIZE);
    const lines = await push.lines.lines(page.map((row) => row.line));
    yield lines.map((text, at) => receiptOf(push, verdicts, from + at, parseLine(text)));
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
  const row = push.rows[index]!;
  const refused = refusalOf(push, verdicts, index, line);
  return {
    index,
    partnerStationNo: push.stations[row.stationIndex]!.shownStationNo,
    billYearMonth: line.shownMonth,
    rowId: line.shownRowId,
    receipt: refused === null ? 'ACCEPTED' : 'REFUSED',
    reason: refused?.reason ?? null,
    pointer: refused?.pointer ?? null,
    message: refused?.message ?? null,
    contentHash: row.contentHash,
  };
}

/** The row's first fitting reason: its station's fields, its own, then what was looked up (DEC-16). */
export function refusalOf(push: ReadPush, verdicts: Verdicts, index: number, line: RowLine): Refusal | null {
  const station = push.stations[push.rows[index]!.stationIndex]!;
  return station.refusal ?? line.refusal ?? verdicts.refusals[index] ?? null;
}
