/**
 * The station entries of a push, by their index. A format that names the station with every bill has as many entries
 * as rows; so an entry is two numbers, and what is the same in many is kept once.
 */
import type { CheckedStation } from '../domain/check-row.ts';
import { type Refusal, refusal } from '../domain/refusal.ts';
import { GrowingColumn } from './columns.ts';
import type { LineRef } from './line-spool.ts';
import type { PointerScheme } from './station-source.ts';

interface StationContent {
  readonly shownStationNo: string | null;
  readonly partnerStationId: string | null;
  /** Its pointer starts at the station. */
  readonly refusal: Refusal | null;
  /** Its values, as JSON. */
  readonly line: LineRef;
}

export class ReadStations {
  readonly #pointers: PointerScheme;
  readonly #step = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #contentIndex = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #contents: StationContent[] = [];
  readonly #known = new Map<string, number>();

  constructor(pointers: PointerScheme) {
    this.#pointers = pointers;
  }

  get length(): number {
    return this.#step.length;
  }

  get contentCount(): number {
    return this.#contents.length;
  }

  /** @param station checked with an empty pointer; @param keep lays its values down, if they are new */
  push(step: number, station: CheckedStation, keep: () => LineRef): void {
    this.#step.push(step);
    this.#contentIndex.push(this.#known.get(station.content) ?? this.#add(station, keep()));
  }

  #add(station: CheckedStation, line: LineRef): number {
    const index = this.#contents.length;
    this.#contents.push({
      shownStationNo: detached(station.shownStationNo),
      partnerStationId: detached(station.values.partnerStationId as string | null),
      refusal: station.refusal,
      line,
    });
    this.#known.set(station.content, index);
    return index;
  }

  /** Entries with equal fields have the same. */
  contentIndex(index: number): number {
    return this.#contentIndex.at(index);
  }

  line(contentIndex: number): LineRef {
    return this.#contents[contentIndex]!.line;
  }

  shownStationNoOf(contentIndex: number): string | null {
    return this.#contents[contentIndex]!.shownStationNo;
  }

  shownStationNo(index: number): string | null {
    return this.#content(index).shownStationNo;
  }

  partnerStationId(index: number): string | null {
    return this.#content(index).partnerStationId;
  }

  isRefused(index: number): boolean {
    return this.#content(index).refusal !== null;
  }

  refusal(index: number): Refusal | null {
    const found = this.#content(index).refusal;
    return found && refusal(found.reason, this.pointer(index) + found.pointer, found.message);
  }

  pointer(index: number): string {
    return this.#pointers.station(this.#step.at(index));
  }

  billPointer(index: number, billStep: number): string {
    return this.#pointers.bill(this.#step.at(index), billStep);
  }

  #content(index: number): StationContent {
    return this.#contents[this.#contentIndex.at(index)]!;
  }
}

/** A copy: a string cut out of the body's text would keep its whole piece of the body in memory. */
function detached(text: string | null): string | null {
  return text === null ? null : Buffer.from(text, 'utf16le').toString('utf16le');
}
