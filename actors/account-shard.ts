/**
 * Account stage: refreshes the accounts of one task: totals, what is payable on three tables, and the request for their
 * snapshots (ACC rules). Several accounts share a transaction while all goes well; one that fails is found by making
 * the step smaller, and then fails, is tried again, and is skipped alone. Which accounts and which of their months is the
 * task's strategy: exactly the named facts (stage `account-shard`), or all up to a cut-off (stage `account-full`).
 * Reads: partner's terms, differences, partner bills, payment facts. Writes: both bills, difference, both accounts, progress, outcomes, places.
 * Hands on: snapshot tasks. Guarded by: slot, task row, platform station guards.
 */
import { monotonicMs } from '../src/clock.ts';
import {
  ACCOUNTS_PER_TASK_MAX,
  type AccountUnit,
  afterFailure,
  afterSuccess,
  NOT_STARTED,
  type RefreshProgress,
  refreshTaskCode,
} from '../src/domain/account-refresh.ts';
import { parentTraceOf, tracedBy } from '../src/domain/parent-trace.ts';
import type { StageName } from '../src/domain/stage.ts';
import { Failure, FencedOutError } from '../src/errors.ts';
import { type AccountOutcomeRow, insertAccountOutcomes } from '../src/store/account-scopes.ts';
import { lockGuards, platformStationGuard } from '../src/store/guards.ts';
import { lockTaskInHand, recordProgressIfRunning } from '../src/store/running-tasks.ts';
import { lockSlotWithTask } from '../src/store/slots.ts';
import type { TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { Kick } from '../src/tasks/kick.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../src/tasks/request-snapshots.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
import { exactFacts } from './account-shard/exact-facts.ts';
import { refreshTables, writeAccountTotals } from './account-shard/refresh-tables.ts';
import type { AccountFacts, NextAccounts, ScopeStrategy } from './account-shard/strategy.ts';
import { upToCutOff } from './account-shard/up-to-cut-off.ts';
import { requireTerms } from './partner-terms.ts';

/** ACC-10: the third recorded failure skips the account. */
const FAILURES_PER_ACCOUNT_MAX = 3;
/** ACC-10: when an account that failed once, twice is tried again. */
const ACCOUNT_RETRY_MS = [2_000, 10_000];
/** Differences in one step, unless a single account has more. */
const SCOPES_PER_STEP_MAX = 500;
const TIME_LIMIT_MS = 300_000;

export interface AccountActorNeeds {
  readonly kick: Kick;
  /** ACC-3: how long the work on an account may take, 300 s unless it is configured. */
  readonly timeLimitMs?: number;
}

export function accountActor(needs: AccountActorNeeds): StageHandler {
  return new AccountActor(needs, exactFacts);
}

export function fullRefreshActor(needs: AccountActorNeeds): StageHandler {
  return new AccountActor(needs, upToCutOff);
}

class AccountActor<Unit extends AccountUnit> implements StageHandler {
  readonly stage: StageName;
  readonly #needs: AccountActorNeeds;
  readonly #strategy: ScopeStrategy<Unit>;
  /** Accounts in the next step, where a larger one has broken; forgotten with the task's run. */
  readonly #stepSizes = new WeakMap<ClaimedTask, number>();

  constructor(needs: AccountActorNeeds, strategy: ScopeStrategy<Unit>) {
    this.stage = strategy.stage;
    this.#needs = needs;
    this.#strategy = strategy;
  }

  async work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
    const endings = new Map<string, Ending>();
    for (const task of tasks) endings.set(task.id, await this.#workStep(tx, task));
    return endings;
  }

  /** ACC-10. A step of several accounts that broke has not failed yet: it is made smaller until the culprit stands alone. */
  async onFailure(tx: Transaction, claimed: ClaimedTask, failure: Failure): Promise<Ending> {
    if (failure.reach !== 'unit') return { kind: 'failed', failure };
    const task = await lockTask(tx, claimed);
    const step = await this.#nextStep(tx, claimed, task);
    if (step.accounts.length > 1) {
      this.#stepSizes.set(claimed, Math.ceil(step.accounts.length / 2));
      return { kind: 'continues' };
    }
    const account = step.accounts[0];
    if (account === undefined) return { kind: 'failed', failure };
    return this.#recordAccountFailure(tx, task, account, step.more, failure);
  }

  async onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
    await this.#strategy.onHalt(tx, task, progressOf(task), halt, reason);
  }

  /** ACC-3, for as many accounts as one transaction takes; ACC-12 when none is left. */
  async #workStep(tx: Transaction, claimed: ClaimedTask): Promise<Ending> {
    const task = await lockTask(tx, claimed);
    requireIdentity(task);
    const progress = progressOf(task);
    const { accounts, more } = await this.#nextStep(tx, claimed, task);
    if (accounts.length === 0) return endOf(progress);
    await this.#refreshAccounts(tx, task, accounts);
    const moved = afterSuccess(progress, accounts);
    await recordProgressIfRunning(tx, task, moved);
    return more ? { kind: 'continues' } : endOf(moved);
  }

  async #refreshAccounts(tx: Transaction, task: TaskRow, accounts: readonly Unit[]): Promise<void> {
    const startedMs = monotonicMs();
    this.#strategy.check(task, accounts);
    await lockGuards(
      tx,
      accounts.map((account) => ({ key: platformStationGuard(account.platformStationId) })),
    );
    const terms = await requireTerms(tx, task.partnerOrgId);
    const found = await this.#strategy.read(tx, task, accounts);
    const planned = await planSnapshotRequests(tx, snapshotRequestsOf(task, found));
    await refreshTables(tx, found, terms);
    await this.#strategy.conclude(tx, task, accounts, found, terms);
    const requested = await submitSnapshotRequests(tx, planned);
    await writeAccountTotals(tx, found, this.#strategy.currentMonth(task));
    await this.#strategy.moveRows(tx, task, accounts, found, requested);
    if (this.#strategy.auditsAccounts) await insertAccountOutcomes(tx, refreshedOutcomes(task, found));
    this.#requireInTime(startedMs);
    tx.afterCommit(() => this.#needs.kick.kick('bill-snapshot', task.partnerOrgId));
  }

  /** ACC-3: an account that takes longer fails; of several that do together, each is given the time by itself (ACC-10). */
  #requireInTime(startedMs: number): void {
    const limitMs = this.#needs.timeLimitMs ?? TIME_LIMIT_MS;
    const tookMs = monotonicMs() - startedMs;
    if (tookMs <= limitMs) return;
    throw new Failure(
      'ACCOUNT_TOO_SLOW',
      `It took ${Math.round(tookMs)} ms, more than the ${limitMs} ms allowed`,
    );
  }

  /** An account that has failed before goes alone; after it, and while nothing breaks, as many as fit. */
  async #nextStep(tx: Transaction, claimed: ClaimedTask, task: TaskRow): Promise<NextAccounts<Unit>> {
    const progress = progressOf(task);
    const size = this.#stepSizes.get(claimed) ?? ACCOUNTS_PER_TASK_MAX;
    const page = await this.#strategy.next(tx, task, progress, size);
    const [first] = page.accounts;
    const suspect = first !== undefined && progress.currentAccountId === first.platformStationId;
    const accounts = suspect ? [first] : withinScopes(page.accounts);
    return { accounts, more: page.more || accounts.length < page.accounts.length };
  }

  async #recordAccountFailure(
    tx: Transaction,
    task: TaskRow,
    account: Unit,
    more: boolean,
    failure: Failure,
  ): Promise<Ending> {
    const { progress, skipped } = afterFailure(progressOf(task), account, FAILURES_PER_ACCOUNT_MAX);
    await recordProgressIfRunning(tx, task, progress);
    await insertAccountOutcomes(tx, [failedOutcome(task, account, skipped ? 'SKIPPED' : 'FAILED', failure)]);
    if (!skipped) return tryAgain(progress, failure);
    await this.#strategy.onSkip(tx, task, account, failure.code);
    return more ? { kind: 'continues' } : endOf(progress);
  }
}

