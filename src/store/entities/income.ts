/** Both sides' accounts and bills, under the source documents' table names. */
import { defineEntity, p } from '@mikro-orm/core';
import {
  accountTotals,
  billAmounts,
  createdAt,
  digest,
  flag,
  id,
  instant,
  json,
  month,
  projection,
  sumOfMoney,
  text,
} from './columns.ts';

export const PartnerAccount = defineEntity({
  name: 'PartnerAccount',
  tableName: 'fi_customer_account_partner',
  uniques: [{ name: 'uk_partner_account', properties: ['partnerOrgId', 'partnerStationNo'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    partnerStationNo: text(64),
    partnerStationId: text(64).nullable(),
    householdName: text(64).nullable(),
    rentPayMethod: text(32).nullable(),
    ...accountTotals(),
    /** STA-15: the account's own cumulative deduction; another number than a batch's (STA-13). */
    cumulativeDeduction: sumOfMoney().default('0.00'),
    /** The order number that wrote the header (STA-11). */
    pushId: id(),
    acceptNo: id(),
    dataVersion: id().defaultRaw('0'),
    delFlag: flag(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

export const PartnerAccountLog = defineEntity({
  name: 'PartnerAccountLog',
  tableName: 'fi_customer_account_partner_log',
  indexes: [{ name: 'idx_account_log', properties: ['customerAccountId', 'id'] }],
  properties: {
    id: id().primary(),
    customerAccountId: id(),
    pushId: id(),
    operation: text(24),
    detail: json().nullable(),
    createTime: createdAt(),
  },
});

export const PartnerBill = defineEntity({
  name: 'PartnerBill',
  tableName: 'fi_customer_bill_partner',
  uniques: [{ name: 'uk_partner_bill', properties: ['customerAccountId', 'billYearMonth'] }],
  indexes: [{ name: 'idx_partner_bill_push', properties: ['pushId', 'pushRowNo'] }],
  properties: {
    id: id().primary(),
    customerAccountId: id(),
    partnerOrgId: id(),
    billYearMonth: month(),
    /** STA-6: the pushed partner station id, not the platform station. */
    stationId: text(64).nullable(),
    rentPayMethod: text(32).nullable(),
    ...billAmounts(),
    shareRatio: p.decimal('string').precision(9).scale(6).nullable(),
    period: p.integer().nullable(),
    sharingBlockCount: p.integer().nullable(),
    unitPrice: p.decimal('string').precision(18).scale(6).nullable(),
    remark: text(255).nullable(),
    reason: text(255).nullable(),
    settlementBatchNo: text(64).nullable(),
    isSupplement: flag(),
    ...projection(),
    partnerQueryStatus: text(16).nullable().default('NOT_VERIFIED'),
    unqualifiedFlag: flag(),
    unqualifiedReason: text(255).nullable(),
    lastUnqualifiedTime: instant().nullable(),
    /** STA-14: marked for verification again. */
    reverifyFlag: flag(1),
    pushId: id(),
    pushRowNo: p.integer().unsigned(),
    acceptNo: id(),
    dataVersion: id().defaultRaw('0'),
    contentHash: digest(),
    lastPushTime: instant(),
    createUserId: id().defaultRaw('0'),
    updateUserId: id().defaultRaw('0'),
    delFlag: flag(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** Not unique on (partner, platform station): DIF-11 checks it, for data that came from elsewhere (DEC-15). */
export const PlatformAccount = defineEntity({
  name: 'PlatformAccount',
  tableName: 'fi_customer_account',
  indexes: [{ name: 'idx_platform_account', properties: ['partnerOrgId', 'smallStationId'] }],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    smallStationId: id(),
    smallStationNo: text(64).nullable(),
    ...accountTotals(),
    delFlag: flag(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

export const PlatformBill = defineEntity({
  name: 'PlatformBill',
  tableName: 'fi_customer_bill',
  uniques: [{ name: 'uk_platform_bill', properties: ['customerAccountId', 'billYearMonth'] }],
  properties: {
    id: id().primary(),
    customerAccountId: id(),
    partnerOrgId: id(),
    smallStationId: id(),
    billYearMonth: month(),
    ...billAmounts(),
    ...projection(),
    partnerQueryStatus: text(16).nullable(),
    /** DEC-7: deleted is marked, not removed. */
    delFlag: flag(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});
