/** The difference ledger, its monthly summaries, and the read model for payment (DIF, SNP). */
import { defineEntity, p } from '@mikro-orm/core';
import {
  counter,
  createdAt,
  flag,
  id,
  instant,
  money,
  month,
  projection,
  sumOfMoney,
  text,
} from './columns.ts';

const side = <Prefix extends 'partner' | 'platform' | 'diff'>(prefix: Prefix) =>
  Object.fromEntries(
    ['Settlement', 'Rent', 'PreRent', 'Freeze', 'Deduction'].map((name) => [
      `${prefix}${name}`,
      money().default('0.00'),
    ]),
  ) as Record<
    `${Prefix}${'Settlement' | 'Rent' | 'PreRent' | 'Freeze' | 'Deduction'}`,
    ReturnType<typeof money>
  >;

export const IncomeDifference = defineEntity({
  name: 'IncomeDifference',
  tableName: 'fi_monthly_income_difference',
  uniques: [{ name: 'uk_income_difference', properties: ['partnerOrgId', 'stationId', 'shareMonth'] }],
  indexes: [{ name: 'idx_difference_project', properties: ['projectCompanyId', 'shareMonth'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    /** The platform station. */
    stationId: id(),
    shareMonth: month(),
    projectCompanyId: id(),
    partnerBillId: id().nullable(),
    platformBillId: id().nullable(),
    partnerAccountId: id().nullable(),
    platformAccountId: id().nullable(),
    ...side('partner'),
    ...side('platform'),
    ...side('diff'),
    status: text(16),
    bothSidesReady: flag(),
    partnerQueryStatus: text(16).nullable(),
    preRentCheckResult: text(8).nullable(),
    preRentCheckReason: text(255).nullable(),
    ...projection(),
    /** The order number of the partner side (DIF-5). */
    acceptNo: id().defaultRaw('0'),
    dataVersion: id().defaultRaw('0'),
    financialVersion: p.integer().default(1),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

export const ProjectIncomeDifference = defineEntity({
  name: 'ProjectIncomeDifference',
  tableName: 'fi_project_income_difference',
  properties: {
    projectCompanyId: id().primary(),
    shareMonth: month().primary(),
    differenceCount: counter(),
    matchedCount: counter(),
    mismatchedCount: counter(),
    partnerOnlyCount: counter(),
    platformOnlyCount: counter(),
    partnerRent: sumOfMoney().default('0.00'),
    platformRent: sumOfMoney().default('0.00'),
    diffRent: sumOfMoney().default('0.00'),
    updateTime: createdAt(),
  },
});

/** DEC-9: one row per (partner, platform station, month), read by payment selection. */
export const BillSnapshot = defineEntity({
  name: 'BillSnapshot',
  tableName: 'fi_resident_income_payment_bill_dimension_snapshot',
  uniques: [{ name: 'uk_bill_snapshot', properties: ['partnerOrgId', 'platformStationId', 'billYearMonth'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    platformStationId: id(),
    billYearMonth: month(),
    partnerBillId: id().nullable(),
    platformBillId: id().nullable(),
    diffId: id().nullable(),
    canonicalAccountId: id().nullable(),
    partnerRent: money().default('0.00'),
    platformRent: money().default('0.00'),
    deductionAmount: money().default('0.00'),
    freezeAmount: money().default('0.00'),
    ...projection(),
    partnerQueryStatus: text(16).nullable(),
    preRentCheckResult: text(8).nullable(),
    acceptNo: id().defaultRaw('0'),
    dataVersion: id().defaultRaw('0'),
    financialVersion: p.integer().default(0),
    taskId: id().defaultRaw('0'),
    requestGeneration: p.integer().default(0),
    snapshotTime: instant().nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});
