/**
 * Difference stage: compares what a partner pushed with our own bills, whichever of both has changed (DIF-4), keeps the
 * ledger and its monthly summaries, and submits the account refreshes that follow; one transaction a message, all or
 * nothing (DIF rules).
 * Reads: mapping, both sides' accounts and bills, partner's terms. Writes: differences, summaries, places.
 * Hands on: account tasks; for payment-disabled partners snapshot tasks. Guarded by: slot, platform station guards.
 */
import { routeOf } from '../queues/route.ts';
import {
  type AccountScope,
  buildRefreshes,
  refreshBusinessKey,
  refreshTaskCode,
  SCOPE_VERSION,
} from '../src/domain/account-refresh.ts';
import {
  type AnyDifferenceMessage,
  isPartnerMessage,
  orderOf,
  requestIdOf,
  rowsOfMessage,
} from '../src/domain/difference-message.ts';
import { eventMonth } from '../src/domain/month.ts';
import { project } from '../src/domain/projection.ts';
import type { StageName } from '../src/domain/stage.ts';
import { Failure } from '../src/errors.ts';
import { clearPaymentConclusions } from '../src/store/differences.ts';
import { markSuperseded, moveIntoDifference, moveRows, type RowInDifference } from '../src/store/places.ts';
import { recalculateAccounts, sumPaidByBill, writeProjections } from '../src/store/projections.ts';
import type { SlotRight } from '../src/store/slots.ts';
import type { TaskRow, TaskSeed } from '../src/store/tasks.ts';
import type { Store, Transaction } from '../src/store/transaction.ts';
import { acceptTasks } from '../src/tasks/accept-tasks.ts';
import type { Kick } from '../src/tasks/kick.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../src/tasks/request-snapshots.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
import { closeSegments } from './diff/close-segments.ts';
import { lockPlatformStations, readPlatformSides } from './diff/read-platform-sides.ts';
import { lockStations, type PlacedStation, readSides, type StationSides } from './diff/read-sides.ts';
import { type Aside, setAside, splitMessage, withBrokenFacts, withoutPlatform } from './diff/set-aside.ts';
import { type Fact, writeDifferences } from './diff/write-differences.ts';
import { requireTerms } from './partner-terms.ts';

export interface DiffActorNeeds {
  readonly store: Store;
  readonly kick: Kick;
}

export function diffActor(needs: DiffActorNeeds): StageHandler {
  return new DiffActor(needs);
}

class DiffActor implements StageHandler {
  readonly stage: StageName = 'income-diff';
  readonly #needs: DiffActorNeeds;

  constructor(needs: DiffActorNeeds) {
    this.#needs = needs;
  }

  async prepare(right: SlotRight): Promise<void> {
    await closeSegments(this.#needs.store, right);
  }

  async work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
    const endings = new Map<string, Ending>();
    for (const task of tasks) endings.set(task.id, await this.#workMessage(tx, task, messageOf(task)));
    return endings;
  }

  /** DIF-16: what breaks unexpectedly splits the message; infrastructure and partner-wide failures never do. */
  async onFailure(tx: Transaction, task: ClaimedTask, failure: Failure): Promise<Ending> {
    const message = messageOf(task);
    const canSplit =
      failure.reach === 'unit' && failure.retryable && message.requestparams.stations.length > 1;
    if (!canSplit) return { kind: 'failed', failure };
    const parts = await splitMessage(tx, task, message);
    tx.afterCommit(() => this.#needs.kick.kick(this.stage, task.partnerOrgId));
    return { kind: 'succeeded', finalResult: 'SPLIT', result: { parts, reason: failure.code } };
  }

  async onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
    const message = messageOf(task);
    const moves = {
      FAILED: { from: ['DIFF_PENDING'], to: 'DIFF_FAILED', leftAt: 'inDifference', reason },
      CANCELLED: { from: ['DIFF_PENDING', 'DIFF_FAILED'], to: 'CANCELLED', leftAt: 'inDifference', reason },
      REOPENED: { from: ['DIFF_FAILED'], to: 'DIFF_PENDING', leftAt: null, reason: null },
    } as const;
    await moveRows(tx, orderOf(message).pushId, rowsOfMessage(message), moves[halt]);
  }

  async #workMessage(tx: Transaction, task: ClaimedTask, message: AnyDifferenceMessage): Promise<Ending> {
    const month = requireEventMonth(message);
    const { placed, sides: allSides, terms } = await readBoth(tx, task.partnerOrgId, message);
    const asides = withoutPlatform(placed);
    asides.push(...withBrokenFacts(allSides, message));
    if (asides.length === placed.length && sameReason(asides))
      return { kind: 'failed', failure: asides[0]!.failure };
    await setAside(tx, task, message, asides);

    const sides = allSides.filter((side) => !asides.some((aside) => aside.station === side.placed.message));
    const facts = await writeDifferences(tx, terms, sides);
    await markOvertaken(tx, message, sides);
    if (terms.paymentFlow === 'DISABLED') await this.#endDisabled(tx, message, sides, facts);
    else await this.#submitRefreshes(tx, task, message, month, sides, facts);
    return {
      kind: 'succeeded',
      finalResult: 'FULL_SUCCESS',
      result: { differences: facts.length, setAside: asides.length },
    };
  }

