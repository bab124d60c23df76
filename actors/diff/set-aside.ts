/**
 * Stations that cannot be compared, found before anything is written, do not hold the others back (DIF-16): they become a
 * message of their own that fails with its reason and can be retried when it is mended. What breaks unexpectedly
 * splits the message instead.
 */
import {
  type AnyDifferenceMessage,
  isPartnerMessage,
  type MessageStation,
  type PlatformMessageStation,
  rowNosOf,
  withStations,
} from '../../src/domain/difference-message.ts';
import { Failure } from '../../src/errors.ts';
import { assignToMessage } from '../../src/store/diff-handovers.ts';
import { moveRows } from '../../src/store/places.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { failNewTask } from '../../src/store/waiting-tasks.ts';
import { type AcceptedMessage, acceptMessage } from '../../src/tasks/accept-message.ts';
import type { ClaimedTask } from '../../src/tasks/stage-handler.ts';
import type { AnyStation, PlacedStation, StationSides } from './read-sides.ts';

export interface Aside {
  readonly station: AnyStation;
  readonly failure: Failure;
}

/**
 * DEC-3: bills commit without a platform station, but there is nothing to compare them with. A platform bill whose station
 * is no partner's any more belongs to no project company.
 */
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
export function withBrokenFacts(sides: readonly StationSides[], message: AnyDifferenceMessage): Aside[] {
  const anyDeduction =
    isPartnerMessage(message) &&
    message.requestparams.stations.some((station) => station.batchDeduction !== null);
  return sides.flatMap(
    ({ placed, months, batchDeduction, partnerAccountId, platformAccountIds, platformStationId }) => {
      if (months.length === 0) return [];
      if (platformAccountIds.length > 1) {
        const named = `Platform station ${platformStationId} has ${platformAccountIds.length} accounts of this partner`;
        const failure = new Failure('DUPLICATE_ACCOUNT', `${named}; leave one, then run this task again`, {
          retryable: false,
        });
        return [{ station: placed.message, failure }];
      }
      if (platformAccountIds.length === 0 && partnerAccountId === null) {
        const named = `Platform station ${platformStationId} has no account of this partner on either side`;
        const failure = new Failure('NO_ACCOUNT', `${named}; mend the accounts, then run this task again`, {
          retryable: false,
        });
        return [{ station: placed.message, failure }];
      }
      // A station that had no platform station when its bills were written has no deduction of its batch.
      if (anyDeduction && batchDeduction === null) {
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
    },
  );
}

/** One failed message for each reason; the pushed rows of a push's stations say why they stay. */
export async function setAside(
  tx: Transaction,
  task: ClaimedTask,
  message: AnyDifferenceMessage,
  asides: readonly Aside[],
): Promise<void> {
  for (const [code, group] of Map.groupBy(asides, (aside) => aside.failure.code)) {
    const stations = group.map((aside) => aside.station);
    const accepted = await giveToNewMessage(tx, task, message, stations);
    await failNewTask(tx, accepted.id, { code, message: group[0]!.failure.message });
    if (!isPartnerMessage(message)) continue;
    await moveRows(tx, message.requestparams.pushId, rowNosOf(stations as MessageStation[]), {
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
  message: AnyDifferenceMessage,
): Promise<string[]> {
  const { stations } = message.requestparams;
  const middle = Math.ceil(stations.length / 2);
  const codes: string[] = [];
  for (const half of [stations.slice(0, middle), stations.slice(middle)])
    codes.push((await giveToNewMessage(tx, task, message, half)).taskCode);
  return codes;
}

/** A message of its own for these stations; a push's hand-overs say that it has them now. */
async function giveToNewMessage(
  tx: Transaction,
  task: ClaimedTask,
  message: AnyDifferenceMessage,
  stations: readonly AnyStation[],
): Promise<AcceptedMessage> {
  const accepted = await acceptMessage(tx, task.partnerOrgId, partOf(message, stations));
  if (isPartnerMessage(message))
    await assignToMessage(tx, {
      stationTaskIds: (stations as MessageStation[]).map((station) => station.stationTaskId),
      fromTaskId: task.id,
      toTaskId: accepted.id,
    });
  return accepted;
}

function partOf(message: AnyDifferenceMessage, stations: readonly AnyStation[]): AnyDifferenceMessage {
  const nowMs = Date.now();
  if (isPartnerMessage(message)) return withStations(message, stations as MessageStation[], nowMs);
  return withStations(message, stations as PlatformMessageStation[], nowMs);
}
