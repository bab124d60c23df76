/** Comparing and keeping: the ledger's rows of a message, read back and checked, and the monthly summaries (DIF-7 to DIF-9). */
import { compareSides } from '../../src/domain/difference.ts';
import { differenceKey, faultOfReadBack } from '../../src/domain/read-back.ts';
import { summaryMoves } from '../../src/domain/summary-moves.ts';
import { assert, Failure } from '../../src/errors.ts';
import type { PartnerBillSide, PartnerTerms } from '../../src/store/difference-inputs.ts';
import {
  type DifferenceRow,
  listDifferences,
  moveSummaries,
  type StoredDifference,
  upsertDifferences,
} from '../../src/store/differences.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { ComparedMonth, StationSides } from './read-sides.ts';

/** A compared station-month: its difference as read back, the partner's bill and the pushed row that it speaks of. */
export interface Fact {
  readonly difference: StoredDifference;
  readonly bill: PartnerBillSide | null;
  readonly rowNo: number | null;
}

/** DIF-7 to DIF-9: compare, upsert, read back, check, move the summaries by what changed. */
export async function writeDifferences(
  tx: Transaction,
  terms: PartnerTerms,
  sides: readonly StationSides[],
): Promise<Fact[]> {
  const compared = sides.flatMap((side) => side.months.map((compare) => ({ side, compare })));
  const rows = compared.map(({ side, compare }) => differenceOf(terms, side, compare)).sort(byKey);
  if (rows.length === 0) return [];
  const stations = [...new Set(rows.map((row) => row.stationId))];
  const months = [...new Set(rows.map((row) => row.shareMonth))];
  const keys = new Set(rows.map(differenceKey));
  const read = async () =>
    (await listDifferences(tx, terms.partnerOrgId, stations, months)).filter((row) =>
      keys.has(differenceKey(row)),
    );
  const before = await read();
  await upsertDifferences(tx, rows);
  const after = checkReadBack(rows, await read());
  await moveSummaries(tx, summaryMoves(before, [...after.values()]));
  return compared.map(({ side, compare: { billYearMonth, bill, rowNo } }) => ({
    difference: after.get(differenceKey({ stationId: side.platformStationId, shareMonth: billYearMonth }))!,
    bill,
    rowNo,
  }));
}

/** The order number of a side that has no bill. */
const NO_ORDER = '0';

function differenceOf(terms: PartnerTerms, side: StationSides, compare: ComparedMonth): DifferenceRow {
  const { billYearMonth, bill } = compare;
  const ours = side.platformBills.get(billYearMonth) ?? null;
  const comparison = compareSides(bill, ours, terms.tolerance);
  return {
    partnerOrgId: terms.partnerOrgId,
    stationId: side.platformStationId,
    shareMonth: billYearMonth,
    projectCompanyId: side.placed.station.projectCompanyId,
    partnerBillId: bill?.billId ?? null,
    platformBillId: ours?.billId ?? null,
    partnerAccountId: bill?.accountId ?? side.partnerAccountId,
    platformAccountId: side.platformAccountIds[0] ?? null,
    ...comparison,
    partnerQueryStatus: bill?.partnerQueryStatus ?? null,
    acceptNo: bill?.acceptNo ?? NO_ORDER,
    dataVersion: bill?.dataVersion ?? NO_ORDER,
  };
}

/** DIF-8: every breach fails all; downstream uses the ids that were read back. */
function checkReadBack(
  rows: readonly DifferenceRow[],
  found: readonly StoredDifference[],
): Map<string, StoredDifference> {
  const fault = faultOfReadBack(rows, found);
  // These two are promises of ours: of the keys' order in a message, and of the table's unique key.
  assert(fault?.code !== 'READ_TWICE', `difference ${fault?.key} was read back twice`);
  assert(fault?.code !== 'NAMED_TWICE', `a message names station-month ${fault?.key} twice`);
  if (fault !== null)
    throw new Failure(
      'DIFFERENCE_READ_BACK',
      `The difference of ${fault.key} was read back other than it was written (${fault.code})`,
    );
  return new Map(found.map((row) => [differenceKey(row), row]));
}

function byKey(left: DifferenceRow, right: DifferenceRow): number {
  const byStation = BigInt(left.stationId) - BigInt(right.stationId);
  if (byStation !== 0n) return byStation < 0n ? -1 : 1;
  return left.shareMonth < right.shareMonth ? -1 : 1;
}
