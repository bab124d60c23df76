/** A partner with roofs on our platform: mapping, our own bills and snapshots, as many as a chain test needs. */
import { recalculateAccounts } from '../../src/store/projections.ts';
import type { Store } from '../../src/store/transaction.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { ensureSlots } from '../../src/tasks/ensure-slots.ts';
import { type Columns, type MadeMapping, type MadePartner, makeMappings, makePartner } from './factory.ts';
import { billOf, type PushedStation } from './rooftally.ts';

export interface Roofs {
  readonly partner: MadePartner;
  readonly stations: readonly MadeMapping[];
  readonly months: readonly string[];
  /** The push of all of it; each bill as `fields` of its station and month say. */
  pushOf(fields?: (station: number, month: string) => object, only?: readonly number[]): PushedStation[];
}

export interface RoofsOptions {
  readonly stations: number;
  readonly months: readonly string[];
  readonly partner?: Columns;
  readonly snapshots?: boolean;
}

export async function makeRoofs(store: Store, options: RoofsOptions): Promise<Roofs> {
  const partner = await makePartner(store, options.partner);
  await store.transaction(NEW_READ_COMMITTED, (tx) => ensureSlots(tx, partner.partnerOrgId, {}));
  const stations = await makeMappings(store, partner.partnerOrgId, options.stations);
  await makeOurSide(store, partner, options);
  const pushOf = (
    fields: (station: number, month: string) => object = () => ({}),
    only = stations.map((_, index) => index),
  ) =>
    only.map((index) => ({
      partnerStationNo: stations[index]!.partnerStationNo,
      partnerStationId: stations[index]!.partnerStationId,
      householdName: `Household ${index}`,
      rentPayMethod: 'MONTHLY',
      bills: options.months.map((month) => billOf(month, { ...fields(index, month) })),
    }));
  return { partner, stations, months: options.months, pushOf };
}

/** Our account of each of the partner's stations, a bill in it for each month, and its snapshots. */
async function makeOurSide(
  store: Store,
  { partnerOrgId }: MadePartner,
  options: RoofsOptions,
): Promise<void> {
  const months = JSON.stringify(options.months);
  const eachMonth = "JSON_TABLE(?, '$[*]' COLUMNS (month CHAR(7) CHARACTER SET utf8mb4 PATH '$')) m";
  await store.change(
    `INSERT INTO fi_customer_account (partner_org_id, small_station_id, small_station_no)
     SELECT partner_org_id, platform_station_id, CONCAT('P', platform_station_id) FROM station_mapping
      WHERE partner_org_id = ? ORDER BY platform_station_id`,
    [partnerOrgId],
  );
  await store.change(
    `INSERT INTO fi_customer_bill (customer_account_id, partner_org_id, small_station_id, bill_year_month,
                                   settlement_amount, rent, pre_rent, deduction_amount)
     SELECT a.id, a.partner_org_id, a.small_station_id, m.month, 180, 120, 100, 10
       FROM fi_customer_account a JOIN ${eachMonth} WHERE a.partner_org_id = ?`,
    [months, partnerOrgId],
  );
  const accounts = await store.many<{ id: string }>(
    'SELECT id FROM fi_customer_account WHERE partner_org_id = ?',
    [partnerOrgId],
  );
  await recalculateAccounts(
    store,
    'platform',
    accounts.map((account) => account.id),
    null,
  );
  if (options.snapshots === false) return;
  await store.change(
    `INSERT INTO fi_resident_income_payment_bill_dimension_snapshot (partner_org_id, platform_station_id, bill_year_month)
     SELECT a.partner_org_id, a.small_station_id, m.month FROM fi_customer_account a JOIN ${eachMonth}
      WHERE a.partner_org_id = ?`,
    [months, partnerOrgId],
  );
}
