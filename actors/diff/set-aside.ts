/**
 * Stations that cannot be compared, found before anything is written, do not hold the others back (DIF-16): they become a
 * message of their own that fails with its reason and can be retried when it is mended. What breaks unexpectedly
 * splits the message instead.
 */
import {
  type DifferenceMessage,
  type MessageStation,
  rowNosOf,
  withStations,
} from '../../src/domain/difference-message.ts';
import { Failure } from '../../src/errors.ts';
import { assignToMessage } from '../../src/store/diff-handovers.ts';
import { moveRows } from '../../src/store/places.ts';
import { failNewTask } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { ClaimedTask } from '../../src/tasks/stage-handler.ts';
import { acceptMessage } from './accept-message.ts';
import type { PlacedStation, StationSides } from './read-sides.ts';

export interface Aside {
  readonly station: MessageStation;
  readonly failure: Failure;
}

/** DEC-3: bills commit without a platform station, but there is nothing to compare them with. */
export function withoutPlatform(stations: readonly PlacedStation[]): Aside[] {
  return stations
    .filter(({ station }) => station.platformStationId === null)
    .map(({ message }) => ({
      station: message,
      failure: new Failure(
        'NO_PLATFORM_STATION',
        'The station mapping names no platform station; complete the mapping, then run this task again',
        { retryable: false },
      ),
    }));
}

/**
 * DIF-11: each side must be unique; no row is picked. DIF-10: a batch's deduction must be found where others have theirs.
 * A station all of whose bills went on to a later push has left the message (DIF-5): nothing of it is compared.
 */
export function withBrokenFacts(sides: readonly StationSides[], message: DifferenceMessage): Aside[] {
  const anyDeduction = message.requestparams.stations.some((station) => station.batchDeduction !== null);
  return sides.flatMap(({ placed, current, platformAccountIds, platformStationId }) => {
    if (current.length === 0) return [];
    if (platformAccountIds.length > 1) {
      const named = `Platform station ${platformStationId} has ${platformAccountIds.length} accounts of this partner`;
      const failure = new Failure('DUPLICATE_ACCOUNT', `${named}; leave one, then run this task again`, {
        retryable: false,
      });
      return [{ station: placed.message, failure }];
    }
    // A station that had no platform station when its bills were written has no deduction of its batch.
    if (anyDeduction && placed.message.batchDeduction === null) {
      const failure = new Failure(
        'NO_BATCH_DEDUCTION',
        'The station was handed over before it had a platform station, so without its batch deduction; run this task to go on without the pre-rent check, or push the station again',
        {
          retryable: false,
        },
      );
      return [{ station: placed.message, failure }];
    }
    return [];
  });
}

/** One failed message for each reason; its rows say why they stay. */
export async function setAside(
  tx: Transaction,
  task: ClaimedTask,
  message: DifferenceMessage,
  asides: readonly Aside[],
): Promise<void> {
  const nowMs = Date.now();
  for (const [code, group] of Map.groupBy(asides, (aside) => aside.failure.code)) {
    const stations = group.map((aside) => aside.station);
    const part = withStations(message, stations, nowMs);
    const accepted = await acceptMessage(tx, task.partnerOrgId, part);
    await failNewTask(tx, accepted.id, { code, message: group[0]!.failure.message });
    await assignToMessage(tx, {
      stationTaskIds: stations.map((station) => station.stationTaskId),
      fromTaskId: task.id,
      toTaskId: accepted.id,
    });
    await moveRows(tx, message.requestparams.pushId, rowNosOf(stations), {
      from: ['DIFF_PENDING', 'DIFF_FAILED'],
      to: 'DIFF_FAILED',
      leftAt: 'inDifference',
      reason: code,
    });
  }
}

/** The halves keep the parent's start time and trace; the caller ends the parent as SPLIT in the same transaction. */
export async function splitMessage(
  tx: Transaction,
  task: ClaimedTask,
  message: DifferenceMessage,
): Promise<string[]> {
  const { stations } = message.requestparams;
  const middle = Math.ceil(stations.length / 2);
  const nowMs = Date.now();
  const codes: string[] = [];
  for (const half of [stations.slice(0, middle), stations.slice(middle)]) {
    const part = withStations(message, half, nowMs);
    const accepted = await acceptMessage(tx, task.partnerOrgId, part);
    await assignToMessage(tx, {
      stationTaskIds: half.map((station) => station.stationTaskId),
      fromTaskId: task.id,
      toTaskId: accepted.id,
    });
    codes.push(accepted.taskCode);
  }
  return codes;
}
