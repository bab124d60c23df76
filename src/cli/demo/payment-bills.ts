/** Which bills the payment scenes pay: six roofs of one month that nobody has paid or locked, verified by a clerk. */
import type { ApiClient } from '../api-client.ts';
import { listAll, PLANE, waitFor } from './payment-plane.ts';

export interface SceneBill {
  readonly partnerBillId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly acceptNo: string;
  /** As payment reads it when it is chosen. */
  readonly paymentStatus: string;
}

/** In the order in which a submit goes through them: ascending platform stations. */
export type SceneBills = readonly [SceneBill, SceneBill, SceneBill, SceneBill, SceneBill, SceneBill];

export const BILLS_NEEDED = 6;
/**
 * Newest first. Not September and October: of those some snapshot rows are missing on purpose (NO_SNAPSHOT), and opening
 * a session for them would make them.
 */
const MONTHS = ['2026-08', '2026-07', '2026-06', '2026-05', '2026-03', '2026-02', '2026-01', '2025-12'];
const TAKEABLE: readonly string[] = ['NOT_VERIFIED', 'PAYABLE'];

interface Row {
  readonly id: string;
  readonly partnerBillId: string | null;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly diffId: string | null;
  readonly acceptNo: string;
  readonly paymentStatus: string;
  readonly paidAmount: string;
}

/** @returns null where earlier runs have used them up */
export async function chooseBills(admin: ApiClient, partnerOrgId: string): Promise<SceneBills | null> {
  for (const month of MONTHS) {
    const found = (await listFreeBills(admin, partnerOrgId, month)).slice(0, BILLS_NEEDED);
    if (found.length === BILLS_NEEDED) return found as readonly SceneBill[] as SceneBills;
  }
  return null;
}

async function listFreeBills(admin: ApiClient, partnerOrgId: string, month: string): Promise<SceneBill[]> {
  const query = `partnerOrgId=${partnerOrgId}&billYearMonth=${month}`;
  const [matched, snapshots, reserved, active] = await Promise.all([
    listAll<Row>(admin, `differences?${query}&status=MATCHED`),
    listAll<Row>(admin, `snapshots?${query}`),
    listAll<Row>(admin, `locks?${query}&lockStatus=RESERVED`),
    listAll<Row>(admin, `locks?${query}&lockStatus=ACTIVE`),
  ]);
  const current = new Map(snapshots.map((row) => [row.diffId, row]));
  const locked = new Set([...reserved, ...active].map((row) => row.platformStationId));
  return matched
    .filter((row) => {
      const snapshot = current.get(row.id);
      if (snapshot === undefined || snapshot.acceptNo !== row.acceptNo) return false;
      // A bill that was pushed again after its payment reads NOT_VERIFIED, and is paid nevertheless.
      const unpaid = TAKEABLE.includes(snapshot.paymentStatus) && Number(snapshot.paidAmount) === 0;
      return unpaid && !locked.has(row.platformStationId);
    })
    .map(({ id, partnerBillId, platformStationId, billYearMonth, acceptNo }) => ({
      ...{ partnerBillId: partnerBillId!, platformStationId, billYearMonth, acceptNo },
      paymentStatus: current.get(id)!.paymentStatus,
    }))
    .sort((left, right) => Number(BigInt(left.platformStationId) - BigInt(right.platformStationId)));
}

/** One verdict for all. */
export async function giveVerdict(
  admin: ApiClient,
  bills: readonly SceneBill[],
  partnerQueryStatus: 'VERIFIED' | 'UNQUALIFIED',
  reason: string | null = null,
): Promise<void> {
  const verifications = bills.map(({ partnerBillId, acceptNo }) => ({
    ...{ partnerBillId, acceptNo, partnerQueryStatus, reason },
  }));
  await admin.post(`${PLANE}/verifications`, { verifications });
}

/** What payment reads of these bills now, in their order. */
export async function readStatuses(
  admin: ApiClient,
  partnerOrgId: string,
  bills: readonly SceneBill[],
): Promise<string[]> {
  const month = bills[0]!.billYearMonth;
  const path = `snapshots?partnerOrgId=${partnerOrgId}&billYearMonth=${month}`;
  const rows = new Map(
    (await listAll<Row>(admin, path)).map((row) => [row.partnerBillId, row.paymentStatus]),
  );
  return bills.map((bill) => rows.get(bill.partnerBillId) ?? 'NONE');
}

export async function waitForStatuses(
  admin: ApiClient,
  partnerOrgId: string,
  bills: readonly SceneBill[],
  wanted: readonly string[],
): Promise<void> {
  await waitFor(
    `the bills to be ${wanted.join(', ')} in what payment reads`,
    () => readStatuses(admin, partnerOrgId, bills),
    (seen) => seen.every((status, index) => status === wanted[index]),
  );
}
