/** Statements on the rows of a push: as they came, with their receipts, and the narrow row that says where each is. */

import { funnelStageNumber, Place } from '../domain/place.ts';
import type { BillValues, StationValues } from '../domain/pushed-fields.ts';
import type { Receipt } from '../domain/receipt.ts';
import { placeOfRefusal, type Refusal } from '../domain/refusal.ts';
import type { Sql, SqlValue } from './sql.ts';

export interface NewPushedRow {
  readonly rowNo: number;
  readonly receiptIndex: number;
  readonly refusal: Refusal | null;
  readonly shownStationNo: string | null;
  readonly shownMonth: string | null;
  readonly shownRowId: string | null;
  readonly contentHash: string;
  readonly station: StationValues;
  readonly bill: BillValues;
}

/** Rows with their places, in one go; the caller keeps them to some hundreds at a time, ascending by number. */
export async function insertPushedRows(
  sql: Sql,
  pushId: string,
  rows: readonly NewPushedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql.changeExactly(
    rows.length,
    'writing pushed rows',
    `INSERT INTO pushed_row
       (push_id, row_no, receipt_index, accepted, refusal_reason, pointer, message, row_id, content_hash,
        partner_station_no, partner_station_id, household_name, rent_pay_method, bill_year_month, settlement_amount,
        share_ratio, period, sharing_block_count, unit_price, rent, pre_rent, freeze_amount, deduction_amount, remark,
        reason, settlement_batch_no, is_supplement, data_version)
     VALUES ${tuples(rows.length, 28)}`,
    rows.flatMap((row) => rowValues(pushId, row)),
  );
  await sql.changeExactly(
    rows.length,
    'placing pushed rows',
    `INSERT INTO pushed_row_place (push_id, row_no, rent, place, left_at, reason) VALUES ${tuples(rows.length, 6)}`,
    rows.flatMap((row) => placeValues(pushId, row)),
  );
}

function rowValues(pushId: string, { refusal, station, bill, ...row }: NewPushedRow): SqlValue[] {
  return [
    pushId,
    row.rowNo,
    row.receiptIndex,
    refusal === null ? 1 : 0,
    refusal?.reason ?? null,
    refusal?.pointer ?? null,
    refusal?.message ?? null,
    row.shownRowId,
    row.contentHash,
    row.shownStationNo,
    station.partnerStationId,
    station.householdName,
    station.rentPayMethod,
    row.shownMonth,
    bill.settlementAmount,
    bill.shareRatio,
    bill.period,
    bill.sharingBlockCount,
    bill.unitPrice,
    bill.rent,
    bill.preRent,
    bill.freezeAmount,
    bill.deductionAmount,
    bill.remark,
    bill.reason,
    bill.settlementBatchNo,
    bill.isSupplement ?? 0,
    bill.dataVersion,
  ];
}

/** COV-1, COV-2: an accepted row waits for its station; a refused one has left already. */
function placeValues(pushId: string, row: NewPushedRow): SqlValue[] {
  const rent = row.bill.rent ?? '0.00';
  if (row.refusal === null) return [pushId, row.rowNo, rent, Place.STATION_PENDING, null, null];
  const { place, leftAt } = placeOfRefusal(row.refusal.reason);
  return [pushId, row.rowNo, rent, place, funnelStageNumber(leftAt), row.refusal.reason];
}

function tuples(count: number, width: number): string {
  const tuple = `(${new Array(width).fill('?').join(', ')})`;
  return new Array(count).fill(tuple).join(', ');
}

/** Receipts as they were given, in request order, after the one with index `after` (-1 is from the start). */
export async function listReceipts(
  sql: Sql,
  pushId: string,
  after: number,
  limit: number,
): Promise<Receipt[]> {
  const rows = await sql.many<FlatReceipt>(
    `SELECT receipt_index receiptIndex, accepted, refusal_reason reason, pointer, message, row_id rowId,
            content_hash contentHash, partner_station_no partnerStationNo, bill_year_month billYearMonth
       FROM pushed_row WHERE push_id = ? AND receipt_index > ? ORDER BY receipt_index LIMIT ${limit}`,
    [pushId, after],
  );
  return rows.map((row) => ({
    index: row.receiptIndex,
    partnerStationNo: row.partnerStationNo,
    billYearMonth: row.billYearMonth,
    rowId: row.rowId,
    receipt: row.accepted === 1 ? 'ACCEPTED' : 'REFUSED',
    reason: row.reason,
    pointer: row.pointer,
    message: row.message,
    contentHash: row.contentHash,
  }));
}

interface FlatReceipt extends Omit<Receipt, 'index' | 'receipt'> {
  readonly receiptIndex: number;
  readonly accepted: number;
}
