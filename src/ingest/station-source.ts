/**
 * What every format of a push is read into: its bills in request order, each followed, sooner or later, by the station
 * it belongs to. A station's own fields come after its bills, because a JSON object may have them in any order;
 * so nothing needs to be kept but the bill at hand.
 */
import type { RawFields, RawValue } from '../domain/raw-value.ts';
import type { SpoolFile } from './spool-file.ts';

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
   * Yields what each piece of the spooled body brings.
   * @throws Problem 400 `MALFORMED_BODY` where the body is no push at all
   */
  read(spool: SpoolFile): AsyncIterable<readonly SourceEvent[]>;
}
