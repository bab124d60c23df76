/** DEC-24: bills whose amounts may be about to change; the caller holds their platform guards. */
import { listPlatformChangesDue } from '../store/platform-changes.ts';
import type { ReservableBill } from '../store/reservations.ts';
import type { Transaction } from '../store/transaction.ts';
import {
  listDifferencesAwaitingSnapshot,
  listDifferencesToRefresh,
  listOpenPushes,
  listRowsOnTheWay,
} from '../store/work-under-way.ts';
import { snapshotTaskCode } from '../tasks/request-snapshots.ts';

/** @returns ids of partner bills */
export async function findWorkUnderWay(
  tx: Transaction,
  partnerOrgId: string,
  bills: readonly ReservableBill[],
): Promise<Set<string>> {
  const pushes = await listOpenPushes(tx, partnerOrgId);
  const stationNos = [...new Set(bills.flatMap((bill) => bill.partnerStationNo ?? []))];
  const codes = [
    ...new Set(bills.map(({ platformStationId }) => snapshotTaskCode({ partnerOrgId, platformStationId }))),
  ];
  const diffIds = bills.flatMap((bill) => bill.diffId ?? []);
  const rows = await listRowsOnTheWay(tx, pushes, stationNos);
  const differences = new Set([
    ...(await listDifferencesToRefresh(tx, partnerOrgId, pushes, diffIds)),
    ...(await listDifferencesAwaitingSnapshot(tx, codes, diffIds)),
  ]);
  const ours = await listPlatformChangesDue(
    tx,
    partnerOrgId,
    bills.map((bill) => ({ platformStationId: bill.platformStationId, month: bill.billYearMonth })),
  );
  const underWay = bills.filter(
    (bill) =>
      rows.has(`${bill.partnerStationNo}/${bill.billYearMonth}`) ||
      differences.has(bill.diffId ?? '') ||
      ours.has(`${bill.platformStationId}/${bill.billYearMonth}`),
  );
  return new Set(underWay.map((bill) => bill.partnerBillId));
}
