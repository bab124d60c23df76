/**
 * Reads a push from its source, row by row: each bill is checked on its own, hashed, and laid down in a line spool.
 * What stays in memory of a row is some two hundred bytes: where its line is, and what the verdict will need (ING-3, ING-7).
 */
import { hash } from 'node:crypto';
import { toCents } from '../domain/as-written.ts';
import { type CheckedBill, checkBill, checkStation, type RowRules } from '../domain/check-row.ts';
import type { BillValues, StationValues } from '../domain/pushed-fields.ts';
import type { Refusal } from '../domain/refusal.ts';
import { ContentDigest } from './content-digest.ts';
import type { IngestLimits } from './limits.ts';
import { type LineRef, LineSpool } from './line-spool.ts';
import { PushLimits } from './push-limits.ts';
import type { SourceEvent } from './station-source.ts';
import { TopFields } from './top-fields.ts';

/** A station entry of the request. The same station may have several. */
export interface ReadStation {
  readonly pointer: string;
  readonly values: StationValues;
  readonly shownStationNo: string | null;
  readonly refusal: Refusal | null;
}

/** A bill of the request, at the index of its receipt. */
export interface ReadRow {
  readonly pointer: string;
  readonly line: LineRef;
  /** Normalised; null if it is no month. */
  readonly month: string | null;
  /** Normalised; null if it is no amount, which counts 0 (DEC-17). */
  readonly rent: string | null;
  /** A field of the bill itself is wrong; the line says which. */
  readonly wrong: boolean;
  stationIndex: number;
  contentHash: string;
}

/** A row's line in the spool. */
export interface RowLine {
  readonly values: BillValues;
  readonly shownMonth: string | null;
  readonly shownRowId: string | null;
  readonly refusal: Refusal | null;
}

export interface ReadPush extends AsyncDisposable {
  readonly stations: readonly ReadStation[];
  readonly rows: readonly ReadRow[];
  readonly lines: LineSpool;
  readonly totals: { readonly count: number | null; readonly amount: string | null };
  /** The sum of all rents that are amounts. */
  readonly cents: bigint;
  readonly unreadableRents: { readonly count: number; readonly pointers: readonly string[] };
  readonly ignoredFieldCount: number;
  /** Over the normalised rows in request order, and the totals (ING-2). */
  readonly contentDigest: string;
}

const POINTERS_LISTED_MAX = 100;

/**
 * @throws Problem 400 where the body is no push, 413 over a limit
 */
export async function checkRows(
  events: AsyncIterable<readonly SourceEvent[]>,
  rules: RowRules,
  limits: IngestLimits,
): Promise<ReadPush> {
  const lines = await LineSpool.open(limits.spoolDir);
  try {
    const reading = new Reading(lines, rules, limits);
    for await (const batch of events) {
      for (const event of batch) reading.take(event);
      await lines.flushIfFull();
    }
    await lines.flush();
    return reading.end();
  } catch (error) {
    await lines[Symbol.asyncDispose]();
    throw error;
  }
}

class Reading {
  readonly #lines: LineSpool;
  readonly #rules: RowRules;
  readonly #limits: PushLimits;
  readonly #top: TopFields;
  readonly #stations: ReadStation[] = [];
  readonly #rows: ReadRow[] = [];
  readonly #digest = new ContentDigest();
  readonly #unreadable: string[] = [];
  #unreadableCount = 0;
  #cents = 0n;
  #ignoredCount = 0;
  /** The first row of the station whose end has not come yet. */
  #openFrom = 0;

  constructor(lines: LineSpool, rules: RowRules, limits: IngestLimits) {
    this.#lines = lines;
    this.#rules = rules;
    this.#limits = new PushLimits(limits);
    this.#top = new TopFields(rules.strict);
  }

  take(event: SourceEvent): void {
    switch (event.kind) {
      case 'bill':
        this.#takeBill(checkBill(event.fields, event.pointer, this.#rules), event.pointer);
        return;
      case 'station':
        this.#closeStation(event);
        return;
      case 'top':
        this.#top.take(event.name, event.value);
        return;
    }
  }

  end(): ReadPush {
    const totals = this.#top.totals;
    const lines = this.#lines;
    return {
      stations: this.#stations,
      rows: this.#rows,
      lines,
      totals,
      cents: this.#cents,
      unreadableRents: { count: this.#unreadableCount, pointers: this.#unreadable },
      ignoredFieldCount: this.#ignoredCount + this.#top.ignoredCount,
      contentDigest: this.#digest.end(totals),
      [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
    };
  }

  #takeBill(bill: CheckedBill, pointer: string): void {
    this.#limits.countRow();
    const line: RowLine = bill;
    this.#rows.push({
      pointer,
      line: this.#lines.append(lineText(line)),
      month: bill.values.billYearMonth as string | null,
      rent: bill.values.rent as string | null,
      wrong: bill.refusal !== null,
      stationIndex: this.#stations.length,
      contentHash: hash('sha256', bill.content),
    });
    this.#ignoredCount += bill.ignoredCount;
    if (bill.rentReadable) this.#cents += toCents(bill.values.rent as string);
    else this.#listUnreadable(pointer);
  }

  #closeStation(event: SourceEvent & { kind: 'station' }): void {
    const station = checkStation(event.fields, event.pointer, this.#rules);
    this.#limits.countStation(station.shownStationNo);
    for (let at = this.#openFrom; at < this.#rows.length; at++) {
      const row = this.#rows[at]!;
      row.contentHash = hash('sha256', `${station.content}\n${row.contentHash}`);
      this.#digest.add(row.contentHash);
    }
    this.#openFrom = this.#rows.length;
    this.#ignoredCount += station.ignoredCount;
    const { values, shownStationNo, refusal } = station;
    this.#stations.push({ pointer: event.pointer, values, shownStationNo, refusal });
  }

  #listUnreadable(pointer: string): void {
    this.#unreadableCount += 1;
    if (this.#unreadable.length < POINTERS_LISTED_MAX) this.#unreadable.push(pointer);
  }
}

function lineText(line: RowLine): string {
  const { values, shownMonth, shownRowId, refusal } = line;
  return JSON.stringify({ values, shownMonth, shownRowId, refusal });
}

export function parseLine(text: string): RowLine {
  return JSON.parse(text) as RowLine;
}
