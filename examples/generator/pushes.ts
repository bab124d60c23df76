/** What the partners send: one file per push, with the errors that people and programs make. */
import { billsOf, type ExampleBill, type PushedBill, pushedBill } from './bills.ts';
import { type Fen, yuan } from './fen.ts';
import { type ExamplePartner, HEGUANG, NUANYAN, QINGGENG } from './partners.ts';
import {
  BAD_MONTH,
  BAD_MONTH_TEXT,
  CORRECTED,
  CORRECTED_REMARK,
  DATA_VERSION,
  DUPLICATE,
  isAt,
  isOneOf,
  LATE,
  NEGATIVE_RENT,
  NEGATIVE_RENT_TEXT,
  NEVER_SENT,
  UNKNOWN_STATION,
} from './scenes.ts';
import { type ExampleStation, stationsOf } from './stations.ts';

export interface PushedStation {
  partnerStationNo: string;
  partnerStationId?: string;
  householdName: string;
  rentPayMethod: string;
  bills: PushedBill[];
}

export interface PushBody {
  stations: PushedStation[];
  totalCount: number;
  totalAmount: string;
}

export interface ExamplePush {
  /** Within `examples/pushes/`. */
  readonly file: string;
  readonly partner: ExamplePartner;
  /** `main` is a partner's file of the month; the other two meet it on the way. */
  readonly kind: 'main' | 'correction' | 'late';
  readonly title: string;
  readonly body: PushBody;
}

export function examplePushes(): ExamplePush[] {
  return [
    main('1-qinggeng.json', QINGGENG, 'twelve months up to October 2026'),
    main('2-heguang.json', HEGUANG, 'twelve months up to October 2026, export of 31 October'),
    main('3-nuanyan.json', NUANYAN, 'twelve months up to October 2026'),
    correction('4-qinggeng-correction.json'),
    late('5-heguang-september.json'),
  ];
}

function main(file: string, partner: ExamplePartner, title: string): ExamplePush {
  const stations = stationsOf(partner).map(monthsFileOf);
  if (partner === UNKNOWN_STATION.partner) stations.push(unknownStation());
  return { file, partner, kind: 'main', title, body: withTotals(stations) };
}

function correction(file: string): ExamplePush {
  const stations = pickedStations(CORRECTED).map((station) =>
    pushedStation(
      station,
      pickedBills(station, CORRECTED.months).map((bill) => ({
        ...pushedBill(correctedBill(bill), dataVersionOf(station.partner, 'main')),
        isSupplement: true,
      })),
    ),
  );
  const title = 'corrected meter factor, August to October 2026';
  return { file, partner: CORRECTED.partner, kind: 'correction', title, body: withTotals(stations) };
}

function late(file: string): ExamplePush {
  const stations = pickedStations(LATE).map((station) =>
    pushedStation(
      station,
      pickedBills(station, LATE.months).map((bill) =>
        pushedBill({ ...bill, rent: bill.rent - 150 }, DATA_VERSION.late),
      ),
    ),
  );
  const title = 'export of 30 September, sent after the one of 31 October';
  return { file, partner: LATE.partner, kind: 'late', title, body: withTotals(stations) };
}

/** The corrected factor gives a twelfth more. */
export function correctedBill(bill: ExampleBill): ExampleBill {
  return {
    ...bill,
    settlement: Math.round((bill.settlement * 13) / 12),
    rent: Math.round((bill.rent * 13) / 12),
    remark: CORRECTED_REMARK,
  };
}

function monthsFileOf(station: ExampleStation): PushedStation {
  const { orgCode } = station.partner;
  const bills = billsOf(station)
    .filter((bill) => !isOneOf(NEVER_SENT, orgCode, station.number, bill.month))
    .flatMap((bill) => {
      const pushed = pushedBill(bill, dataVersionOf(station.partner, 'main'));
      if (isAt(BAD_MONTH, orgCode, station.number, bill.month)) pushed.billYearMonth = BAD_MONTH_TEXT;
      if (isAt(NEGATIVE_RENT, orgCode, station.number, bill.month)) pushed.rent = NEGATIVE_RENT_TEXT;
      return isAt(DUPLICATE, orgCode, station.number, bill.month) ? [pushed, pushed] : [pushed];
    });
  return pushedStation(station, bills);
}

function pushedStation(station: ExampleStation, bills: PushedBill[]): PushedStation {
  return {
    partnerStationNo: station.partnerStationNo,
    partnerStationId: station.partnerStationId,
    householdName: station.householdName,
    rentPayMethod: station.rentPayMethod,
    bills,
  };
}

function unknownStation(): PushedStation {
  const { partner, partnerStationNo, month } = UNKNOWN_STATION;
  const station = { ...stationsOf(partner)[0]!, partnerStationNo, householdName: '蒋来福' };
  const bill = billsOf(station).find((candidate) => candidate.month === month)!;
  const { partnerStationId: _, ...unmapped } = pushedStation(station, [
    pushedBill(bill, dataVersionOf(partner, 'main')),
  ]);
  return unmapped;
}

function pickedStations(scene: { partner: ExamplePartner; stations: readonly number[] }): ExampleStation[] {
  return stationsOf(scene.partner).filter((station) => scene.stations.includes(station.number));
}

function pickedBills(station: ExampleStation, months: readonly string[]): ExampleBill[] {
  return billsOf(station).filter((bill) => months.includes(bill.month));
}

function dataVersionOf(partner: ExamplePartner, kind: 'main' | 'late'): number | null {
  return partner.versioned ? DATA_VERSION[kind] : null;
}

function withTotals(stations: PushedStation[]): PushBody {
  const bills = stations.flatMap((station) => station.bills);
  return {
    stations,
    totalCount: bills.length,
    totalAmount: yuan(bills.reduce((sum, bill) => sum + countedRent(bill), 0)),
  };
}

/** A rent that is no valid amount counts 0 in every total (DEC-17). */
export function countedRent(bill: PushedBill): Fen {
  return /^\d{1,16}\.\d{2}$/.test(bill.rent) ? Number(bill.rent.replace('.', '')) : 0;
}
