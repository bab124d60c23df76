/**
 * What a lock release is and what it may touch, without a database: the closed set of reasons, the matrix reason × lock
 * status, and the identity of a task (LCK-1, LCK-4, LCK-9, LCK-13, LCK-15, LCK-27).
 */
import { createHash } from 'node:crypto';

export const LOCK_RELEASE_TASK_TYPE = 'RESIDENT_INCOME_PAYMENT_LOCK_RELEASE';
export const LOCK_RELEASE_SCENE = 'LOCK_RELEASE';
export const LOCK_RELEASE_ATTEMPTS_MAX = 3;
/** Order bills that one task may name; a producer with more of them makes several tasks. */
export const ORDER_BILL_IDS_MAX = 20_000;

export const LOCK_RELEASE_REASONS = [
  'BUILD_FAILED',
  'INVALID_REVISE_SESSION',
  'SUBMIT_CANCEL',
  'REVISE_FAILED',
  'REVIEW_REJECTED',
  'REVIEW_APPROVED_UNQUALIFIED',
  'PAYMENT_SUCCESS',
  'PARTIAL_PAYMENT',
  'PAYMENT_FAIL',
  'ORDER_VOID',
  'RESUBMIT_REFRESH',
  'REVISE_REMOVED',
  'COMPENSATION_RELEASE',
] as const;

export type LockReleaseReason = (typeof LOCK_RELEASE_REASONS)[number];
export type LiveLockStatus = 'RESERVED' | 'ACTIVE';

/** LCK-13: a submit failed or was given up; nothing of a published version is released for these. */
const FAILURE_REASONS: ReadonlySet<LockReleaseReason> = new Set([
  'BUILD_FAILED',
  'INVALID_REVISE_SESSION',
  'SUBMIT_CANCEL',
  'REVISE_FAILED',
]);

/** LCK-4: names that speak of some bills must say which. */
const SELECTIVE_REASONS: ReadonlySet<LockReleaseReason> = new Set([
  'REVIEW_APPROVED_UNQUALIFIED',
  'PAYMENT_SUCCESS',
  'PARTIAL_PAYMENT',
  'PAYMENT_FAIL',
  'REVISE_REMOVED',
]);

export function isLockReleaseReason(text: unknown): text is LockReleaseReason {
  return (LOCK_RELEASE_REASONS as readonly unknown[]).includes(text);
}

export function stopsAtPublishBoundary(reason: LockReleaseReason): boolean {
  return FAILURE_REASONS.has(reason);
}

export function needsSelection(reason: LockReleaseReason): boolean {
  return SELECTIVE_REASONS.has(reason);
}

/** LCK-15: which locks of the submit a reason releases. */
export function releasedStatuses(reason: LockReleaseReason): readonly LiveLockStatus[] {
  if (reason === 'REVIEW_REJECTED') return [];
  return stopsAtPublishBoundary(reason) ? ['RESERVED'] : ['RESERVED', 'ACTIVE'];
}

export type LockReleaseSelection = 'WHOLE_SUBMISSION' | { readonly orderBillIds: readonly string[] };

/** Which locks, why: what makes two releases the same one. */
export interface LockReleaseIdentity {
  readonly paymentOrderVersionId: string;
  readonly lockReleaseReason: LockReleaseReason;
  /** Ascending, distinct; null is the whole submission. */
  readonly orderBillIds: readonly string[] | null;
}

/** LCK-1's data; the ids only where some bills are selected (LCK-4). */
export interface LockReleaseTaskData {
  readonly paymentOrderVersionId: string;
  readonly lockReleaseReason: LockReleaseReason;
  readonly taskScene: typeof LOCK_RELEASE_SCENE;
  readonly orderBillIds?: readonly string[];
}

export function lockReleaseKey({
  paymentOrderVersionId,
  lockReleaseReason,
  orderBillIds,
}: LockReleaseIdentity): string {
  const whole = `LOCK_RELEASE:${paymentOrderVersionId}:${lockReleaseReason}`;
  return orderBillIds === null ? whole : `${whole}:${sha256Hex(ascending(orderBillIds).join(','))}`;
}

export function lockReleaseCode(businessKey: string): string {
  return `RIPLR:${createHash('md5').update(businessKey).digest('hex')}`;
}

