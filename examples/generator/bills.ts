/** Twelve months of income of a roof, as its partner reckons it. */
import { type Fen, yuan, yuanOrNothing } from './fen.ts';
import { Random } from './random.ts';
import type { ExampleStation } from './stations.ts';

/** Fixed, and in the past: the files stay valid for ever (DEC-2). */
export const MONTHS = [
  ...['2025-11', '2025-12', '2026-01', '2026-02', '2026-03', '2026-04'],
  ...['2026-05', '2026-06', '2026-07', '2026-08', '2026-09', '2026-10'],
];
/** Hours of full sun in each of MONTHS, about as in the north China plain. */
const SUN_HOURS = [78, 70, 72, 82, 110, 122, 134, 128, 117, 113, 103, 96];
const MODULE_WATTS = 550;
const FREEZE_SHARE = 0.02;
const CURTAILED_SHARE = 0.03;

export interface ExampleBill {
  readonly station: ExampleStation;
  readonly month: string;
  readonly settlement: Fen;
  readonly rent: Fen;
  readonly preRent: Fen;
  readonly freeze: Fen;
  readonly deduction: Fen;
  readonly period: number;
  readonly remark?: string;
}

export function billsOf(station: ExampleStation): ExampleBill[] {
  const random = new Random(`bills of ${station.partnerStationNo}`);
  return MONTHS.map((month, index) => billOf(station, month, index, random));
}

function billOf(station: ExampleStation, month: string, index: number, random: Random): ExampleBill {
  const curtailed = random.chance(CURTAILED_SHARE);
  const weather = (curtailed ? 70 : 90) + random.between(0, 20);
  // W × h × weather % × 1/10000 CNY per kWh, in fen: whole numbers up to the one division.
  const settlement = Math.round(
    (station.modules * MODULE_WATTS * SUN_HOURS[index]! * weather * station.county.tariff) / 10_000_000,
  );
  const rent = Math.round((settlement * station.shareThousandths) / 1000);
  return {
    station,
    month,
    settlement,
    rent,
    preRent: index === 0 ? station.advance : 0,
    freeze: random.chance(FREEZE_SHARE) ? random.between(1, 4) * 1000 : 0,
    deduction: index === 0 ? 0 : Math.min(station.recovery, rent),
    period: station.periodBefore + index + 1,
    ...(curtailed ? { remark: '限电，发电量偏低' } : {}),
  };
}

/** As the API takes it (HTTP, fixed); what is zero is left out, as partners do. */
export interface PushedBill {
  billYearMonth: string;
  settlementAmount: string;
  shareRatio: string;
  period: number;
  sharingBlockCount: number;
  unitPrice: string;
  rent: string;
  preRent?: string;
  freezeAmount?: string;
  deductionAmount?: string;
  remark?: string;
  settlementBatchNo: string;
  isSupplement?: boolean;
  dataVersion?: number;
  rowId: string;
}

export function pushedBill(bill: ExampleBill, dataVersion: number | null): PushedBill {
  const { station } = bill;
  const compactMonth = bill.month.replace('-', '');
  return withoutUndefined({
    billYearMonth: bill.month,
    settlementAmount: yuan(bill.settlement),
    shareRatio: (station.shareThousandths / 1000).toFixed(3),
    period: bill.period,
    sharingBlockCount: station.modules,
    unitPrice: (station.county.tariff / 10_000).toFixed(4),
    rent: yuan(bill.rent),
    preRent: yuanOrNothing(bill.preRent),
    freezeAmount: yuanOrNothing(bill.freeze),
    deductionAmount: yuanOrNothing(bill.deduction),
    remark: bill.remark,
    settlementBatchNo: `${compactMonth}-${station.county.code}`,
    dataVersion: dataVersion ?? undefined,
    rowId: `${station.partnerStationNo}/${compactMonth}`,
  }) as unknown as PushedBill;
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