  /** DIF-12, DIF-13, DIF-15: the account tasks are part of the transaction: without them there are no differences. */
  async #submitRefreshes(
    tx: Transaction,
    task: ClaimedTask,
    message: AnyDifferenceMessage,
    month: string,
    sides: readonly StationSides[],
    facts: readonly Fact[],
  ): Promise<void> {
    const { pushId, acceptNo } = orderOf(message);
    const scopes = scopesOf(sides, facts);
    const source = {
      partnerOrgId: task.partnerOrgId,
      requestId: requestIdOf(message),
      eventMonth: month,
      pushId,
      acceptNo,
      parentTraceId: message.parentTraceId,
    };
    const seeds = buildRefreshes(source, scopes).map((refresh): TaskSeed => {
      const { stage, taskType, attemptsMax } = routeOf('account-shard');
      const businessKey = refreshBusinessKey(task.partnerOrgId, refresh);
      const taskCode = refreshTaskCode(businessKey);
      return {
        stage,
        taskType,
        taskCode,
        businessKey,
        data: refresh,
        partnerOrgId: task.partnerOrgId,
        pushId,
        maxRetryCount: attemptsMax,
      };
    });
    const accepted = await acceptTasks(tx, seeds);
    const taskOfFact = new Map<string, string>();
    seeds.forEach((seed, index) => {
      for (const id of (seed.data as { differenceFactIds: string[] }).differenceFactIds)
        taskOfFact.set(id, accepted[index]!.id);
    });
    const rows = rowsOf(facts, (diffId) => taskOfFact.get(diffId) ?? null);
    await moveIntoDifference(tx, pushId, rows, {
      from: ['DIFF_PENDING', 'DIFF_FAILED'],
      to: 'ACCOUNT_PENDING',
      leftAt: null,
      reason: null,
    });
    if (seeds.length > 0) tx.afterCommit(() => this.#needs.kick.kick('account-shard', task.partnerOrgId));
  }

  /** DIF-6, DEC-20: fact and difference stay; NOT_APPLICABLE and 0 on all three tables; no account task follows. */
  async #endDisabled(
    tx: Transaction,
    message: AnyDifferenceMessage,
    sides: readonly StationSides[],
    facts: readonly Fact[],
  ): Promise<void> {
    const partnerOrgId = facts[0]?.difference.partnerOrgId;
    if (partnerOrgId === undefined) return;
    const months = Map.groupBy(facts, (fact) => fact.difference.stationId);
    const planned = await planSnapshotRequests(
      tx,
      [...months].map(([platformStationId, group]) => ({
        partnerOrgId,
        platformStationId,
        months: group.map((fact) => fact.difference.shareMonth),
        source: 'PAYMENT_DISABLED',
        parentTraceId: message.parentTraceId,
      })),
    );
    const paid = await sumPaidByBill(
      tx,
      facts.flatMap((fact) => fact.difference.partnerBillId ?? []),
    );
    await writeProjections(
      tx,
      facts.map((fact) => notApplicable(fact, paid)),
    );
    await clearPaymentConclusions(
      tx,
      facts.map((fact) => fact.difference.id),
    );
    await recalculateAccounts(
      tx,
      'partner',
      [...new Set(facts.flatMap((fact) => fact.bill?.accountId ?? []))].sort(),
      null,
    );
    await recalculateAccounts(
      tx,
      'platform',
      [...new Set(sides.flatMap((side) => side.platformAccountIds))].sort(),
      null,
    );
    await moveIntoDifference(tx, orderOf(message).pushId, rowsOf(facts, NO_TASK), {
      from: ['DIFF_PENDING', 'DIFF_FAILED'],
      to: 'PAYMENT_DISABLED',
      leftAt: 'paymentEnabled',
      reason: null,
    });
    await submitSnapshotRequests(tx, planned);
    tx.afterCommit(() => this.#needs.kick.kick('bill-snapshot', partnerOrgId));
  }
}

