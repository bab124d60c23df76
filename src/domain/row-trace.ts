/** One pushed bill and what became of it (COV-3). */
import { FUNNEL_STAGES, type FunnelStage, type PlaceName, placeName } from './place.ts';

/** What a task that a row passed through, or waits for, said last. */
export interface TaskWord {
  readonly code: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export interface AccountWord {
  readonly outcome: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/** The row as the database has it, with everything that it points at. */
export interface TracedRow {
  readonly rowNo: number;
  readonly receiptIndex: number;
  readonly accepted: boolean;
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly rowId: string | null;
  /** CNY; what the row counts as in every sum. */
  readonly rent: string;
  readonly pointer: string | null;
  readonly message: string | null;
  readonly place: number;
  readonly leftAt: number | null;
  readonly reason: string | null;
  readonly billId: string | null;
  readonly diffId: string | null;
  readonly snapshotGeneration: number | null;
  readonly supersededByPushId: string | null;
  /** The push that the bill carries now. */
  readonly billPushId: string | null;
  readonly pushId: string;
  readonly station: TaskWord;
  readonly difference: TaskWord;
  readonly account: TaskWord;
  readonly accountOutcome: AccountWord;
  readonly snapshot: TaskWord;
}

export interface RowTrace {
  readonly index: number;
  readonly rowNo: number;
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly rowId: string | null;
  readonly rent: string;
  readonly receipt: 'ACCEPTED' | 'REFUSED';
  readonly place: PlaceName;
  /** The funnel stage that it did not reach; null while under way or at the goal. */
  readonly leftAt: FunnelStage | null;
  readonly reason: string | null;
  readonly pointer: string | null;
  /** Why it was refused, or what the work that it waits for, or failed in, said last. */
  readonly message: string | null;
  readonly lastError: { readonly code: string; readonly message: string | null } | null;
  readonly billId: string | null;
  readonly diffId: string | null;
  /** Of the station's task. */
  readonly taskCode: string | null;
  readonly differenceTaskCode: string | null;
  readonly accountTaskCode: string | null;
  readonly accountOutcome: string | null;
  readonly snapshotTaskCode: string | null;
  readonly snapshotGeneration: number | null;
  readonly supersededByPushId: string | null;
  /** An ended row keeps its end; this push has replaced its bill since (COV-2). */
  readonly replacedByPushId: string | null;
}

export function traceOf(row: TracedRow): RowTrace {
  const lastError = lastErrorOf(row);
  return {
    index: row.receiptIndex,
    rowNo: row.rowNo,
    partnerStationNo: row.partnerStationNo,
    billYearMonth: row.billYearMonth,
    rowId: row.rowId,
    rent: row.rent,
    receipt: row.accepted ? 'ACCEPTED' : 'REFUSED',
    place: placeName(row.place),
    leftAt: row.leftAt === null ? null : (FUNNEL_STAGES[row.leftAt] ?? null),
    reason: row.reason,
    pointer: row.pointer,
    message: row.message ?? lastError?.message ?? null,
    lastError,
    billId: row.billId,
    diffId: row.diffId,
    taskCode: row.station.code,
    differenceTaskCode: row.difference.code,
    accountTaskCode: row.account.code,
    accountOutcome: row.accountOutcome.outcome,
    snapshotTaskCode: row.snapshot.code,
    snapshotGeneration: row.snapshotGeneration,
    supersededByPushId: row.supersededByPushId,
    replacedByPushId: row.billPushId !== null && row.billPushId !== row.pushId ? row.billPushId : null,
  };
}

/** Of the task that the row waits for or failed in; what an earlier task of its said is over. */
function lastErrorOf(row: TracedRow): RowTrace['lastError'] {
  const word = wordOf(row);
  return word === null || word.errorCode === null
    ? null
    : { code: word.errorCode, message: word.errorMessage };
}

function wordOf(row: TracedRow): TaskWord | AccountWord | null {
  switch (placeName(row.place)) {
    case 'STATION_PENDING':
    case 'STATION_FAILED':
    case 'CANCELLED':
      return row.station;
    case 'DIFF_PENDING':
    case 'DIFF_FAILED':
      return row.difference;
    case 'ACCOUNT_PENDING':
    case 'ACCOUNT_FAILED':
    case 'SKIPPED':
      return row.accountOutcome.errorCode === null ? row.account : row.accountOutcome;
    case 'SNAPSHOT_PENDING':
    case 'SNAPSHOT_FAILED':
      return row.snapshot;
    default:
      return null;
  }
}
