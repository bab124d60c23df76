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
  SCOPE_VERSION,
} from '../src/domain/account-refresh.ts';
import { isMonth } from '../src/domain/month.ts';
import { checkPreRent, project } from '../src/domain/projection.ts';
import type { StageName } from '../src/domain/stage.ts';
import { Failure, FencedOutError } from '../src/errors.ts';
import {
  type AccountOutcomeRow,
  insertAccountOutcomes,
  listExistingAccounts,
  listScopeFacts,
  type ScopeFact,
} from '../src/store/account-scopes.ts';
import type { PartnerTerms } from '../src/store/difference-inputs.ts';
import { clearPaymentConclusions } from '../src/store/differences.ts';
import { lockGuards, platformStationGuard } from '../src/store/guards.ts';
import { sumStationAmounts } from '../src/store/partner-bills.ts';
import { markSuperseded, moveRows, moveToSnapshot, type PlaceMove } from '../src/store/places.ts';
import {
  recalculateAccounts,
  sumPaidByBill,
  writePreRentChecks,
  writeProjections,
} from '../src/store/projections.ts';
import { lockRunningTasks, recordProgressIfRunning, type TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { Kick } from '../src/tasks/kick.ts';
import { planSnapshotRequests, submitSnapshotRequests } from '../src/tasks/request-snapshots.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';
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
    facts: ReadonlyMap<string, readonly ScopeFact[]>,
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

/** ACC-3, ACC-4: what can be checked before anything is read or locked. */
function checkScopes(refresh: AccountRefresh, accounts: readonly AccountScope[]): void {
  if (!isMonth(refresh.currentMonth))
    throw new Failure('BAD_CURRENT_MONTH', `${refresh.currentMonth} is no month`);
  for (const account of accounts) {
    const partnerOnly = account.platformAccountId === null;
    const complete = BigInt(account.platformStationId) > 0n && account.scopeVersion >= SCOPE_VERSION;
    if (partnerOnly && (!complete || account.canonicalAccountId !== account.partnerAccountId)) {
      const text = `The account of platform station ${account.platformStationId} exists on the partner's side alone and is not complete`;
      throw new Failure('PARTNER_ONLY_SCOPE', text);
    }
  }
}

async function requireAccounts(tx: Transaction, accounts: readonly AccountScope[]): Promise<void> {
  for (const side of ['PLATFORM', 'PARTNER'] as const) {
    const own = accounts.filter((account) => account.canonicalSide === side);
    const existing = await listExistingAccounts(
      tx,
      side,
      own.map((account) => account.canonicalAccountId),
    );
    const gone = own.find((account) => !existing.has(account.canonicalAccountId));
    if (gone !== undefined) {
      throw new Failure(
        'ACCOUNT_MISSING',
        `Account ${gone.canonicalAccountId} of platform station ${gone.platformStationId} is gone`,
      );
    }
  }
}

/** ACC-5: all the facts that the task names for the account, or the account fails; there is no fall-back. */
async function readFacts(
  tx: Transaction,
  partnerOrgId: string,
  accounts: readonly AccountScope[],
): Promise<ReadonlyMap<string, readonly ScopeFact[]>> {
  const found = await listScopeFacts(
    tx,
    partnerOrgId,
    accounts.map((account) => account.platformStationId),
    accounts.flatMap((account) => account.factIds),
  );
  const byStation = Map.groupBy(found, (fact) => fact.stationId);
  for (const account of accounts) {
    const named = new Set(account.factIds);
    const own = (byStation.get(account.platformStationId) ?? []).filter((fact) => named.has(fact.diffId));
    byStation.set(account.platformStationId, own);
    checkFacts(account, own);
  }
  return byStation;
}

/** ACC-5, ACC-6. */
function checkFacts(account: AccountScope, own: readonly ScopeFact[]): void {
  if (own.length < account.factIds.length || own.length === 0) {
    const text = `Platform station ${account.platformStationId}: ${own.length} of the ${account.factIds.length} differences that this refresh is for are in the ledger`;
    throw new Failure('FACTS_MISSING', text);
  }
  const bad = own.find((fact) => !isMonth(fact.shareMonth));
  if (bad !== undefined)
    throw new Failure('BAD_SHARE_MONTH', `Difference ${bad.diffId} has the month ${bad.shareMonth}`);
}

function snapshotRequestsOf(task: ClaimedTask, facts: ReadonlyMap<string, readonly ScopeFact[]>) {
  return [...facts].map(([platformStationId, own]) => ({
    partnerOrgId: task.partnerOrgId,
    platformStationId,
    months: [...new Set(own.map((fact) => fact.shareMonth))],
    source: 'BULK_STATUS_REFRESH_ACCOUNT',
  }));
}

/**
 * ACC-7, ACC-8: the projection on all three tables, by the terms as they are now: payment may have been disabled since the
 * comparison, and a refresh that comes late must not bring back what the difference stage has ended (DIF-6).
 */
async function refreshTables(
  tx: Transaction,
  refresh: AccountRefresh,
  accounts: readonly AccountScope[],
  facts: ReadonlyMap<string, readonly ScopeFact[]>,
  terms: PartnerTerms,
): Promise<void> {
  const all = [...facts.values()].flat();
  const paymentEnabled = terms.paymentFlow === 'ENABLED';
  const paid = await sumPaidByBill(
    tx,
    all.flatMap((fact) => fact.partnerBillId ?? []),
  );
  await writeProjections(
    tx,
    all.map((fact) => projected(fact, paid, paymentEnabled)),
  );
  if (paymentEnabled) return checkBatchDeductions(tx, refresh, accounts, facts);
  await clearPaymentConclusions(
    tx,
    all.map((fact) => fact.diffId),
  );
}

/** ACC-8: batch facts only where the difference still carries this push. */
async function checkBatchDeductions(
  tx: Transaction,
  refresh: AccountRefresh,
  accounts: readonly AccountScope[],
  facts: ReadonlyMap<string, readonly ScopeFact[]>,
): Promise<void> {
  const amounts = await sumStationAmounts(
    tx,
    accounts.map((account) => account.platformStationId),
  );
  const checks = accounts.flatMap((account) => {
    const preRent = amounts.get(account.platformStationId)?.preRent ?? '0.00';
    const check = checkPreRent(account.batchDeduction, preRent);
    if (check === null) return [];
    const own = (facts.get(account.platformStationId) ?? []).filter(
      (fact) => fact.acceptNo === refresh.acceptNo,
    );
    return own.map((fact) => ({ diffId: fact.diffId, ...check }));
  });
  await writePreRentChecks(tx, checks);
}

function projected(fact: ScopeFact, paid: ReadonlyMap<string, string>, paymentEnabled: boolean) {
  const basis =
    fact.rent === null
      ? null
      : {
          rent: fact.rent,
          deduction: fact.deduction,
          freeze: fact.freeze,
          paid: paid.get(fact.partnerBillId ?? '') ?? '0.00',
          partnerQueryStatus: fact.partnerQueryStatus,
        };
  const { diffId, partnerBillId, platformBillId } = fact;
  return { diffId, partnerBillId, platformBillId, ...project(basis, paymentEnabled) };
}

async function writeAccountTotals(
  tx: Transaction,
  refresh: AccountRefresh,
  accounts: readonly AccountScope[],
): Promise<void> {
  const ids = (pick: (account: AccountScope) => string | null) =>
    accounts.flatMap((account) => pick(account) ?? []).sort();
  await recalculateAccounts(
    tx,
    'partner',
    ids((account) => account.partnerAccountId),
    refresh.currentMonth,
  );
  await recalculateAccounts(
    tx,
    'platform',
    ids((account) => account.platformAccountId),
    refresh.currentMonth,
  );
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
