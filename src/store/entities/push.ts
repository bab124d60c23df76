/** What a partner sent, row by row, and what has become of each row (ING, COV-2). */
import { defineEntity, p } from '@mikro-orm/core';
import {
  code,
  counter,
  createdAt,
  digest,
  flag,
  id,
  instant,
  json,
  money,
  sumOfMoney,
  text,
} from './columns.ts';

export const Push = defineEntity({
  name: 'Push',
  tableName: 'partner_push',
  indexes: [
    { name: 'idx_push_partner', properties: ['partnerOrgId', 'acceptNo'] },
    { name: 'idx_push_retention', properties: ['rowsRemovedAt', 'expiresAt', 'pushId'] },
  ],
  properties: {
    pushId: id().primary(),
    partnerOrgId: id(),
    idempotencyKey: text(200),
    traceId: text(32),
    /** Place in the total order of the partner's pushes; the accepting transaction's last write (ING-6). */
    acceptNo: id().nullable(),
    code: text(24),
    stationCount: counter(),
    requestedCount: counter(),
    acceptedCount: counter(),
    refusedCount: counter(),
    requestedAmount: money().default('0.00'),
    acceptedAmount: money().default('0.00'),
    refusedAmount: money().default('0.00'),
    ignoredFieldCount: counter(),
    acceptedAt: createdAt(),
    expiresAt: instant(),
    /** RET-1: what its rows had come to when their removal began, and when that was. */
    keptCoverage: json().nullable(),
    retiredAt: instant().nullable(),
    rowsRemovedAt: instant().nullable(),
  },
});

/** COV-4: a push that was not found complete since it was accepted or reopened; the row at which it was last seen waiting. */
export const OpenPush = defineEntity({
  name: 'OpenPush',
  tableName: 'open_push',
  properties: {
    pushId: id().primary().autoincrement(false),
    waitsForRow: p.integer().unsigned().default(0),
  },
});

/** COV-4: the how-manieth time a push was found complete, and what it had come to. */
export const PushCompletion = defineEntity({
  name: 'PushCompletion',
  tableName: 'push_completion',
  properties: {
    pushId: id().primary(),
    completionNo: p.integer().unsigned().primary(),
    state: text(24),
    rowCount: p.integer(),
    amount: sumOfMoney(),
    exceptionCount: p.integer(),
    exceptionAmount: sumOfMoney(),
    completedAt: instant(),
  },
});

/** ING-2: unique on (partner, key); an expired one is replaced in place. */
export const PushIdentity = defineEntity({
  name: 'PushIdentity',
  tableName: 'push_identity',
  properties: {
    partnerOrgId: id().primary(),
    idempotencyKey: text(200).primary(),
    pushId: id(),
    contentDigest: digest(),
    acceptedAt: instant(),
    expiresAt: instant(),
  },
});

/** A pushed bill as it came, with its receipt; never changed after acceptance. `rowNo` keeps a station's rows together. */
export const PushedRow = defineEntity({
  name: 'PushedRow',
  tableName: 'pushed_row',
  uniques: [{ name: 'uk_pushed_row_receipt', properties: ['pushId', 'receiptIndex'] }],
  properties: {
    pushId: id().primary(),
    rowNo: p.integer().unsigned().primary(),
    receiptIndex: p.integer().unsigned(),
    /** Whether the row was accepted; else refusalReason, pointer and message say why not (ING-3). */
    accepted: flag(),
    refusalReason: text(40).nullable(),
    pointer: text(200).nullable(),
    message: text(500).nullable(),
    rowId: text(64).nullable(),
    contentHash: digest(),
    partnerStationNo: text(64).nullable(),
    partnerStationId: text(64).nullable(),
    householdName: text(64).nullable(),
    rentPayMethod: text(32).nullable(),
    billYearMonth: text(16).nullable(),
    settlementAmount: money().nullable(),
    shareRatio: p.decimal('string').precision(9).scale(6).nullable(),
    period: p.integer().nullable(),
    sharingBlockCount: p.integer().nullable(),
    unitPrice: p.decimal('string').precision(18).scale(6).nullable(),
    rent: money().nullable(),
    preRent: money().nullable(),
    freezeAmount: money().nullable(),
    deductionAmount: money().nullable(),
    remark: text(255).nullable(),
    reason: text(255).nullable(),
    settlementBatchNo: text(64).nullable(),
    isSupplement: flag(),
    dataVersion: id().nullable(),
  },
});

/** COV-2: where each pushed row is; narrow, and without an index on place. */
export const PushedRowPlace = defineEntity({
  name: 'PushedRowPlace',
  tableName: 'pushed_row_place',
  indexes: [{ name: 'idx_place_snapshot_task', properties: ['snapshotTaskId'] }],
  properties: {
    pushId: id().primary(),
    rowNo: p.integer().unsigned().primary(),
    rent: money().default('0.00'),
    place: code(),
    /** The stage of COV-1 that the row did not reach; null while under way or CURRENT. */
    leftAt: code().nullable(),
    reason: text(40).nullable(),
    billId: id().nullable(),
    diffId: id().nullable(),
    accountTaskId: id().nullable(),
    /** The snapshot task that the row waits for; cleared when it ends, so that the index holds only waiting rows. */
    snapshotTaskId: id().nullable(),
    snapshotGeneration: p.integer().nullable(),
    supersededByPushId: id().nullable(),
  },
});

/** STA-16: a committed station's bills on their way to the difference stage; messageTaskId 0 *is* the work. */
export const DiffHandover = defineEntity({
  name: 'DiffHandover',
  tableName: 'income_diff_handover',
  indexes: [
    { name: 'idx_handover_open', properties: ['partnerOrgId', 'messageTaskId', 'pushId', 'stationTaskId'] },
  ],
  properties: {
    stationTaskId: id().primary().autoincrement(false),
    partnerOrgId: id(),
    pushId: id(),
    partnerStationNo: text(64),
    platformStationId: id().nullable(),
    firstRowNo: p.integer().unsigned(),
    lastRowNo: p.integer().unsigned(),
    billCount: p.integer(),
    /** STA-13: the platform station's cumulative deduction as of this batch; null without a platform station. */
    batchDeduction: sumOfMoney().nullable(),
    messageTaskId: id().defaultRaw('0'),
    createTime: createdAt(),
  },
});

/** ACC-13: which account of a refresh task had which outcome, when, and why. */
export const AccountOutcome = defineEntity({
  name: 'AccountOutcome',
  tableName: 'account_refresh_outcome',
  indexes: [{ name: 'idx_outcome_task', properties: ['taskId', 'platformStationId'] }],
  properties: {
    id: id().primary(),
    taskId: id(),
    platformStationId: id(),
    runningAttempt: p.integer(),
    outcome: text(16),
    scopeCount: counter(),
    errorCode: text(40).nullable(),
    errorMessage: text(1000).nullable(),
    detail: json().nullable(),
    createTime: createdAt(),
  },
});
