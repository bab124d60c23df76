/**
 * What goes wrong in the example, and where: each thing has a cause that happens in real life.
 * A place is (partner, station number within the partner, month); nothing of it is drawn at random.
 */
import { type ExamplePartner, HEGUANG, QINGGENG } from './partners.ts';

export interface StationMonth {
  readonly partner: ExamplePartner;
  readonly station: number;
  readonly month: string;
}

/** The clerk's spreadsheet wrote the month its own way. */
export const BAD_MONTH: StationMonth = { partner: QINGGENG, station: 14, month: '2026-10' };
export const BAD_MONTH_TEXT = '2026/10';

/** A correction was booked as a negative rent, which no bill can have. */
export const NEGATIVE_RENT: StationMonth = { partner: QINGGENG, station: 27, month: '2026-03' };
export const NEGATIVE_RENT_TEXT = '-56.20';

/** The export ran over a page's end and wrote one bill twice. */
export const DUPLICATE: StationMonth = { partner: HEGUANG, station: 9, month: '2026-06' };

/** A roof that was sold and is mapped to nobody any more. */
export const UNKNOWN_STATION = { partner: HEGUANG, partnerStationNo: 'HG411621-0999', month: '2026-10' };

/** A payment occupies this month already when the push comes (ING-4). */
export const LOCKED_BEFORE: StationMonth = { partner: QINGGENG, station: 33, month: '2026-04' };

/** A payment takes this month between the acceptance of the push and its work (STA-9). */
export const LOCKED_MEANWHILE: StationMonth = { partner: QINGGENG, station: 41, month: '2026-09' };

/** Mapped, but nobody has said yet which platform station it is (DEC-3). */
export const NO_PLATFORM_STATION = { partner: HEGUANG, station: 22 };

/** An operator cancelled this station's snapshot task; until a person decides, its account cannot go on (SNP-1). */
export const SNAPSHOT_CANCELLED = { partner: HEGUANG, station: 31 };
export const SNAPSHOT_CANCELLED_REASON =
  'Roof under legal dispute: its payment read model is frozen until the case is decided';

/** Meters were read with a wrong factor: a correction overtakes the month's file (SUPERSEDED). */
export const CORRECTED = {
  partner: QINGGENG,
  stations: [5, 18, 52],
  months: ['2026-08', '2026-09', '2026-10'],
};
export const CORRECTED_REMARK = '电表倍率更正';

/** September's export, found unsent in an outbox and sent after October's (STALE). */
export const LATE = { partner: HEGUANG, stations: [3, 12], months: ['2026-08', '2026-09'] };
export const DATA_VERSION = { main: 20261031, late: 20260930 };

/** Nobody has opened a payment for these yet, so there is no snapshot row to refresh (SNP-3). */
export const NO_SNAPSHOT: readonly StationMonth[] = [
  { partner: QINGGENG, station: 2, month: '2026-10' },
  { partner: QINGGENG, station: 23, month: '2026-10' },
  { partner: QINGGENG, station: 46, month: '2026-09' },
  { partner: QINGGENG, station: 46, month: '2026-10' },
  { partner: HEGUANG, station: 16, month: '2026-10' },
  { partner: HEGUANG, station: 35, month: '2026-10' },
];

/** Our side has no account of this roof at all: its bills are the partner's alone. */
export const NO_PLATFORM_ACCOUNT = { partner: QINGGENG, station: 57 };

/** The partner sent nothing for these months although the roof is active (COV-5). */
export const NEVER_SENT: readonly StationMonth[] = [
  { partner: QINGGENG, station: 38, month: '2026-10' },
  { partner: HEGUANG, station: 27, month: '2026-10' },
];

export function isAt(place: StationMonth, orgCode: string, station: number, month: string): boolean {
  return place.partner.orgCode === orgCode && place.station === station && place.month === month;
}

export function isOneOf(
  places: readonly StationMonth[],
  orgCode: string,
  station: number,
  month: string,
): boolean {
  return places.some((place) => isAt(place, orgCode, station, month));
}
