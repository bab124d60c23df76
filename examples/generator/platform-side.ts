/** Our own accounts and bills for the same roofs: most are equal to the partner's, some differ, some are missing. */
import type { PlatformAccountSeed, PlatformBillSeed } from '../../src/store/example-bills.ts';
import { billsOf, type ExampleBill } from './bills.ts';
import { type Fen, yuan } from './fen.ts';
import { correctedBill } from './pushes.ts';
import { Random } from './random.ts';
import { CORRECTED, NO_PLATFORM_ACCOUNT, NO_PLATFORM_STATION } from './scenes.ts';
import type { ExampleStation } from './stations.ts';

const MISSING_SHARE = 0.03;
const ROUNDED_SHARE = 0.04;
const DIFFERENT_SHARE = 0.04;

export function hasPlatformAccount(station: ExampleStation): boolean {
  return [NO_PLATFORM_ACCOUNT, NO_PLATFORM_STATION].every((scene) => !isStation(station, scene));
}

export function platformAccountOf(station: ExampleStation): PlatformAccountSeed {
  return {
    partnerOrgId: station.partner.partnerOrgId,
    platformStationId: station.platformStationId,
    platformStationNo: station.platformStationNo,
  };
}

export function platformBillsOf(station: ExampleStation): PlatformBillSeed[] {
  const random = new Random(`platform bills of ${station.partnerStationNo}`);
  return billsOf(station).flatMap((bill) => {
    const draw = random.next();
    const cents = random.between(1, 4);
    const more = random.between(8, 320);
    if (draw < MISSING_SHARE) return [];
    if (draw < MISSING_SHARE + ROUNDED_SHARE) return [platformBill(bill, bill.rent + cents)];
    if (draw < MISSING_SHARE + ROUNDED_SHARE + DIFFERENT_SHARE) return [platformBill(bill, bill.rent - more)];
    return [isCorrected(bill) ? platformBill(correctedBill(bill)) : platformBill(bill)];
  });
}

function platformBill(bill: ExampleBill, rent: Fen = bill.rent): PlatformBillSeed {
  return {
    partnerOrgId: bill.station.partner.partnerOrgId,
    platformStationId: bill.station.platformStationId,
    billYearMonth: bill.month,
    settlementAmount: yuan(bill.settlement),
    rent: yuan(rent),
    preRent: yuan(bill.preRent),
    freezeAmount: yuan(bill.freeze),
    deductionAmount: yuan(bill.deduction),
  };
}

function isStation(
  station: ExampleStation,
  scene: { partner: { orgCode: string }; station: number },
): boolean {
  return station.partner.orgCode === scene.partner.orgCode && station.number === scene.station;
}

function isCorrected(bill: ExampleBill): boolean {
  return (
    bill.station.partner.orgCode === CORRECTED.partner.orgCode &&
    CORRECTED.stations.includes(bill.station.number) &&
    CORRECTED.months.includes(bill.month)
  );
}