export function lockReleaseData(identity: LockReleaseIdentity): LockReleaseTaskData {
  const { paymentOrderVersionId, lockReleaseReason, orderBillIds } = identity;
  return {
    paymentOrderVersionId,
    lockReleaseReason,
    taskScene: LOCK_RELEASE_SCENE,
    ...(orderBillIds === null ? {} : { orderBillIds }),
  };
}

export interface AskedRelease {
  readonly paymentOrderVersionId: string;
  readonly lockReleaseReason: string;
  readonly selection: LockReleaseSelection | null;
  readonly note?: string | undefined;
}

/** What is wrong with it, or the identity that it has (LCK-2, LCK-4, DEC-27). */
export type JudgedIdentity = { readonly fault: string } | { readonly identity: LockReleaseIdentity };

export function judgeIdentity(asked: AskedRelease): JudgedIdentity {
  const { paymentOrderVersionId, lockReleaseReason: reason, selection } = asked;
  if (!isPositiveId(paymentOrderVersionId)) return { fault: 'paymentOrderVersionId is no id' };
  if (!isLockReleaseReason(reason)) return { fault: `${reason.slice(0, 40)} is no reason for a release` };
  if (reason === 'REVIEW_REJECTED')
    return { fault: 'A rejected review releases nothing: the order is revised or voided' };
  if (reason === 'COMPENSATION_RELEASE' && (asked.note ?? '').trim() === '')
    return { fault: 'COMPENSATION_RELEASE needs a note that says why' };
  if (selection === null && needsSelection(reason))
    return { fault: `${reason} speaks of some bills: say which, or WHOLE_SUBMISSION` };
  if (selection === null || selection === 'WHOLE_SUBMISSION')
    return { identity: { paymentOrderVersionId, lockReleaseReason: reason, orderBillIds: null } };
  const fault = faultOfSelection(reason, selection.orderBillIds);
  if (fault !== null) return { fault };
  const orderBillIds = ascending(selection.orderBillIds);
  return { identity: { paymentOrderVersionId, lockReleaseReason: reason, orderBillIds } };
}

function faultOfSelection(reason: LockReleaseReason, ids: readonly string[]): string | null {
  if (!needsSelection(reason)) return `${reason} releases the whole submission; it takes no selection`;
  if (ids.length === 0) return 'orderBillIds names none';
  if (ids.length > ORDER_BILL_IDS_MAX) return `orderBillIds names more than ${ORDER_BILL_IDS_MAX}`;
  if (!ids.every(isPositiveId)) return 'orderBillIds holds what is no id';
  if (new Set(ids).size < ids.length) return 'orderBillIds names an id twice';
  return null;
}

/** A task as far as its identity goes. */
export interface StoredIdentity {
  readonly taskData: unknown;
  readonly businessKey: string;
  readonly taskCode: string;
}

/** LCK-9: the cover must speak of the same work as the content. */
export function readIdentity(task: StoredIdentity): JudgedIdentity {
  const data = asObject(task.taskData);
  if (data === null) return { fault: 'the data cannot be read' };
  const versionId = String(data.paymentOrderVersionId ?? '');
  const reason = data.lockReleaseReason;
  const ids = data.orderBillIds ?? null;
  if (!isPositiveId(versionId)) return { fault: 'paymentOrderVersionId is no id' };
  if (!isLockReleaseReason(reason)) return { fault: 'the reason is not known' };
  if (data.taskScene !== LOCK_RELEASE_SCENE) return { fault: 'the scene is another' };
  if (ids !== null && !isIdList(ids)) return { fault: 'orderBillIds holds what is no id' };
  const identity = { paymentOrderVersionId: versionId, lockReleaseReason: reason, orderBillIds: ids };
  const key = lockReleaseKey(identity);
  if (key !== task.businessKey) return { fault: `the business key is not ${key}` };
  if (lockReleaseCode(key) !== task.taskCode) return { fault: 'the code is not that of its key' };
  return { identity };
}

function asObject(data: unknown): Record<string, unknown> | null {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
    ? (data as Record<string, unknown>)
    : null;
}

function isIdList(ids: unknown): ids is readonly string[] {
  return Array.isArray(ids) && ids.length > 0 && ids.every(isPositiveId);
}

const ID_MAX = 2n ** 64n - 1n;

function isPositiveId(text: unknown): text is string {
  return typeof text === 'string' && /^[1-9][0-9]{0,19}$/.test(text) && BigInt(text) <= ID_MAX;
}

function ascending(ids: readonly string[]): string[] {
  return [...ids].sort((left, right) => (BigInt(left) < BigInt(right) ? -1 : 1));
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
