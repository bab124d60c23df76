/**
 * What every format of a push is read into: its bills in request order, each followed, sooner or later, by the station
 * it belongs to. A station's own fields come after its bills, because a JSON object may have them in any order;
 * so nothing needs to be kept but the bill at hand.
 */
import type { RawFields, RawValue } from '../domain/raw-value.ts';
import type { SpoolFile } from './spool-file.ts';

export interface BillEvent {
  readonly kind: 'bill';
  readonly fields: RawFields | null;
  /** Its pointer is its station's `billsPointer` and this. */
  readonly step: number;
  readonly billsPointer: string;
}

export interface StationEvent {
  readonly kind: 'station';
  readonly fields: RawFields;
  /** Where the station's own fields are in the body. */
  readonly pointer: string;
  readonly billsPointer: string;
}

export type SourceEvent =
  /** A bill of the station whose end comes next; null fields: it is no object. */
  | BillEvent
  /** The end of a station: its own fields. */
  | StationEvent
  /** A control total, or a field that no push has. */
  | { readonly kind: 'top'; readonly name: string; readonly value: RawValue };

/**
 * Yields what each piece of the spooled body brings.
 * @throws Problem 400 `MALFORMED_BODY` where the body is no push at all
 */
export type StationSource = (spool: SpoolFile) => AsyncIterable<readonly SourceEvent[]>;
