/**
 * Snapshot stage: brings the read model of platform stations' months up to date, by request generation (SNP rules).
 * Reads: differences, partner bills. Writes: existing bill-dimension snapshots, missing ones where asked to, places.
 * Hands on: nothing; a pushed row ends here. Guarded by: slot, platform station guards, generation.
 */
import type { StageName } from '../src/domain/stage.ts';
import type { Failure } from '../src/errors.ts';
import { lockGuards, platformStationGuard } from '../src/store/guards.ts';
import { endSnapshotRows, moveSnapshotWaiters, type PlaceMove } from '../src/store/places.ts';
import { resetTriesIfRenewed, type SnapshotTaskData } from '../src/store/snapshot-requests.ts';
import {
  insertMissingSnapshots,
  refreshExistingSnapshots,
  type SnapshotRefresh,
} from '../src/store/snapshots.ts';
import type { TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';

export function snapshotActor(): StageHandler {
  return { stage: 'bill-snapshot' satisfies StageName, work, onFailure, onHalt };
}

async function work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
  const refreshes = tasks.map(refreshOf);
  await lockGuards(
    tx,
    refreshes.map(({ platformStationId }) => ({ key: platformStationGuard(platformStationId) })),
  );
  await insertMissingSnapshots(tx, tasks.map(creationOf));
  await refreshExistingSnapshots(tx, refreshes);
  await endSnapshotRows(tx, refreshes);
  const ending: Ending = { kind: 'succeeded-unless-renewed' };
  return new Map(tasks.map((task) => [task.id, ending]));
}

/** SNP-2: the last request is always carried out. A run that broke after it was asked again fails no newer request. */
async function onFailure(tx: Transaction, task: ClaimedTask, failure: Failure): Promise<Ending> {
  if (await resetTriesIfRenewed(tx, task)) return { kind: 'postponed', dueInMs: 0 };
  return { kind: 'failed', failure };
}

async function onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
  const moves: Record<Halt, PlaceMove> = {
    FAILED: { from: ['SNAPSHOT_PENDING'], to: 'SNAPSHOT_FAILED', leftAt: 'snapshotCurrent', reason },
    CANCELLED: {
      from: ['SNAPSHOT_PENDING', 'SNAPSHOT_FAILED'],
      to: 'CANCELLED',
      leftAt: 'snapshotCurrent',
      reason,
    },
    REOPENED: { from: ['SNAPSHOT_FAILED'], to: 'SNAPSHOT_PENDING', leftAt: null, reason: null },
  };
  await moveSnapshotWaiters(tx, task.id, moves[halt]);
}

/** The generation that was claimed: what was asked for since is answered by another run (SNP-2). */
function refreshOf(task: ClaimedTask): SnapshotRefresh {
  const { partnerOrgId, platformStationId, months } = task.taskData as SnapshotTaskData;
  return { taskId: task.id, generation: task.requestGeneration, partnerOrgId, platformStationId, months };
}

/** SNP-3: the months of which a missing row is made; none where only existing rows are refreshed. */
function creationOf(task: ClaimedTask) {
  const { partnerOrgId, platformStationId, createMonths } = task.taskData as SnapshotTaskData;
  return { partnerOrgId, platformStationId, months: createMonths ?? [] };
}
