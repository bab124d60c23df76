/**
 * What a platform entry's message speaks of, as it is now, under the guards of its stations (DIF-4, DIF-5): whatever has
 * happened to the bills since it was written, an old message never puts anything back.
 */
import type { PlatformMessageStation } from '../../src/domain/difference-message.ts';
import {
  listPartnerAccountIds,
  listPartnerBillSidesOfMonths,
  listPlatformAccounts,
  listPlatformBillSides,
} from '../../src/store/difference-inputs.ts';
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import { listStationsMappedTo } from '../../src/store/station-units.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import {
  type PlacedStation,
  platformSideOf,
  requirePartnerAccount,
  type StationSides,
} from './read-sides.ts';

/** The message names the platform stations itself, so the mapping is read once, under their guards. */
export async function lockPlatformStations(
  tx: Transaction,
  partnerOrgId: string,
  stations: readonly PlatformMessageStation[],
): Promise<PlacedStation<PlatformMessageStation>[]> {
  const ids = stations.map((station) => station.platformStationId);
  await lockGuards(
    tx,
    ids.map((id) => ({ key: platformStationGuard(id) })),
  );
  const mapped = await listStationsMappedTo(tx, partnerOrgId, ids);
  return stations.map((message) => ({ message, station: mapped.get(message.platformStationId) ?? UNMAPPED }));
}

const UNMAPPED = {
  partnerStationNo: '',
  partnerStationId: '',
  platformStationId: null,
  projectCompanyId: '0',
};

/** A partner's side that has no bill is empty; nothing of a message is overtaken, since it carries no order number. */
export async function readPlatformSides(
  tx: Transaction,
  partnerOrgId: string,
  placed: readonly PlacedStation<PlatformMessageStation>[],
): Promise<StationSides<PlatformMessageStation>[]> {
  const stationNos = placed.map(({ station }) => station.partnerStationNo);
  const months = [
    ...new Set(placed.flatMap(({ message }) => message.bills.map((bill) => bill.billYearMonth))),
  ];
  const partnerAccounts = await listPartnerAccountIds(tx, partnerOrgId, stationNos);
  const partnerBills = await listPartnerBillSidesOfMonths(tx, partnerOrgId, stationNos, months);
  const platformIds = placed.map(({ message }) => message.platformStationId);
  const accounts = await listPlatformAccounts(tx, partnerOrgId, platformIds);
  const platformBills = await listPlatformBillSides(
    tx,
    accounts.map((account) => account.accountId),
    months,
  );
  const billOf = new Map(
    partnerBills.map((bill) => [`${bill.partnerStationNo}/${bill.billYearMonth}`, bill]),
  );
  return placed.map((one) => {
    const { partnerStationNo } = one.station;
    return {
      placed: one,
      platformStationId: one.message.platformStationId,
      months: one.message.bills.map(({ billYearMonth }) => {
        const bill = billOf.get(`${partnerStationNo}/${billYearMonth}`) ?? null;
        if (bill !== null) requirePartnerAccount(bill, bill.billId, partnerStationNo);
        return { billYearMonth, bill, rowNo: null };
      }),
      superseded: [],
      batchDeduction: null,
      partnerAccountId: partnerAccounts.get(partnerStationNo) ?? null,
      ...platformSideOf(one.message.platformStationId, accounts, platformBills),
    };
  });
}
