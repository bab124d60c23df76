/** A station of a push as the station stage sees it: its task, its rows, its place on our side, its guards. */
import type { Traced } from '../../src/domain/parent-trace.ts';
import { type GuardKey, partnerStationGuard, platformStationGuard } from '../../src/store/guards.ts';
import type { WrittenBill } from '../../src/store/partner-bills.ts';
import type { RowRange } from '../../src/store/row-ranges.ts';
import type { Sql } from '../../src/store/sql.ts';
import { listMappedStations, type MappedStation } from '../../src/store/station-units.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { ClaimedTask } from '../../src/tasks/stage-handler.ts';

/** A station of a push, as its task names it. */
export interface StationData extends Traced {
  readonly pushId: string;
  readonly partnerStationNo: string;
  readonly firstRowNo: number;
  readonly lastRowNo: number;
}

/** One unit of work: the task, its rows, and where the station stands on our side. */
export interface StationUnit {
  readonly task: ClaimedTask;
  readonly data: StationData;
  readonly station: MappedStation;
}

/** The stations of these tasks, all of one partner, with their mapping as it is now. */
export async function readUnits(sql: Sql, tasks: readonly ClaimedTask[]): Promise<StationUnit[]> {
  const partnerOrgId = tasks[0]?.partnerOrgId ?? '0';
  const data = tasks.map((task) => ({ task, data: dataOf(task) }));
  const stations = await listMappedStations(
    sql,
    partnerOrgId,
    data.map((unit) => unit.data.partnerStationNo),
  );
  return data.map((unit) => ({
    ...unit,
    station: stations.get(unit.data.partnerStationNo) ?? unmapped(unit.data),
  }));
}

/** A mapping that was removed after acceptance: the bills still commit, without a platform station (DEC-3). */
function unmapped(data: StationData): MappedStation {
  return {
    partnerStationNo: data.partnerStationNo,
    partnerStationId: '',
    platformStationId: null,
    projectCompanyId: '0',
  };
}

export function dataOf(task: TaskRow): StationData {
  return task.taskData as StationData;
}

export function rangeOf(unit: StationUnit): RowRange {
  return rangeOfData(unit.data);
}

export function rangeOfData({ pushId, firstRowNo, lastRowNo }: StationData): RowRange {
  return { pushId, firstRowNo, lastRowNo };
}

export function isOf(bill: WrittenBill, { data }: StationUnit): boolean {
  return bill.pushId === data.pushId && bill.rowNo >= data.firstRowNo && bill.rowNo <= data.lastRowNo;
}

export function guardKeysOf(unit: StationUnit): GuardKey[] {
  const own = partnerStationGuard(unit.task.partnerOrgId, unit.data.partnerStationNo);
  const { platformStationId } = unit.station;
  return platformStationId === null ? [own] : [own, platformStationGuard(platformStationId)];
}
