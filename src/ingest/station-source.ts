/**
 * What every format of a push is read into: its bills in request order, each followed, sooner or later, by the station
 * it belongs to. A station's own fields come after its bills, because a JSON object may have them in any order;
 * so nothing needs to be kept but the bill at hand.
 */
import type { RawFields, RawValue } from '../domain/raw-value.ts';

export interface BillEvent {
  readonly kind: 'bill';
  /** Null: it is no object. */
  readonly fields: RawFields | null;
  /** Of the station whose end comes next. */
  readonly stationStep: number;
  readonly step: number;
}

/** The end of a station: its own fields. */
export interface StationEvent {
  readonly kind: 'station';
  readonly fields: RawFields;
  readonly step: number;
}

/** A control total, or a field that no push has. */
export interface TopEvent {
  readonly kind: 'top';
  readonly name: string;
  readonly value: RawValue;
}

export type SourceEvent = BillEvent | StationEvent | TopEvent;

/** How this format's steps are pointed at, so that a row costs two numbers and no text. */
export interface PointerScheme {
  station(step: number): string;
  bill(stationStep: number, billStep: number): string;
}

export interface StationSource {
  readonly pointers: PointerScheme;
  /**
   * Yields what each piece of the body brings. A piece may end anywhere, and need not be valid after the next one came.
   * @param strict unknown fields refuse what they stand in (DEC-1)
   * @throws Problem 400 `MALFORMED_BODY` where the body is no push at all, 413 over a limit of the format
   */
  read(pieces: AsyncIterable<Uint8Array>, strict: boolean): AsyncIterable<readonly SourceEvent[]>;
}
