/**
 * Requesting snapshots (SNP-1): accept-or-count-up, in the transaction of the change that makes the read model stale.
 * Split in two, because the capacity must be known before anything is changed (ACC-3).
 */
import { routeOf } from '../../queues/route.ts';
import { type Traced, tracedBy } from '../domain/parent-trace.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { Failure } from '../errors.ts';
import { moveSnapshotWaiters } from '../store/places.ts';
import { lockSnapshotTasks, renewSnapshotTasks, type SnapshotTaskData } from '../store/snapshot-requests.ts';
import type { Transaction } from '../store/transaction.ts';
import { acceptTasks } from './accept-tasks.ts';

/** SNP-1: months that one task may name. */
export const SNAPSHOT_MONTHS_MAX = 240;

export interface SnapshotRequest extends Traced {
  readonly partnerOrgId: string;
  readonly platformStationId: string;
  readonly months: readonly string[];
  readonly source: string;
  /** CREATE makes the rows that are missing; else only rows that exist are refreshed (SNP-3). */
  readonly mode?: 'CREATE';
}

interface PlannedRequest {
  readonly platformStationId: string;
  readonly code: string;
  readonly data: SnapshotTaskData;
  readonly existing: { readonly id: string; readonly generation: number; readonly failed: boolean } | null;
}

export interface RequestedSnapshot {
  readonly platformStationId: string;
  readonly taskId: string;
  /** The generation that carries this request; a run of it or a later one answers it. */
  readonly generation: number;
}

/**
 * Locks the tasks and works out what each would become. The caller holds the platform stations' guards.
 * @throws Failure `SNAPSHOT_TASK_CANCELLED` (a person must decide), `SNAPSHOT_CAPACITY`
 */
export async function planSnapshotRequests(
  tx: Transaction,
  requests: readonly SnapshotRequest[],
): Promise<PlannedRequest[]> {
  const found = await lockSnapshotTasks(tx, requests.map(snapshotTaskCode));
  const byCode = new Map(found.map((task) => [task.taskCode, task]));
  return requests.map((request) => {
    const code = snapshotTaskCode(request);
    const task = byCode.get(code);
    if (task?.status === TaskStatus.CANCELLED) {
      const message = `The snapshot task of platform station ${request.platformStationId} was cancelled; a person must decide`;
      throw new Failure('SNAPSHOT_TASK_CANCELLED', message);
    }
    const open = task !== undefined && task.status !== TaskStatus.SUCCESS ? task.taskData.months : [];
    const months = [...new Set([...open, ...request.months])].sort();
    if (months.length > SNAPSHOT_MONTHS_MAX) {
      throw new Failure(
        'SNAPSHOT_CAPACITY',
        `${months.length} months are more than the ${SNAPSHOT_MONTHS_MAX} of one snapshot task`,
      );
    }
    const openCreates =
      task !== undefined && task.status !== TaskStatus.SUCCESS ? task.taskData.createMonths : [];
    const data = dataOf(request, months, openCreates ?? []);
    const existing =
      task === undefined
        ? null
        : { id: task.id, generation: task.requestGeneration, failed: task.status === TaskStatus.FAILED };
    return { platformStationId: request.platformStationId, code, data, existing };
  });
}

/** A task that was asked to create and to refresh creates only the months that it was asked to create. */
function dataOf(
  { partnerOrgId, platformStationId, months: asked, source, mode, parentTraceId }: SnapshotRequest,
  months: readonly string[],
  openCreates: readonly string[],
): SnapshotTaskData {
  const common = { partnerOrgId, platformStationId, months, source, ...tracedBy(parentTraceId) };
  const createMonths = [...new Set([...openCreates, ...(mode === 'CREATE' ? asked : [])])].sort();
  if (createMonths.length === 0) return { ...common, mode: 'EXISTING_ONLY_REFRESH' };
  return { ...common, mode: 'CREATE', createMonths };
}

export async function submitSnapshotRequests(
  tx: Transaction,
  planned: readonly PlannedRequest[],
): Promise<RequestedSnapshot[]> {
  const fresh = planned.filter((request) => request.existing === null);
  const accepted = await acceptTasks(tx, fresh.map(seedOf));
  await renewSnapshotTasks(
    tx,
    planned.flatMap(({ existing, data }) => (existing === null ? [] : [{ id: existing.id, data }])),
  );
  for (const { existing } of planned) if (existing?.failed === true) await reopenWaiters(tx, existing.id);
  const idOf = new Map(accepted.map((task) => [task.taskCode, task.id]));
  return planned.map(({ platformStationId, code, existing }) => ({
    platformStationId,
    taskId: existing?.id ?? idOf.get(code)!,
    generation: existing === null ? 1 : existing.generation + 1,
  }));
}

/** The task is tried again by itself, and so are the rows of earlier requests that had failed with it (COV-2). */
async function reopenWaiters(tx: Transaction, taskId: string): Promise<void> {
  const move = { from: ['SNAPSHOT_FAILED'], to: 'SNAPSHOT_PENDING', leftAt: null, reason: null } as const;
  await moveSnapshotWaiters(tx, taskId, move);
}

export function snapshotTaskCode(request: { partnerOrgId: string; platformStationId: string }): string {
  return `BDS:${request.partnerOrgId}:${request.platformStationId}`;
}

function seedOf({ code, data }: PlannedRequest) {
  const { stage, taskType, attemptsMax } = routeOf('bill-snapshot');
  const { partnerOrgId } = data;
  return {
    stage,
    taskType,
    taskCode: code,
    businessKey: code,
    data,
    partnerOrgId,
    pushId: '0',
    maxRetryCount: attemptsMax,
  };
}
