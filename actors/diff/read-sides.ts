/** What a push's message speaks of, as it is now: both sides of each of its station-months, under the stations' guards (DIF-5). */
import type {
  DifferenceMessage,
  MessageStation,
  PlatformMessageStation,
} from '../../src/domain/difference-message.ts';
import { Failure } from '../../src/errors.ts';
import {
  listPartnerBillSides,
  listPlatformAccounts,
  listPlatformBillSides,
  type PartnerBillSide,
  type PlatformAccountId,
  type PlatformBillSide,
} from '../../src/store/difference-inputs.ts';
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import { listMappedStations, type MappedStation } from '../../src/store/station-units.ts';
import type { Transaction } from '../../src/store/transaction.ts';

/** How often a mapping may change between reading it and holding its guards before the message gives up for now. */
const MAPPING_READS_MAX = 3;

export type AnyStation = MessageStation | PlatformMessageStation;

export interface PlacedStation<Station = AnyStation> {
  readonly message: Station;
  readonly station: MappedStation;
}

/** The mapping is read, the guards that it names are locked, the mapping is read again; if it changed, again (DIF-5). */
export async function lockStations(
  tx: Transaction,
  partnerOrgId: string,
  message: DifferenceMessage,
): Promise<PlacedStation<MessageStation>[]> {
  const numbers = message.requestparams.stations.map((station) => station.partnerStationNo);
  let known = await listMappedStations(tx, partnerOrgId, numbers);
  for (let reads = 0; reads < MAPPING_READS_MAX; reads++) {
    await lockGuards(tx, guardsOf(known));
    const again = await listMappedStations(tx, partnerOrgId, numbers);
    const changed = numbers.some((number) => platformOf(again, number) !== platformOf(known, number));
    if (!changed)
      return message.requestparams.stations.map((station) => ({
        message: station,
        station: mapped(again, station),
      }));
    known = again;
  }
  throw new Failure('MAPPING_CHANGES', 'The station mapping keeps changing; it is tried again');
}

function guardsOf(known: ReadonlyMap<string, MappedStation>) {
  return [...known.values()].flatMap(({ platformStationId }) =>
    platformStationId === null ? [] : [{ key: platformStationGuard(platformStationId) }],
  );
}

function platformOf(known: ReadonlyMap<string, MappedStation>, number: string): string | null {
  return known.get(number)?.platformStationId ?? null;
}

function mapped(
  known: ReadonlyMap<string, MappedStation>,
  { partnerStationNo }: MessageStation,
): MappedStation {
  const unmapped = { partnerStationNo, partnerStationId: '', platformStationId: null, projectCompanyId: '0' };
  return known.get(partnerStationNo) ?? unmapped;
}

/** A station-month to compare: the partner's bill as it is now, and the pushed row that it came with. */
export interface ComparedMonth {
  readonly billYearMonth: string;
  /** Null: the partner has no bill of it. */
  readonly bill: PartnerBillSide | null;
  /** Null where the message carries no pushed rows. */
  readonly rowNo: number | null;
}

/** A station with its platform station, both sides of what the message compares there, and our accounts. */
export interface StationSides<Station = AnyStation> {
  readonly placed: PlacedStation<Station>;
  readonly platformStationId: string;
  readonly months: readonly ComparedMonth[];
  readonly superseded: readonly { readonly rowNo: number; readonly byPushId: string }[];
  readonly batchDeduction: string | null;
  readonly partnerAccountId: string | null;
  /** Empty: no platform account, which is an empty side. More than one: a duplicate (DIF-11). */
  readonly platformAccountIds: readonly string[];
  readonly platformBills: ReadonlyMap<string, PlatformBillSide>;
}

/** @throws Failure `PARTNER_ACCOUNT_MISSING`; a missing platform account is an empty one (DIF-5) */
export async function readSides(
  tx: Transaction,
  partnerOrgId: string,
  acceptNo: string,
  stations: readonly PlacedStation<MessageStation>[],
): Promise<StationSides<MessageStation>[]> {
  const bills = await listPartnerBillSides(
    tx,
    stations.flatMap(({ message }) => message.bills.map((bill) => bill.billId)),
  );
  const billById = new Map(bills.map((bill) => [bill.billId, bill]));
  const platformIds = stations.map(({ station }) => station.platformStationId!);
  const accounts = await listPlatformAccounts(tx, partnerOrgId, platformIds);
  const months = [...new Set(bills.map((bill) => bill.billYearMonth))];
  const platformBills = await listPlatformBillSides(
    tx,
    accounts.map((account) => account.accountId),
    months,
  );
  return stations.map((placed) => {
    const platformStationId = placed.station.platformStationId!;
    const split = splitByOrder(placed.message, acceptNo, billById);
    return {
      placed,
      platformStationId,
      ...split,
      batchDeduction: placed.message.batchDeduction,
      partnerAccountId: split.months[0]?.bill.accountId ?? null,
      ...platformSideOf(platformStationId, accounts, platformBills),
    };
  });
}

/** Our side of one station, out of what was read of all. */
export function platformSideOf(
  platformStationId: string,
  accounts: readonly PlatformAccountId[],
  bills: readonly PlatformBillSide[],
): Pick<StationSides, 'platformAccountIds' | 'platformBills'> {
  const own = <T extends { readonly platformStationId: string }>(rows: readonly T[]) =>
    rows.filter((row) => row.platformStationId === platformStationId);
  return {
    platformAccountIds: own(accounts).map((one) => one.accountId),
    platformBills: new Map(own(bills).map((one) => [one.billYearMonth, one])),
  };
}

/** DIF-5: a row whose bill carries another order number by now leaves the message; the winner's own message is certain. */
function splitByOrder(
  message: MessageStation,
  acceptNo: string,
  billById: ReadonlyMap<string, PartnerBillSide>,
) {
  const months: (ComparedMonth & { readonly bill: PartnerBillSide })[] = [];
  const superseded: { rowNo: number; byPushId: string }[] = [];
  for (const row of message.bills) {
    const bill = billById.get(row.billId);
    requirePartnerAccount(bill, row.billId, message.partnerStationNo);
    if (bill.acceptNo === acceptNo && bill.dataVersion === row.dataVersion)
      months.push({ billYearMonth: bill.billYearMonth, bill, rowNo: row.rowNo });
    else superseded.push({ rowNo: row.rowNo, byPushId: bill.pushId });
  }
  return { months, superseded };
}

/** @throws Failure `PARTNER_ACCOUNT_MISSING` */
export function requirePartnerAccount(
  bill: PartnerBillSide | undefined,
  billId: string,
  partnerStationNo: string,
): asserts bill is PartnerBillSide {
  if (bill !== undefined && bill.accountId !== null) return;
  throw new Failure(
    'PARTNER_ACCOUNT_MISSING',
    `The partner account of bill ${billId} (station ${partnerStationNo}) is missing`,
  );
}
