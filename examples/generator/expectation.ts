/** What must become of every pushed row, from the scenes alone: the demo compares the system's answers with it. */

import type { Expectation, ExpectedPush, RefusedRow, RowsAndAmount } from '../../src/cli/demo/expectation.ts';
import { type Fen, yuan } from './fen.ts';
import { countedRent, type ExamplePush, examplePushes, type PushedStation } from './pushes.ts';
import {
  BAD_MONTH_TEXT,
  CORRECTED,
  isOneOf,
  LOCKED_BEFORE,
  LOCKED_MEANWHILE,
  NEGATIVE_RENT,
  NO_PLATFORM_STATION,
  NO_SNAPSHOT,
  SNAPSHOT_CANCELLED,
  type StationMonth,
  UNKNOWN_STATION,
} from './scenes.ts';
import { billLock, findStation } from './seeds.ts';

export function expectation(): Expectation {
  const pushes = examplePushes();
  return {
    pushes: pushes.map(expectedPush),
    lockedMeanwhile: {
      file: mainOf(pushes, LOCKED_MEANWHILE).file,
      partnerStationNo: findStation(LOCKED_MEANWHILE).partnerStationNo,
      ...billLock(LOCKED_MEANWHILE),
    },
  };
}

interface Row {
  readonly index: number;
  readonly station: PushedStation;
  readonly billYearMonth: string;
  readonly rent: Fen;
  readonly refusal: string | null;
}

function expectedPush(push: ExamplePush): ExpectedPush {
  const rows = rowsOf(push);
  const accepted = rows.filter((row) => row.refusal === null);
  return {
    file: push.file,
    orgCode: push.partner.orgCode,
    partnerName: push.partner.name,
    paymentFlow: push.partner.paymentFlow,
    kind: push.kind,
    title: push.title,
    requested: sumOf(rows),
    accepted: sumOf(accepted),
    refused: rows.filter((row) => row.refusal !== null).map(refusedRow),
    places: byPlace(rows, (row) => placeOf(push, row, false)),
    placesAfterRepair: byPlace(rows, (row) => placeOf(push, row, true)),
  };
}

function rowsOf(push: ExamplePush): Row[] {
  const seen = new Set<string>();
  return push.body.stations
    .flatMap((station) => station.bills.map((bill) => ({ station, bill })))
    .map(({ station, bill }, index) => {
      const key = `${station.partnerStationNo} ${bill.billYearMonth}`;
      const row = { index, station, billYearMonth: bill.billYearMonth, rent: countedRent(bill) };
      const refusal = seen.has(key) ? 'DUPLICATE_IN_PUSH' : refusalOf(push, row);
      seen.add(key);
      return { ...row, refusal };
    });
}

function refusalOf(push: ExamplePush, row: Omit<Row, 'refusal'>): string | null {
  if (row.billYearMonth === BAD_MONTH_TEXT || isScene(NEGATIVE_RENT, push, row)) return 'INVALID_FIELD';
  if (row.station.partnerStationNo === UNKNOWN_STATION.partnerStationNo) return 'UNKNOWN_STATION';
  if (isScene(LOCKED_BEFORE, push, row)) return 'PAYMENT_LOCKED';
  return null;
}

function placeOf(push: ExamplePush, row: Row, repaired: boolean): string {
  if (row.refusal !== null) return row.refusal === 'PAYMENT_LOCKED' ? 'LOCKED' : 'INVALID';
  if (push.kind === 'late') return 'STALE';
  if (isStation(LOCKED_MEANWHILE, push, row) && !repaired && push.kind === 'main') return 'STATION_FAILED';
  if (push.kind === 'main' && isCorrected(push, row)) return 'SUPERSEDED';
  if (isStation(NO_PLATFORM_STATION, push, row)) return 'DIFF_FAILED';
  if (push.partner.paymentFlow === 'DISABLED') return 'PAYMENT_DISABLED';
  if (isStation(SNAPSHOT_CANCELLED, push, row)) return 'SKIPPED';
  const station = stationNumber(row);
  return isOneOf(NO_SNAPSHOT, push.partner.orgCode, station, row.billYearMonth) ? 'NO_SNAPSHOT' : 'CURRENT';
}

function isCorrected(push: ExamplePush, row: Row): boolean {
  return (
    push.partner === CORRECTED.partner &&
    CORRECTED.stations.includes(stationNumber(row)) &&
    CORRECTED.months.includes(row.billYearMonth)
  );
}

function isScene(scene: StationMonth, push: ExamplePush, row: Omit<Row, 'refusal'>): boolean {
  return isStation(scene, push, row) && scene.month === row.billYearMonth;
}

function isStation(
  scene: { partner: { orgCode: string }; station: number },
  push: ExamplePush,
  row: Omit<Row, 'refusal'>,
): boolean {
  return scene.partner.orgCode === push.partner.orgCode && scene.station === stationNumber(row);
}

function stationNumber(row: Omit<Row, 'refusal'>): number {
  return Number(row.station.partnerStationNo.slice(-4));
}

function mainOf(pushes: readonly ExamplePush[], scene: StationMonth): ExamplePush {
  return pushes.find((push) => push.kind === 'main' && push.partner === scene.partner)!;
}

function refusedRow(row: Row): RefusedRow {
  return {
    index: row.index,
    partnerStationNo: row.station.partnerStationNo,
    billYearMonth: row.billYearMonth,
    reason: row.refusal!,
  };
}

function byPlace(rows: readonly Row[], placeOfRow: (row: Row) => string): Record<string, RowsAndAmount> {
  const groups = Map.groupBy(rows, placeOfRow);
  return Object.fromEntries(
    [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([place, group]) => [place, sumOf(group)]),
  );
}

function sumOf(rows: readonly Row[]): RowsAndAmount {
  return { rows: rows.length, amount: yuan(rows.reduce((sum, row) => sum + row.rent, 0)) };
}