/** ENG-9, ACC-2: the account stage locks its task row early, right after the slot, and works from what it then reads. */
async function lockTask(tx: Transaction, task: ClaimedTask): Promise<TaskRow> {
  const { stage, partnerOrgId, slotNo, worker, slotFence } = task;
  if (slotNo !== null && worker !== null && slotFence !== null) {
    const right = { stage, partnerOrgId, slotNo, holder: worker, fence: slotFence };
    const locked = (await lockSlotWithTask(tx, right, task.id)) ? await lockTaskInHand(tx, task) : null;
    if (locked !== null) return locked;
  }
  throw new FencedOutError(`task ${task.taskCode}, attempt ${task.runningAttempt}`);
}

/** ACC-1. @throws Failure `BAD_TASK_IDENTITY`, of the task itself */
function requireIdentity({ taskCode, businessKey }: TaskRow): void {
  if (refreshTaskCode(businessKey) === taskCode) return;
  const text = `Task ${taskCode} has the business key of another: ${businessKey}`;
  throw new Failure('BAD_TASK_IDENTITY', text, { retryable: false, reach: 'partner' });
}

/** As many from the first on as have no more differences than one step takes; at least that one. */
function withinScopes<Unit extends AccountUnit>(accounts: readonly Unit[]): readonly Unit[] {
  let scopes = 0;
  const tooMany = accounts.findIndex((account, index) => {
    scopes += account.scopeCount;
    return index > 0 && scopes > SCOPES_PER_STEP_MAX;
  });
  return tooMany === -1 ? accounts : accounts.slice(0, tooMany);
}

