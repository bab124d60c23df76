/**
 * The verdict on a pushed row, from what was looked up: mapping, rows before it in the push, payment locks.
 * All checks stand in their order of precedence (DEC-16); the first that fits refuses the row.
 */
import { pointerTo, type Refusal, refusal } from './refusal.ts';

export interface MappedStation {
  readonly partnerStationId: string;
  /** Null: bills are accepted, their difference will wait for the mapping (DEC-3). */
  readonly platformStationId: string | null;
  readonly activeFromMonth: string;
  readonly activeToMonth: string | null;
}

/** What the payment lock check said of a (platform station, month); no answer is 'UNKNOWN' (ING-4). */
export type LockAnswer = 'FREE' | 'LOCKED' | 'UNKNOWN';

export interface RowToJudge {
  readonly stationNo: string;
  /** Null where the partner sent none. */
  readonly partnerStationId: string | null;
  readonly month: string;
  readonly stationPointer: string;
  readonly billPointer: string;
}

export interface Surroundings {
  readonly mapping: MappedStation | null;
  /** The pointer of the accepted row of the same station and month before this one; a row duplicates only an accepted one. */
  readonly acceptedBefore: string | null;
  readonly lock: LockAnswer;
}

/** @returns null: accepted. The row's own fields have been found right before (check-row). */
export function judgeRow(row: RowToJudge, around: Surroundings): Refusal | null {
  const { mapping } = around;
  if (
    mapping !== null &&
    row.partnerStationId !== null &&
    row.partnerStationId !== mapping.partnerStationId
  ) {
    return refusal(
      'INVALID_FIELD',
      pointerTo(row.stationPointer, 'partnerStationId'),
      `Send partnerStationId as "${mapping.partnerStationId}", which station ${row.stationNo} is registered with, or have the registration changed; it was "${row.partnerStationId}".`,
    );
  }
  if (mapping === null) {
    return refusal(
      'UNKNOWN_STATION',
      pointerTo(row.stationPointer, 'partnerStationNo'),
      `Have station "${row.stationNo}" registered, or correct its number: you have no station of this number.`,
    );
  }
  if (!isActive(mapping, row.month)) {
    return refusal(
      'UNKNOWN_STATION',
      pointerTo(row.billPointer, 'billYearMonth'),
      `Send months of station "${row.stationNo}" ${activePeriod(mapping)} only, or have its registration extended; this bill is of ${row.month}.`,
    );
  }
  if (around.acceptedBefore !== null) {
    return refusal(
      'DUPLICATE_IN_PUSH',
      row.billPointer,
      `Send one bill for station "${row.stationNo}" and month ${row.month}: ${around.acceptedBefore} of this push is the same and was taken.`,
    );
  }
  if (mapping.platformStationId === null || around.lock === 'FREE') return null;
  if (around.lock === 'LOCKED') {
    return refusal(
      'PAYMENT_LOCKED',
      row.billPointer,
      `Send this bill again when the payment that holds ${row.month} of station "${row.stationNo}" is over: until then the month cannot be changed.`,
    );
  }
  return refusal(
    'PAYMENT_CHECK_UNAVAILABLE',
    row.billPointer,
    `Send this bill again later: whether ${row.month} of station "${row.stationNo}" is held by a payment could not be found out.`,
  );
}

export function isActive(mapping: MappedStation, month: string): boolean {
  return (
    mapping.activeFromMonth <= month && (mapping.activeToMonth === null || month <= mapping.activeToMonth)
  );
}

function activePeriod(mapping: MappedStation): string {
  return mapping.activeToMonth === null
    ? `from ${mapping.activeFromMonth}`
    : `from ${mapping.activeFromMonth} to ${mapping.activeToMonth}`;
}
