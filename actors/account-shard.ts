/**
 * Account stage: refreshes the accounts of one task: totals, what is payable on three tables, and the request for their
 * snapshots (ACC rules). Several accounts share a transaction while all goes well; one that fails is found by making
 * the step smaller, and then fails, is tried again, and is skipped alone.
 * Reads: partner's terms, differences, partner bills, payment facts. Writes: both bills, difference, both accounts, progress, outcomes, places.
 * Hands on: snapshot tasks. Guarded by: slot, task row, platform station guards.
 */
import {
  ACCOUNTS_PER_TASK_MAX,
  type AccountRefresh,
  type AccountScope,
  afterFailure,
  afterSuccess,
  NOT_STARTED,
  type RefreshProgress,
  remainingScopes,
} from '../src/domain/account-refresh.ts';
import type { StageName } from '../src/domain/stage.ts';
import { type Failure, FencedOutError } from '../src/errors.ts';
import { type AccountOutcomeRow, insertAccountOutcomes } from '../src/store/account-scopes.ts';
import { lockGuards, platformStationGuard } from '../src/store/guards.ts';
import { markSuperseded, moveRows, moveToSnapshot, type PlaceMove } from '../src/store/places.ts';
import { lockRunningTasks, recordProgressIfRunning, type TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { Kick } from '../src/tasks/kick.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../src/tasks/request-snapshots.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
import { checkScopes, type FactsByStation, readFacts, requireAccounts } from './account-shard/read-facts.ts';
import { refreshTables, writeAccountTotals } from './account-shard/refresh-tables.ts';
import { requireTerms } from './partner-terms.ts';

/** ACC-10: the third recorded failure skips the account. */
const FAILURES_PER_ACCOUNT_MAX = 3;
/** ACC-10: when an account that failed once, twice is tried again. */
const ACCOUNT_RETRY_MS = [2_000, 10_000];

export interface AccountActorNeeds {
  readonly kick: Kick;
}

export function accountActor(needs: AccountActorNeeds): StageHandler {
  return new AccountActor(needs);
}

class AccountActor implements StageHandler {
  readonly stage: StageName = 'account-shard';
  readonly #needs: AccountActorNeeds;
  /** Accounts in the next step, where a larger one has broken; forgotten with the task's run. */
  readonly #stepSizes = new WeakMap<ClaimedTask, number>();

  constructor(needs: AccountActorNeeds) {
    this.#needs = needs;
  }

  async work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
    const endings = new Map<string, Ending>();
    for (const task of tasks) endings.set(task.id, await this.#workStep(tx, task));
    return endings;
  }

  /** ACC-10. A step of several accounts that broke has not failed yet: it is made smaller until the culprit stands alone. */
  async onFailure(tx: Transaction, task: ClaimedTask, failure: Failure): Promise<Ending> {
    if (failure.reach !== 'unit') return { kind: 'failed', failure };
    const progress = progressOf(await lockTask(tx, task));
    const step = this.#nextStep(task, progress);
    if (step.length > 1) {
      this.#stepSizes.set(task, Math.ceil(step.length / 2));
      return { kind: 'continues' };
    }
    const account = step[0];
    if (account === undefined) return { kind: 'failed', failure };
    return recordAccountFailure(tx, task, progress, account, failure);
  }

  async onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
    const refresh = refreshOf(task);
    const rowNos = remainingScopes(refresh, progressOf(task)).flatMap((scope) => scope.rowNos);
    const moves: Record<Halt, PlaceMove> = {
      FAILED: { from: ['ACCOUNT_PENDING'], to: 'ACCOUNT_FAILED', leftAt: 'refreshed', reason },
      CANCELLED: {
        from: ['ACCOUNT_PENDING', 'ACCOUNT_FAILED'],
        to: 'CANCELLED',
        leftAt: 'refreshed',
        reason,
      },
      REOPENED: { from: ['ACCOUNT_FAILED'], to: 'ACCOUNT_PENDING', leftAt: null, reason: null },
    };
    await moveRows(tx, refresh.pushId, rowNos, moves[halt]);
  }

  /** ACC-3, for as many accounts as one transaction takes; ACC-12 when none is left. */
  async #workStep(tx: Transaction, task: ClaimedTask): Promise<Ending> {
    const progress = progressOf(await lockTask(tx, task));
    const accounts = this.#nextStep(task, progress);
    if (accounts.length > 0) {
      await this.#refreshAccounts(tx, task, accounts);
      const moved = afterSuccess(progress, accounts);
      await recordProgressIfRunning(tx, task, moved);
      if (remainingScopes(refreshOf(task), moved).length > 0) return { kind: 'continues' };
      return endOf(moved);
    }
    return endOf(progress);
  }

  async #refreshAccounts(
    tx: Transaction,
    task: ClaimedTask,
    accounts: readonly AccountScope[],
  ): Promise<void> {
    const refresh = refreshOf(task);
    checkScopes(refresh, accounts);
    await lockGuards(
      tx,
      accounts.map((account) => ({ key: platformStationGuard(account.platformStationId) })),
    );
    const terms = await requireTerms(tx, task.partnerOrgId);
    await requireAccounts(tx, accounts);
    const facts = await readFacts(tx, task.partnerOrgId, accounts);
    const planned = await planSnapshotRequests(tx, snapshotRequestsOf(task, facts));
    await refreshTables(tx, refresh, accounts, facts, terms);
    const requested = await submitSnapshotRequests(tx, planned);
    await writeAccountTotals(tx, refresh, accounts);
    await this.#moveRows(tx, refresh, accounts, facts, requested);
    await insertAccountOutcomes(
      tx,
      accounts.map((account) => outcomeOf(task, account, 'REFRESHED', null)),
    );
    tx.afterCommit(() => this.#needs.kick.kick('bill-snapshot', task.partnerOrgId));
  }

  /** A row whose difference carries another push by now is SUPERSEDED; the others wait for their snapshot (ACC-8, ACC-9). */
  async #moveRows(
    tx: Transaction,
    refresh: AccountRefresh,
    accounts: readonly AccountScope[],
    facts: FactsByStation,
    requested: readonly { platformStationId: string; taskId: string; generation: number }[],
  ): Promise<void> {
    const waiting: { rowNo: number; snapshotTaskId: string; generation: number }[] = [];
    const superseded: { rowNo: number; byPushId: string }[] = [];
    const snapshotOf = new Map(requested.map((request) => [request.platformStationId, request]));
    for (const account of accounts) {
      const byId = new Map(facts.get(account.platformStationId)?.map((fact) => [fact.diffId, fact]));
      const snapshot = snapshotOf.get(account.platformStationId)!;
      account.rowNos.forEach((rowNo, index) => {
        const fact = byId.get(account.factIds[index]!);
        if (fact?.acceptNo === refresh.acceptNo)
          waiting.push({ rowNo, snapshotTaskId: snapshot.taskId, generation: snapshot.generation });
        else superseded.push({ rowNo, byPushId: fact?.billPushId ?? '0' });
      });
    }
    await moveToSnapshot(tx, refresh.pushId, waiting);
    await markSuperseded(tx, refresh.pushId, superseded, ['ACCOUNT_PENDING', 'ACCOUNT_FAILED'], 'refreshed');
  }

  /** An account that has failed before goes alone; after it, and while nothing breaks, as many as there are. */
  #nextStep(task: ClaimedTask, progress: RefreshProgress): AccountScope[] {
    const remaining = remainingScopes(refreshOf(task), progress);
    const suspect =
      progress.currentAccountId !== null && progress.currentAccountId === remaining[0]?.platformStationId;
    return remaining.slice(0, suspect ? 1 : (this.#stepSizes.get(task) ?? ACCOUNTS_PER_TASK_MAX));
  }
}

