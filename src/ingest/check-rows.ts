/**
 * Reads a push from its source, row by row: each bill is checked on its own, hashed, and laid down as a line in a
 * spool, so that memory does not grow with what partners write into their rows (ING-3, ING-7).
 */
import { hash } from 'node:crypto';
import { toCents } from '../domain/as-written.ts';
import { checkBill, checkStation, type RowRules } from '../domain/check-row.ts';
import type { ControlTotals } from '../domain/push-outcome.ts';
import type { StationValues } from '../domain/pushed-fields.ts';
import { writeRowLine } from '../domain/row-line.ts';
import { ContentDigest } from './content-digest.ts';
import type { IngestLimits } from './limits.ts';
import { LineSpool } from './line-spool.ts';
import { PushLimits } from './push-limits.ts';
import { ReadRows } from './read-rows.ts';
import { ReadStations } from './read-stations.ts';
import type { BillEvent, PointerScheme, SourceEvent, StationEvent, StationSource } from './station-source.ts';
import { TopFields } from './top-fields.ts';

export interface ReadPush extends AsyncDisposable {
  readonly stations: ReadStations;
  readonly rows: ReadRows;
  readonly lines: LineSpool;
  readonly totals: ControlTotals;
  /** The sum of all rents that are amounts. */
  readonly cents: bigint;
  readonly unreadableRents: { readonly count: number; readonly pointers: readonly string[] };
  readonly ignoredFieldCount: number;
  /** Over the normalised rows in request order, and the totals (ING-2). */
  readonly contentDigest: string;
}

const POINTERS_LISTED_MAX = 100;

/** @throws Problem 400 where the body is no push, 413 over a limit */
export async function checkRows(
  pieces: AsyncIterable<Uint8Array>,
  { source, totals }: { readonly source: StationSource; readonly totals: ControlTotals },
  rules: RowRules,
  limits: IngestLimits,
): Promise<ReadPush> {
  const lines = await LineSpool.open(limits.spoolDir);
  try {
    const reading = new Reading(lines, source.pointers, new TopFields(rules.strict, totals), {
      rules,
      limits,
    });
    for await (const batch of source.read(pieces, rules.strict)) {
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

/** Refused by its own fields or its station's; nothing needs to be looked up for it. */
export function isRefusedByItself(push: ReadPush, index: number): boolean {
  return push.rows.isWrong(index) || push.stations.isRefused(push.rows.stationIndex(index));
}

export function billPointer(push: ReadPush, index: number): string {
  return push.stations.billPointer(push.rows.stationIndex(index), push.rows.billStep(index));
}

export function readStationLine(text: string): StationValues {
  return JSON.parse(text) as StationValues;
}

class Reading {
  readonly #lines: LineSpool;
  readonly #rules: RowRules;
  readonly #limits: PushLimits;
  readonly #top: TopFields;
  readonly #pointers: PointerScheme;
  readonly #stations: ReadStations;
  readonly #rows = new ReadRows();
  readonly #digest = new ContentDigest();
  readonly #unreadable: string[] = [];
  #unreadableCount = 0;
  #cents = 0n;
  #ignoredCount = 0;
  /** The first row of the station whose end has not come yet. */
  #openFrom = 0;

  constructor(
    lines: LineSpool,
    pointers: PointerScheme,
    top: TopFields,
    { rules, limits }: { rules: RowRules; limits: IngestLimits },
  ) {
    this.#lines = lines;
    this.#pointers = pointers;
    this.#stations = new ReadStations(pointers);
    this.#rules = rules;
    this.#limits = new PushLimits(limits);
    this.#top = top;
  }

  take(event: SourceEvent): void {
    if (event.kind === 'bill') this.#takeBill(event);
    else if (event.kind === 'station') this.#closeStation(event);
    else this.#top.take(event.name, event.value);
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

  #takeBill(event: BillEvent): void {
    this.#limits.countRow();
    const pointer = this.#pointers.bill(event.stationStep, event.step);
    const bill = checkBill(event.fields, pointer, this.#rules);
    const rentCents = bill.rentReadable ? toCents(bill.values.rent as string) : null;
    this.#rows.push({
      line: this.#lines.append(writeRowLine(bill)),
      stationIndex: this.#stations.length,
      billStep: event.step,
      month: bill.values.billYearMonth as string | null,
      rentCents,
      wrong: bill.refusal !== null,
      contentHash: hash('sha256', bill.content),
    });
    this.#ignoredCount += bill.ignoredCount;
    if (rentCents === null) this.#listUnreadable(pointer);
    else this.#cents += rentCents;
  }

  #closeStation(event: StationEvent): void {
    const station = checkStation(event.fields, '', this.#rules);
    this.#limits.countStation(station.shownStationNo);
    for (let index = this.#openFrom; index < this.#rows.length; index++) {
      const contentHash = hash('sha256', `${station.content}\n${this.#rows.contentHash(index)}`);
      this.#rows.setContentHash(index, contentHash);
      this.#digest.add(contentHash);
    }
    this.#openFrom = this.#rows.length;
    this.#ignoredCount += station.ignoredCount;
    this.#stations.push(event.step, station, () => this.#lines.append(JSON.stringify(station.values)));
  }

  #listUnreadable(pointer: string): void {
    this.#unreadableCount += 1;
    if (this.#unreadable.length < POINTERS_LISTED_MAX) this.#unreadable.push(pointer);
  }
}
