/** What the payment scenes share: the bills they are about, and how they name and find things. */
import type { SceneBill, SceneBills } from './payment-bills.ts';
import { type Submitted, showOrder } from './payment-plane.ts';
import type { Telling } from './telling.ts';

export interface Scene extends Telling {
  readonly partnerOrgId: string;
  readonly bills: SceneBills;
}

export async function showVersion({ world }: Scene, { orderId, versionId }: Submitted) {
  const { versions } = await showOrder(world.admin, orderId);
  return versions.find(({ paymentOrderVersionId }) => paymentOrderVersionId === versionId);
}

export function wishOf(partnerOrgId: string, bills: readonly SceneBill[]) {
  return {
    partnerOrgId,
    months: [bills[0]!.billYearMonth],
    partnerBillIds: bills.map((bill) => bill.partnerBillId),
  };
}

export function roofs(bills: readonly SceneBill[]): string {
  return `roofs ${bills.map((bill) => bill.platformStationId).join(', ')}`;
}