/** ENG-9, ACC-2: the account stage locks its task row early, right after the slot, and works from what it then reads. */
async function lockTask(tx: Transaction, task: ClaimedTask): Promise<TaskRow> {
  const [locked] = await lockRunningTasks(tx, [task]);
  if (locked === undefined) throw new FencedOutError(`task ${task.taskCode}, attempt ${task.runningAttempt}`);
  return locked;
}

async function recordAccountFailure(
  tx: Transaction,
  task: ClaimedTask,
  before: RefreshProgress,
  account: AccountScope,
  failure: Failure,
): Promise<Ending> {
  const { progress, skipped } = afterFailure(before, account, FAILURES_PER_ACCOUNT_MAX);
  await recordProgressIfRunning(tx, task, progress);
  await insertAccountOutcomes(tx, [outcomeOf(task, account, skipped ? 'SKIPPED' : 'FAILED', failure)]);
  if (!skipped) {
    const dueInMs = ACCOUNT_RETRY_MS[progress.currentAccountRetryCount - 1] ?? ACCOUNT_RETRY_MS.at(-1)!;
    return {
      kind: 'postponed',
      dueInMs,
      finalResult: 'RUNNING',
      error: { code: failure.code, message: failure.message },
    };
  }
  const move: PlaceMove = {
    from: ['ACCOUNT_PENDING'],
    to: 'SKIPPED',
    leftAt: 'refreshed',
    reason: failure.code,
  };
  await moveRows(tx, refreshOf(task).pushId, account.rowNos, move);
  return remainingScopes(refreshOf(task), progress).length > 0 ? { kind: 'continues' } : endOf(progress);
}

/** ACC-12: a failure that later succeeded leaves no mark on the result. */
function endOf(progress: RefreshProgress): Ending {
  return {
    kind: 'succeeded',
    finalResult: progress.skippedAccountCount > 0 ? 'PARTIAL_SUCCESS' : 'FULL_SUCCESS',
    result: progress,
  };
}

function snapshotRequestsOf(task: ClaimedTask, facts: FactsByStation) {
  return [...facts].map(([platformStationId, own]) => ({
    partnerOrgId: task.partnerOrgId,
    platformStationId,
    months: [...new Set(own.map((fact) => fact.shareMonth))],
    source: 'BULK_STATUS_REFRESH_ACCOUNT',
  }));
}

function outcomeOf(
  task: ClaimedTask,
  account: AccountScope,
  outcome: AccountOutcomeRow['outcome'],
  failure: Failure | null,
): AccountOutcomeRow {
  return {
    taskId: task.id,
    platformStationId: account.platformStationId,
    runningAttempt: task.runningAttempt,
    outcome,
    scopeCount: account.factIds.length,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
  };
}

function refreshOf(task: TaskRow): AccountRefresh {
  return task.taskData as AccountRefresh;
}

function progressOf(task: TaskRow): RefreshProgress {
  return (task.result as RefreshProgress | null) ?? NOT_STARTED;
}