/** ACC-10: this run ends, the cursor stays, the task's own retries are untouched. */
function tryAgain(progress: RefreshProgress, { code, message }: Failure): Ending {
  const dueInMs = ACCOUNT_RETRY_MS[progress.currentAccountRetryCount - 1] ?? ACCOUNT_RETRY_MS.at(-1)!;
  return { kind: 'postponed', dueInMs, finalResult: 'RUNNING', error: { code, message } };
}

/** ACC-12: a failure that later succeeded leaves no mark on the result. */
function endOf(progress: RefreshProgress): Ending {
  return {
    kind: 'succeeded',
    finalResult: progress.skippedAccountCount > 0 ? 'PARTIAL_SUCCESS' : 'FULL_SUCCESS',
    result: progress,
  };
}

/** ACC-9: for accounts with differences. */
function snapshotRequestsOf(task: TaskRow, found: readonly AccountFacts[]) {
  return found.flatMap(({ platformStationId, facts }) => {
    const months = [...new Set(facts.map((fact) => fact.shareMonth))];
    if (months.length === 0) return [];
    return [
      {
        partnerOrgId: task.partnerOrgId,
        platformStationId,
        months,
        source: 'BULK_STATUS_REFRESH_ACCOUNT',
        ...tracedBy(parentTraceOf(task.taskData)),
      },
    ];
  });
}

function refreshedOutcomes(task: TaskRow, found: readonly AccountFacts[]): AccountOutcomeRow[] {
  return found.map(({ platformStationId, facts }) => ({
    taskId: task.id,
    platformStationId,
    runningAttempt: task.runningAttempt,
    outcome: 'REFRESHED',
    scopeCount: facts.length,
    errorCode: null,
    errorMessage: null,
  }));
}

function failedOutcome(
  task: TaskRow,
  { platformStationId, scopeCount }: AccountUnit,
  outcome: 'FAILED' | 'SKIPPED',
  { code, message }: Failure,
): AccountOutcomeRow {
  const { id: taskId, runningAttempt } = task;
  return {
    taskId,
    platformStationId,
    runningAttempt,
    outcome,
    scopeCount,
    errorCode: code,
    errorMessage: message,
  };
}

function progressOf(task: TaskRow): RefreshProgress {
  return (task.result as RefreshProgress | null) ?? NOT_STARTED;
}
