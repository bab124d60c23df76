/** A partner with roofs on our platform: mapping, our own bills and snapshots, as many as a chain test needs. */
import type { Store } from '../../src/store/transaction.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { ensureSlots } from '../../src/tasks/ensure-slots.ts';
import {
  type Columns,
  type MadeMapping,
  type MadePartner,
  makeMapping,
  makePartner,
  makePlatformAccount,
  makePlatformBill,
  makeSnapshot,
} from './factory.ts';
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
  const stations: MadeMapping[] = [];
  for (let index = 0; index < options.stations; index++) {
    const mapping = await makeMapping(store, partner.partnerOrgId);
    stations.push(mapping);
    const where = { partnerOrgId: partner.partnerOrgId, platformStationId: mapping.platformStationId! };
    const accountId = await makePlatformAccount(store, where);
    for (const month of options.months) {
      await makePlatformBill(
        store,
        { ...where, accountId, month },
        { settlement_amount: '180.00', pre_rent: '100.00', deduction_amount: '10.00' },
      );
      if (options.snapshots !== false) await makeSnapshot(store, { ...where, month });
    }
  }
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
