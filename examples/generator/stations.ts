/** 120 roofs: who lives under them, how large they are, and what the contract says. */
import type { Fen } from './fen.ts';
import type { ExamplePartner } from './partners.ts';
import { type County, householdName } from './places.ts';
import { Random } from './random.ts';

export interface ExampleStation {
  readonly partner: ExamplePartner;
  /** From 1, within the partner. */
  readonly number: number;
  readonly county: County;
  readonly town: string;
  readonly partnerStationNo: string;
  readonly partnerStationId: string;
  readonly platformStationId: string;
  readonly platformStationNo: string;
  readonly platformStationName: string;
  readonly projectCompanyId: string;
  readonly projectCompanyName: string;
  readonly householdName: string;
  readonly rentPayMethod: string;
  readonly modules: number;
  /** The household's share of the settlement, in thousandths. */
  readonly shareThousandths: number;
  /** Instalments of the contract that are over before the first month of the example. */
  readonly periodBefore: number;
  /** Rent advanced in the first month, and what is recovered of it in each later one. */
  readonly advance: Fen;
  readonly recovery: Fen;
  readonly activeFromMonth: string;
}

const PAY_METHODS = ['BANK_CARD_MONTHLY', 'BANK_CARD_MONTHLY', 'BANK_CARD_MONTHLY', 'BANK_CARD_QUARTERLY'];
const ADVANCE_SHARE = 0.25;

export function stationsOf(partner: ExamplePartner): ExampleStation[] {
  const random = new Random(`stations of ${partner.orgCode}`);
  return Array.from({ length: partner.stationCount }, (_, index) => stationOf(partner, index + 1, random));
}

function stationOf(partner: ExamplePartner, number: number, random: Random): ExampleStation {
  const county = partner.counties[(number - 1) % partner.counties.length]!;
  const town = random.pick(county.towns);
  const household = householdName(random);
  const modules = random.between(30, 64);
  const serial = String(number).padStart(4, '0');
  return {
    partner,
    number,
    county,
    town,
    partnerStationNo: `${partner.prefix}${county.code}-${serial}`,
    partnerStationId: `${partner.prefix}S${100_200 + number * 7}`,
    platformStationId: String(partner.firstPlatformStationId + number - 1),
    platformStationNo: `PS${county.code}${serial}`,
    platformStationName: `${county.name}${town}镇${household}户用电站`,
    projectCompanyId: `7${county.code}`,
    projectCompanyName: `${county.name}瓦屿新能源有限公司`,
    householdName: household,
    rentPayMethod: random.pick(PAY_METHODS),
    modules,
    shareThousandths: random.between(150, 200),
    periodBefore: random.between(3, 40),
    ...advanceOf(random),
    activeFromMonth: `202${random.between(2, 4)}-0${random.between(1, 9)}`,
  };
}

function advanceOf(random: Random): { advance: Fen; recovery: Fen } {
  if (!random.chance(ADVANCE_SHARE)) return { advance: 0, recovery: 0 };
  const recovery = random.between(2, 5) * 1000;
  return { advance: recovery * 12, recovery };
}
