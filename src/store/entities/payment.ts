/** The payment submit: sessions, orders, versions, phases, the bills they occupy, and what came in about them (DEC-10 to DEC-14). */
import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, digest, flag, id, instant, json, money, month, text } from './columns.ts';

/** DEC-10: SELECTING, SUBMITTING, SUBMIT_FAILED, PUBLISHING, PUBLISHED_LOCK_SYNCING, PUBLISHED, CANCELLED. */
export const SelectionSession = defineEntity({
  name: 'SelectionSession',
  tableName: 'selection_session',
  uniques: [
    { name: 'uk_session_revise_key', properties: ['activeReviseKey'] },
    { name: 'uk_session_scope_key', properties: ['activeScopeKey'] },
  ],
  indexes: [
    { name: 'idx_session_partner', properties: ['partnerOrgId', 'id'] },
    { name: 'idx_session_invalidated', properties: ['status', 'invalidatedFlag', 'id'] },
  ],
  properties: {
    id: id().primary(),
    partnerOrgId: id(),
    /** NEW or REVISE (PAY-1). */
    mode: text(8),
    status: text(24),
    targetPaymentOrderId: id().nullable(),
    creatorUserId: text(64),
    months: json(),
    /** The version that is being submitted. */
    activeSubmitId: id().nullable(),
    activeReviseKey: text(80).nullable(),
    activeScopeKey: text(120).nullable(),
    invalidatedFlag: flag(),
    invalidatedReason: text(64).nullable(),
    failurePhase: text(80).nullable(),
    failureReason: text(1000).nullable(),
    stateVersion: p.integer().default(0),
    workerId: text(80).nullable(),
    heartbeatTime: instant().nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** A station-month that was chosen, by a filter or by name (DEC-11). */
export const SelectionSessionBill = defineEntity({
  name: 'SelectionSessionBill',
  tableName: 'selection_session_bill',
  properties: {
    sessionId: id().primary(),
    platformStationId: id().primary(),
    billYearMonth: month().primary(),
    partnerBillId: id(),
    named: flag(),
    /** Why a build left it out; null while it is chosen. */
    dropReason: text(40).nullable(),
  },
});

export const PaymentOrder = defineEntity({
  name: 'PaymentOrder',
  tableName: 'fi_resident_income_payment_order',
  uniques: [{ name: 'uk_payment_order_no', properties: ['orderNo'] }],
  indexes: [{ name: 'idx_payment_order_partner', properties: ['partnerOrgId', 'id'] }],
  properties: {
    id: id().primary(),
    orderNo: text(64),
    partnerOrgId: id(),
    createUserId: text(64),
    /** The `target_data_version` that is published; null before the first. */
    currentPublishVersion: id().nullable(),
    /** OPEN or VOID. */
    orderStatus: text(16).default('OPEN'),
    auditStatus: text(16).nullable(),
    deleted: flag(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** `id` is the `paymentOrderVersionId`; `targetDataVersion` is a business version number: never mix them. */
export const PaymentOrderVersion = defineEntity({
  name: 'PaymentOrderVersion',
  tableName: 'fi_resident_income_payment_order_version',
  uniques: [{ name: 'uk_order_version', properties: ['paymentOrderId', 'targetDataVersion'] }],
  indexes: [{ name: 'idx_order_version_session', properties: ['sessionId', 'id'] }],
  properties: {
    id: id().primary(),
    paymentOrderId: id(),
    sessionId: id(),
    targetDataVersion: id(),
    submitAttempt: p.integer(),
    submitToken: text(64),
    /** DEC-10: BUILDING, BUILD_FAILED, BUILT, PUBLISHED, CANCELLED. */
    versionBuildStatus: text(16),
    failureCode: text(64).nullable(),
    failurePhase: text(80).nullable(),
    failureMessage: text(1000).nullable(),
    publishedTime: instant().nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** Progress of one phase of one submit; made as INIT at submit start (PAY-2, LCK-28). */
export const SubmitBatch = defineEntity({
  name: 'SubmitBatch',
  tableName: 'selection_submit_batch',
  uniques: [{ name: 'uk_submit_batch', properties: ['paymentOrderVersionId', 'batchPhase', 'batchNo'] }],
  properties: {
    id: id().primary(),
    paymentOrderVersionId: id(),
    sessionId: id(),
    /** DEC-10: BUILD, PUBLISH, LOCK_ACTIVATE, AUDIT_PLAN, LOCK_RELEASE. */
    batchPhase: text(16),
    batchNo: p.integer().default(1),
    /** INIT, RUNNING, FAILED, DONE, CANCELLED. */
    batchStatus: text(16).default('INIT'),
    batchSize: p.integer().nullable(),
    lastItemId: id().defaultRaw('0'),
    processedCount: p.integer().default(0),
    payableCount: p.integer().default(0),
    unqualifiedCount: p.integer().default(0),
    leaseVersion: p.integer().default(0),
    workerId: text(80).nullable(),
    /** The task and attempt that own the batch while it is RUNNING (LCK-16). */
    ownerTaskId: id().nullable(),
    ownerAttempt: p.integer().nullable(),
    heartbeatTime: instant().nullable(),
    retryCount: p.integer().default(0),
    nextRetryTime: instant().nullable(),
    lastErrorCode: text(40).nullable(),
    lastErrorMessage: text(1000).nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** A bill of a version, its amount frozen at reservation (DEC-11). */
export const OrderBill = defineEntity({
  name: 'OrderBill',
  tableName: 'fi_resident_income_payment_order_bill',
  uniques: [
    { name: 'uk_order_bill', properties: ['paymentOrderVersionId', 'platformStationId', 'billYearMonth'] },
  ],
  indexes: [{ name: 'idx_order_bill_partner_bill', properties: ['partnerBillId'] }],
  properties: {
    id: id().primary(),
    paymentOrderId: id(),
    paymentOrderVersionId: id(),
    dataVersion: id(),
    partnerOrgId: id(),
    partnerBillId: id(),
    platformStationId: id(),
    billYearMonth: month(),
    amount: money(),
    /** Taken over from the order's published version (PAY-3). */
    kept: flag(),
    createTime: createdAt(),
  },
});

/** `lock_key` is station:month while live and made unique by its id when released (LCK-17, PAY-3). */
export const BillLock = defineEntity({
  name: 'BillLock',
  tableName: 'fi_resident_income_payment_bill_lock',
  uniques: [{ name: 'uk_bill_lock_key', properties: ['lockKey'] }],
  indexes: [
    { name: 'idx_bill_lock_station', properties: ['platformStationId', 'billYearMonth', 'lockStatus'] },
    {
      name: 'idx_bill_lock_submit',
      properties: ['paymentOrderId', 'sessionId', 'submitAttempt', 'dataVersion', 'id'],
    },
    { name: 'idx_bill_lock_version', properties: ['paymentOrderVersionId', 'lockStatus', 'id'] },
    { name: 'idx_bill_lock_order_bill', properties: ['orderBillId'] },
  ],
  properties: {
    id: id().primary(),
    lockKey: text(120),
    /** RESERVED, ACTIVE, RELEASED. */
    lockStatus: text(16),
    platformStationId: id(),
    billYearMonth: month(),
    partnerOrgId: id(),
    partnerBillId: id().nullable(),
    paymentOrderId: id(),
    paymentOrderVersionId: id().nullable(),
    orderBillId: id().nullable(),
    sessionId: id(),
    submitAttempt: p.integer(),
    submitToken: text(64).nullable(),
    dataVersion: id(),
    releaseTime: instant().nullable(),
    releaseReason: text(40).nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** A payment or its reversal; paid is their sum per partner bill (DEC-13). */
export const PaymentFact = defineEntity({
  name: 'PaymentFact',
  tableName: 'fi_resident_income_payment_fact',
  uniques: [{ name: 'uk_payment_event', properties: ['eventId'] }],
  indexes: [
    { name: 'idx_payment_partner_bill', properties: ['partnerBillId'] },
    { name: 'idx_payment_order', properties: ['paymentOrderId', 'id'] },
  ],
  properties: {
    id: id().primary(),
    eventId: text(64),
    paymentOrderId: id(),
    paymentOrderVersionId: id(),
    orderBillId: id(),
    partnerBillId: id(),
    /** CNY; negative for a reversal. */
    amount: money(),
    reversedEventId: text(64).nullable(),
    paidTime: instant(),
    detail: json().nullable(),
    createTime: createdAt(),
  },
});

/** What came in about an order, by event id: a repeat gets the first answer (DEC-26). */
export const PaymentEvent = defineEntity({
  name: 'PaymentEvent',
  tableName: 'fi_resident_income_payment_event',
  indexes: [{ name: 'idx_payment_event_order', properties: ['paymentOrderId', 'kind'] }],
  properties: {
    eventId: text(64).primary(),
    /** AUDIT_RESULT or PAYMENT_RESULT. */
    kind: text(16),
    paymentOrderId: id(),
    contentDigest: digest(),
    answer: json(),
    createTime: createdAt(),
  },
});

/** PAY-5: what is to be audited of a published version; one per version. */
export const AuditPlan = defineEntity({
  name: 'AuditPlan',
  tableName: 'fi_resident_income_payment_audit_plan',
  uniques: [{ name: 'uk_audit_plan_version', properties: ['paymentOrderVersionId'] }],
  properties: {
    id: id().primary(),
    paymentOrderId: id(),
    paymentOrderVersionId: id(),
    billCount: p.integer(),
    amount: money(),
    status: text(16),
    createTime: createdAt(),
    updateTime: createdAt(),
  },
});

/** LCK-2: acceptance of asynchronous operations; `from` and `to` are descriptions, not states. */
export const AsyncOperationLog = defineEntity({
  name: 'AsyncOperationLog',
  tableName: 'fi_resident_income_payment_async_operation_log',
  uniques: [{ name: 'uk_operation_event', properties: ['eventId'] }],
  indexes: [{ name: 'idx_operation_target', properties: ['targetType', 'targetId', 'id'] }],
  properties: {
    id: id().primary(),
    eventId: text(160),
    operation: text(32),
    targetType: text(40),
    targetId: id(),
    fromStatus: text(40).nullable(),
    toStatus: text(40).nullable(),
    detail: json().nullable(),
    createTime: createdAt(),
  },
});
