/** What payment says about bills: who occupies them, what was paid (DEC-4, DEC-12, DEC-13). */
import { defineEntity, p } from '@mikro-orm/core';
import { code, createdAt, id, instant, json, money, month, text } from './columns.ts';

/** `lock_key` is station:month while live and made unique by its id when released (LCK-17, PAY-3). */
export const BillLock = defineEntity({
  name: 'BillLock',
  tableName: 'fi_resident_income_payment_bill_lock',
  uniques: [{ name: 'uk_bill_lock_key', properties: ['lockKey'] }],
  indexes: [
    { name: 'idx_bill_lock_station', properties: ['platformStationId', 'billYearMonth', 'lockStatus'] },
  ],
  properties: {
    id: id().primary(),
    lockKey: text(120),
    lockStatus: text(16),
    platformStationId: id(),
    billYearMonth: month(),
    partnerOrgId: id(),
    paymentOrderId: id(),
    sessionId: id(),
    submitAttempt: p.integer(),
    dataVersion: id(),
    releaseTime: instant().nullable(),
    releaseReason: text(40).nullable(),
    createTime: createdAt(),
  },
});

/** A payment or its reversal; paid is their sum per partner bill (DEC-13). */
export const PaymentFact = defineEntity({
  name: 'PaymentFact',
  tableName: 'fi_resident_income_payment_fact',
  uniques: [{ name: 'uk_payment_event', properties: ['eventId'] }],
  indexes: [{ name: 'idx_payment_partner_bill', properties: ['partnerBillId'] }],
  properties: {
    id: id().primary(),
    eventId: text(64),
    kind: code(),
    orderBillId: id(),
    partnerBillId: id(),
    amount: money(),
    reversedEventId: text(64).nullable(),
    paidTime: instant(),
    detail: json().nullable(),
    createTime: createdAt(),
  },
});