/**
 * DIF-5: the guards first, then the partner's terms, then both sides as they are now; by its entry, since a push names its
 * bills and a platform entry its station-months.
 */
async function readBoth(tx: Transaction, partnerOrgId: string, message: AnyDifferenceMessage) {
  if (isPartnerMessage(message)) {
    const placed = await lockStations(tx, partnerOrgId, message);
    const terms = await requireTerms(tx, partnerOrgId);
    const sides = await readSides(tx, partnerOrgId, orderOf(message).acceptNo, comparable(placed));
    return { placed, terms, sides };
  }
  const placed = await lockPlatformStations(tx, partnerOrgId, message.requestparams.stations);
  const terms = await requireTerms(tx, partnerOrgId);
  return { placed, terms, sides: await readPlatformSides(tx, partnerOrgId, comparable(placed)) };
}

function comparable<Station>(placed: readonly PlacedStation<Station>[]): PlacedStation<Station>[] {
  return placed.filter(({ station }) => station.platformStationId !== null);
}

/** DIF-3: never "now". */
function requireEventMonth(message: AnyDifferenceMessage): string {
  const month = eventMonth([message.startTime, message.taskMainId, message.recordTimestamp]);
  if (month !== null) return month;
  const text = 'Neither startTime, taskMainId nor the record timestamp is an instant between 2000 and 2100';
  throw new Failure('NO_EVENT_MONTH', text, { retryable: false, reach: 'partner' });
}

/** DIF-5: overtaken by a later push, whose own message is certain. */
async function markOvertaken(
  tx: Transaction,
  message: AnyDifferenceMessage,
  sides: readonly StationSides[],
): Promise<void> {
  const overtaken = sides.flatMap((side) => side.superseded);
  const { pushId } = orderOf(message);
  await markSuperseded(tx, pushId, overtaken, ['DIFF_PENDING', 'DIFF_FAILED'], 'inDifference');
}

/** DIF-11: one canonical account per (platform station, partner): the platform's, else the partner's. */
function scopesOf(sides: readonly StationSides[], facts: readonly Fact[]): AccountScope[] {
  const byStation = Map.groupBy(facts, (fact) => fact.difference.stationId);
  return sides.flatMap((side) => {
    const own = byStation.get(side.platformStationId) ?? [];
    if (own.length === 0) return [];
    const platformAccountId = side.platformAccountIds[0] ?? null;
    const { partnerAccountId } = side;
    return [
      {
        platformStationId: side.platformStationId,
        scopeVersion: SCOPE_VERSION,
        canonicalAccountId: platformAccountId ?? partnerAccountId!,
        canonicalSide: platformAccountId === null ? 'PARTNER' : 'PLATFORM',
        partnerAccountId,
        platformAccountId,
        batchDeduction: side.batchDeduction,
        factIds: own.map((fact) => fact.difference.id),
        rowNos: own.flatMap((fact) => fact.rowNo ?? []),
      } satisfies AccountScope,
    ];
  });
}

/** Nothing is payable any more; what was paid before stays paid (DEC-13). */
function notApplicable({ difference, bill }: Fact, paid: ReadonlyMap<string, string>) {
  const { id: diffId, partnerBillId, platformBillId } = difference;
  const basis = bill === null ? null : { ...bill, paid: paid.get(bill.billId) ?? '0.00' };
  return { diffId, partnerBillId, platformBillId, ...project(basis, false) };
}

const NO_TASK = () => null;

/** The pushed rows that became these facts; a platform entry has none. */
function rowsOf(facts: readonly Fact[], taskOf: (diffId: string) => string | null): RowInDifference[] {
  return facts.flatMap(({ rowNo, difference: { id: diffId } }) =>
    rowNo === null ? [] : [{ rowNo, diffId, accountTaskId: taskOf(diffId) }],
  );
}

function sameReason(asides: readonly Aside[]): boolean {
  return asides.every((aside) => aside.failure.code === asides[0]?.failure.code);
}

function messageOf(task: TaskRow): AnyDifferenceMessage {
  return task.taskData as AnyDifferenceMessage;
}
