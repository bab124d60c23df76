/** What the payment scenes ask of the control plane, and how they wait: by state, with a deadline. */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../errors.ts';
import type { ApiClient } from '../api-client.ts';

export const PLANE = '/admin/api/v1';
/** The two clerks of the payment scenes, by whom their sessions and orders are known again. */
export const LIN = 'lin';
export const WANG = 'wang';
export const CLERKS: readonly string[] = [LIN, WANG];
/** The stage that is held while a revision meets a bill whose figures are being refreshed. */
export const HELD_FOR_REVISION = 'account-shard';
const PAGE_SIZE_MAX = 200;
const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 150;

export interface SessionView {
  readonly id: string;
  readonly status: string;
  readonly creatorUserId: string;
  readonly paymentOrderVersionId: string | null;
  readonly invalidatedFlag: boolean;
  readonly failureReason: string | null;
  readonly phases: readonly { readonly batchPhase: string; readonly batchStatus: string }[];
}

export interface OrderView {
  readonly id: string;
  readonly orderNo: string;
  readonly creatorUserId: string;
  readonly currentPublishVersion: string | null;
  readonly auditStatus: string | null;
  readonly versions: readonly {
    readonly paymentOrderVersionId: string;
    readonly targetDataVersion: string;
    readonly versionBuildStatus: string;
    readonly failureCode: string | null;
    readonly failureMessage: string | null;
  }[];
}

export interface OrderBill {
  readonly orderBillId: string;
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly amount: string;
  readonly lockStatus: string | null;
  readonly releaseReason: string | null;
}

export interface Submitted {
  readonly sessionId: string;
  readonly orderId: string;
  readonly versionId: string;
  readonly taskCode: string;
}

export interface SubmitWish {
  readonly partnerOrgId: string;
  readonly months: readonly string[];
  readonly creatorUserId: string;
  readonly partnerBillIds: readonly string[];
  /** Of a REVISE. */
  readonly paymentOrderId?: string;
}

/** Opened, and its bills named. @returns its id */
export async function openSession(admin: ApiClient, wish: SubmitWish): Promise<string> {
  const { partnerBillIds, ...opening } = wish;
  const mode = wish.paymentOrderId === undefined ? 'NEW' : 'REVISE';
  const { id } = await admin.post<SessionView>(`${PLANE}/payment-sessions`, { mode, ...opening });
  await admin.post(`${PLANE}/payment-sessions/${id}/bills`, { partnerBillIds });
  return id;
}

/** In batches of one roof, so that a failure meets a submit that has reserved something already. */
export async function submit(admin: ApiClient, sessionId: string): Promise<Submitted> {
  const path = `${PLANE}/payment-sessions/${sessionId}/submit`;
  const started = await admin.post<{
    paymentOrderId: string;
    paymentOrderVersionId: string;
    taskCode: string;
  }>(path, { batchSize: 1 });
  const { paymentOrderId: orderId, paymentOrderVersionId: versionId, taskCode } = started;
  return { sessionId, orderId, versionId, taskCode };
}

export function showSession(admin: ApiClient, id: string): Promise<SessionView> {
  return admin.get<SessionView>(`${PLANE}/payment-sessions/${id}`);
}

export function showOrder(admin: ApiClient, id: string): Promise<OrderView> {
  return admin.get<OrderView>(`${PLANE}/payment-orders/${id}`);
}

/** Of one submit, with the lock that it holds or held on each. */
export async function listBills(
  admin: ApiClient,
  { orderId, versionId }: Pick<Submitted, 'orderId' | 'versionId'>,
): Promise<readonly OrderBill[]> {
  const path = `${PLANE}/payment-orders/${orderId}/bills?paymentOrderVersionId=${versionId}`;
  return (await admin.get<{ items: readonly OrderBill[] }>(path)).items;
}

/** All pages of a list; `path` has a query already. */
export async function listAll<Row>(admin: ApiClient, path: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { items: readonly Row[]; nextCursor: string | null } = await admin.get(
      `${PLANE}/${path}&limit=${PAGE_SIZE_MAX}${from}`,
    );
    rows.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return rows;
}

/** "4 ACTIVE", "1 RELEASED for BUILD_FAILED": the locks of a submit in words, sorted. */
export function locksText(bills: readonly OrderBill[]): string {
  const words = bills.map(({ lockStatus, releaseReason }) =>
    lockStatus === 'RELEASED' ? `RELEASED for ${releaseReason}` : (lockStatus ?? 'without a lock'),
  );
  const counted = [...Map.groupBy(words, (word) => word)].sort(([left], [right]) => (left < right ? -1 : 1));
  return counted.map(([word, all]) => `${all.length} ${word}`).join(', ');
}

/** @throws Failure `TIMEOUT`, with what was seen last */
export async function waitFor<Seen>(
  what: string,
  look: () => Promise<Seen>,
  isThere: (seen: Seen) => boolean,
): Promise<Seen> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const seen = await look();
    if (isThere(seen)) return seen;
    if (Date.now() > deadline)
      throw new Failure('TIMEOUT', `Waited in vain for ${what}; last seen: ${JSON.stringify(seen)}`);
    await pause(LOOK_EVERY_MS);
  }
}
