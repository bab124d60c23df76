/** The three partners. Companies, codes and keys are invented; the keys open nothing but a demo on your own machine. */
import { type County, HENAN_ANHUI, JIANGSU, SHANDONG_HEBEI } from './places.ts';

export interface ExamplePartner {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly name: string;
  readonly paymentFlow: 'ENABLED' | 'DISABLED';
  readonly versioned: boolean;
  readonly tolerance: string;
  readonly demoKey: string;
  /** Starts the partner's station numbers. */
  readonly prefix: string;
  readonly counties: readonly County[];
  readonly stationCount: number;
  readonly firstPlatformStationId: number;
}

export const QINGGENG: ExamplePartner = {
  partnerOrgId: '860101',
  orgCode: 'QINGGENG',
  name: '晴耕阳光能源科技有限公司',
  paymentFlow: 'ENABLED',
  versioned: false,
  tolerance: '0.00',
  demoKey: 'demo-key-qinggeng-7f2c',
  prefix: 'QG',
  counties: SHANDONG_HEBEI,
  stationCount: 60,
  firstPlatformStationId: 31_000_001,
};

/** Sends the date of its export with every row, and has agreed on five fen of rounding. */
export const HEGUANG: ExamplePartner = {
  partnerOrgId: '860102',
  orgCode: 'HEGUANG',
  name: '屋上禾光新能源有限公司',
  paymentFlow: 'ENABLED',
  versioned: true,
  tolerance: '0.05',
  demoKey: 'demo-key-heguang-b81e',
  prefix: 'HG',
  counties: HENAN_ANHUI,
  stationCount: 40,
  firstPlatformStationId: 32_000_001,
};

/** Pays its households itself: its bills are compared, but not paid through the platform. */
export const NUANYAN: ExamplePartner = {
  partnerOrgId: '860103',
  orgCode: 'NUANYAN',
  name: '暖檐光伏服务有限公司',
  paymentFlow: 'DISABLED',
  versioned: false,
  tolerance: '0.00',
  demoKey: 'demo-key-nuanyan-4d09',
  prefix: 'NY',
  counties: JIANGSU,
  stationCount: 20,
  firstPlatformStationId: 33_000_001,
};

export const PARTNERS: readonly ExamplePartner[] = [QINGGENG, HEGUANG, NUANYAN];
