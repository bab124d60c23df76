/** The statement behind row traces (COV-3): a page of a push's rows with everything that they point at. */
import type { TracedRow } from '../domain/row-trace.ts';
import type { Sql, SqlValue } from './sql.ts';

export interface TracePage {
  /** Null: any. */
  readonly place: number | null;
  /** Rows after this number. */
  readonly afterRowNo: number;
  readonly limit: number;
}

/** Ascending by row number. The page is cut first, in the narrow table; all else is found by key. */
export async function listTracedRows(sql: Sql, pushId: string, page: TracePage): Promise<TracedRow[]> {
  const placed = page.place === null ? '' : 'AND place = ?';
  const values: SqlValue[] = [pushId, page.afterRowNo, ...(page.place === null ? [] : [page.place])];
  const rows = await sql.many<FlatTrace>(
    `SELECT held.push_id pushId, held.row_no rowNo, sent.receipt_index receiptIndex, sent.accepted,
            sent.partner_station_no partnerStationNo, sent.bill_year_month billYearMonth, sent.row_id rowId,
            held.rent, sent.pointer, sent.message, held.place, held.left_at leftAt, held.reason,
            held.bill_id billId, held.diff_id diffId, held.snapshot_generation snapshotGeneration,
            held.superseded_by_push_id supersededByPushId, bill.push_id billPushId,
            station.task_code stationCode, station.error_code stationErrorCode, station.error_message stationError,
            message.task_code differenceCode, message.error_code differenceErrorCode,
            message.error_message differenceError,
            account.task_code accountCode, account.error_code accountErrorCode, account.error_message accountError,
            outcome.outcome, outcome.error_code outcomeErrorCode, outcome.error_message outcomeError,
            snapshot.task_code snapshotCode, snapshot.error_code snapshotErrorCode, snapshot.error_message snapshotError
       FROM (SELECT * FROM pushed_row_place WHERE push_id = ? AND row_no > ? ${placed} ORDER BY row_no LIMIT ${page.limit}) held
       JOIN pushed_row sent ON sent.push_id = held.push_id AND sent.row_no = held.row_no
       LEFT JOIN fi_customer_bill_partner bill ON bill.id = held.bill_id
       LEFT JOIN fi_async_task station
              ON station.task_code = CONCAT('PSB:', held.push_id, ':', sent.partner_station_no) AND sent.accepted = 1
       LEFT JOIN income_diff_handover handover ON handover.station_task_id = station.id
       LEFT JOIN fi_async_task message ON message.id = handover.message_task_id
       LEFT JOIN fi_async_task account ON account.id = held.account_task_id
       LEFT JOIN account_refresh_outcome outcome
              ON outcome.id = (SELECT MAX(latest.id) FROM account_refresh_outcome latest
                                WHERE latest.task_id = held.account_task_id
                                  AND latest.platform_station_id = handover.platform_station_id)
       LEFT JOIN fi_async_task snapshot ON snapshot.id = held.snapshot_task_id
      ORDER BY held.row_no`,
    values,
  );
  return rows.map(toTracedRow);
}

type Plain = Omit<
  TracedRow,
  'accepted' | 'station' | 'difference' | 'account' | 'accountOutcome' | 'snapshot'
>;
type TaskName = 'station' | 'difference' | 'account' | 'snapshot';

type FlatTrace = Plain & { readonly accepted: number } & {
  readonly [Column in
    | `${TaskName}Code`
    | `${TaskName | 'outcome'}ErrorCode`
    | `${TaskName | 'outcome'}Error`
    | 'outcome']: string | null;
};

function toTracedRow(row: FlatTrace): TracedRow {
  const word = (task: TaskName) => ({
    code: row[`${task}Code`],
    errorCode: row[`${task}ErrorCode`],
    errorMessage: row[`${task}Error`],
  });
  return {
    ...row,
    accepted: row.accepted === 1,
    station: word('station'),
    difference: word('difference'),
    account: word('account'),
    accountOutcome: { outcome: row.outcome, errorCode: row.outcomeErrorCode, errorMessage: row.outcomeError },
    snapshot: word('snapshot'),
  };
}
