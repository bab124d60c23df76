/** Our own bills, written as an operator does it, in a world of stages without workers; and the ledger worked out anew. */
import type { Sql } from '../../src/store/sql.ts';
import type { Answer } from './control-plane.ts';
import type { Columns } from './factory.ts';
import { type MadeMapping, makeMapping } from './factory.ts';
import type { Payments } from './payments.ts';
import { makeStagedPartner } from './stages.ts';

/** What `bill()` of the stages carries on the partner's side. */
export const EQUAL = {
  settlementAmount: '180.00',
  rent: '120.00',
  preRent: '100.00',
  freezeAmount: '0.00',
  deductionAmount: '10.00',
};

export interface PlatformWorld {
  readonly partnerOrgId: string;
  readonly stations: readonly MadeMapping[];
  /** A bill of that station, as a body has it. */
  bill(index: number, billYearMonth: string, amounts?: object): object;
  deletion(index: number, billYearMonth: string): object;
  send(body: { bills?: readonly object[]; deletions?: readonly object[] }): Promise<Answer>;
  /** All that is due at the stages after the stations, until nothing is. */
  settle(): Promise<void>;
}

export async function makePlatformWorld(
  world: Payments,
  stationCount = 1,
  { partner = {}, mapping = {} }: { partner?: Columns; mapping?: Columns } = {},
): Promise<PlatformWorld> {
  const { partnerOrgId } = await makeStagedPartner(world.store, partner);
  const stations: MadeMapping[] = [];
  for (let index = 0; index < stationCount; index++)
    stations.push(await makeMapping(world.store, partnerOrgId, mapping));
  const at = (index: number, billYearMonth: string) => ({
    platformStationId: stations[index]!.platformStationId!,
    billYearMonth,
  });
  return {
    partnerOrgId,
    stations,
    bill: (index, billYearMonth, amounts = EQUAL) => ({ ...at(index, billYearMonth), ...amounts }),
    deletion: at,
    send: (body) => world.plane.ask('POST', '/platform-bills', { partnerOrgId, ...body }),
    settle: async () => {
      for (const stage of ['income-diff', 'account-shard', 'bill-snapshot'] as const)
        await world.turn(stage, partnerOrgId);
    },
  };
}

/**
 * Differences that are not what both sides' bills say, worked out in SQL apart from the code that writes them: amounts,
 * status by the partner's tolerance, readiness, ids, and the order number of the partner's side.
 */
export async function listLedgerFaults(sql: Sql, partnerOrgId: string): Promise<object[]> {
  const sides = ['settlement_amount', 'rent', 'pre_rent', 'freeze_amount', 'deduction_amount'];
  const names = ['settlement', 'rent', 'pre_rent', 'freeze', 'deduction'];
  const wrong = sides.flatMap((column, index) => [
    `d.partner_${names[index]} <> COALESCE(b.${column}, 0)`,
    `d.platform_${names[index]} <> COALESCE(o.${column}, 0)`,
    `d.diff_${names[index]} <> COALESCE(b.${column}, 0) - COALESCE(o.${column}, 0)`,
  ]);
  const far = sides
    .map((column) => `ABS(COALESCE(b.${column}, 0) - COALESCE(o.${column}, 0)) > p.tolerance`)
    .join(' OR ');
  return sql.many(
    `SELECT d.id, d.station_id station, d.share_month month, d.status
       FROM fi_monthly_income_difference d
       JOIN partner p ON p.partner_org_id = d.partner_org_id
       JOIN station_mapping m ON m.partner_org_id = d.partner_org_id AND m.platform_station_id = d.station_id
       LEFT JOIN fi_customer_account_partner a
         ON a.partner_org_id = m.partner_org_id AND a.partner_station_no = m.partner_station_no
       LEFT JOIN fi_customer_bill_partner b ON b.customer_account_id = a.id AND b.bill_year_month = d.share_month
       LEFT JOIN fi_customer_account oa
         ON oa.partner_org_id = d.partner_org_id AND oa.small_station_id = d.station_id AND oa.del_flag = 0
       LEFT JOIN fi_customer_bill o
         ON o.customer_account_id = oa.id AND o.bill_year_month = d.share_month AND o.del_flag = 0
      WHERE d.partner_org_id = ? AND (${wrong.join(' OR ')}
         OR NOT (d.partner_bill_id <=> b.id) OR NOT (d.platform_bill_id <=> o.id)
         OR d.both_sides_ready <> (b.id IS NOT NULL AND o.id IS NOT NULL)
         OR d.accept_no <> COALESCE(b.accept_no, 0)
         OR d.status <> CASE WHEN b.id IS NOT NULL AND o.id IS NULL THEN 'PARTNER_ONLY'
                             WHEN b.id IS NULL AND o.id IS NOT NULL THEN 'PLATFORM_ONLY'
                             WHEN ${far} THEN 'MISMATCHED' ELSE 'MATCHED' END)`,
    [partnerOrgId],
  );
}
