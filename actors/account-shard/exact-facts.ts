/** EXACT_FACT_CHANGE: at most 25 accounts and exactly the differences that the task names for each (DIF-12, ACC-4 to ACC-6, ACC-8). */
import {
  type AccountRefresh,
  type AccountScope,
  type AccountUnit,
  type RefreshProgress,
  remainingScopes,
  SCOPE_VERSION,
  unitOf,
} from '../../src/domain/account-refresh.ts';
import { isMonth } from '../../src/domain/month.ts';
import { checkPreRent } from '../../src/domain/projection.ts';
import { Failure } from '../../src/errors.ts';
import { listExistingAccounts, listScopeFacts, type ScopeFact } from '../../src/store/account-scopes.ts';
import type { PartnerTerms } from '../../src/store/difference-inputs.ts';
import { clearPaymentConclusions } from '../../src/store/differences.ts';
import { sumStationAmounts } from '../../src/store/partner-bills.ts';
import { markSuperseded, moveRows, moveToSnapshot, type PlaceMove } from '../../src/store/places.ts';
import { writePreRentChecks } from '../../src/store/projections.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { RequestedSnapshot } from '../../src/tasks/request-snapshots.ts';
import type { Halt } from '../../src/tasks/stage-handler.ts';
import { checkMonths } from './check-months.ts';
import type { AccountFacts, ScopeStrategy } from './strategy.ts';

type ExactUnit = AccountScope & AccountUnit;

export const exactFacts: ScopeStrategy<ExactUnit> = {
  stage: 'account-shard',
  auditsAccounts: true,
  currentMonth: (task) => refreshOf(task).currentMonth,
  next,
  check,
  read,
  conclude,
  moveRows: moveWaitingRows,
  onSkip,
  onHalt,
};

/** @throws Failure `BAD_ACCOUNT_SCOPE`, of the task: a scope that the cursor can never reach would be passed in silence */
async function next(_tx: Transaction, task: TaskRow, after: RefreshProgress, limit: number) {
  const refresh = refreshOf(task);
  if (!refresh.platformAccountScopes.every(hasPlatformKey)) {
    const text = `Task ${task.taskCode} has an account without a platform station`;
    throw new Failure('BAD_ACCOUNT_SCOPE', text, { retryable: false, reach: 'partner' });
  }
  const remaining = remainingScopes(refresh, after);
  const accounts = remaining.slice(0, limit).map((scope) => ({ ...scope, ...unitOf(scope) }));
  return { accounts, more: remaining.length > limit };
}

/** ACC-4. */
function hasPlatformKey({ platformStationId }: AccountScope): boolean {
  return BigInt(platformStationId) > 0n;
}

/** ACC-3, ACC-4. @throws Failure `BAD_CURRENT_MONTH`, `PARTNER_ONLY_SCOPE` */
function check(task: TaskRow, accounts: readonly ExactUnit[]): void {
  const { currentMonth } = refreshOf(task);
  if (!isMonth(currentMonth)) throw new Failure('BAD_CURRENT_MONTH', `${currentMonth} is no month`);
  for (const account of accounts) {
    const partnerOnly = account.platformAccountId === null;
    const current = account.scopeVersion >= SCOPE_VERSION;
    if (partnerOnly && (!current || account.canonicalAccountId !== account.partnerAccountId)) {
      const text = `The account of platform station ${account.platformStationId} exists on the partner's side alone and is not complete`;
      throw new Failure('PARTNER_ONLY_SCOPE', text);
    }
  }
}

async function read(tx: Transaction, task: TaskRow, accounts: readonly ExactUnit[]): Promise<AccountFacts[]> {
  await requireAccounts(tx, accounts);
  return readFacts(tx, task.partnerOrgId, accounts);
}

/** ACC-4: a scope whose account is gone fails. @throws Failure `ACCOUNT_MISSING` */
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
  accounts: readonly ExactUnit[],
): Promise<AccountFacts[]> {
  const found = await listScopeFacts(
    tx,
    partnerOrgId,
    accounts.map((account) => account.platformStationId),
    accounts.flatMap((account) => account.factIds),
  );
  const byStation = Map.groupBy(found, (fact) => fact.stationId);
  return accounts.map((account) => {
    const { platformStationId, partnerAccountId, platformAccountId } = account;
    const named = new Set(account.factIds);
    const facts = (byStation.get(platformStationId) ?? []).filter((fact) => named.has(fact.diffId));
    requireAll(account, facts);
    checkMonths(facts);
    return { platformStationId, partnerAccountId, platformAccountId, facts };
  });
}

function requireAll(account: AccountScope, facts: readonly ScopeFact[]): void {
  if (facts.length === account.factIds.length && facts.length > 0) return;
  const text = `Platform station ${account.platformStationId}: ${facts.length} of the ${account.factIds.length} differences that this refresh is for are in the ledger`;
  throw new Failure('FACTS_MISSING', text);
}

/** A disabled partner's differences carry no conclusions of a payment that does not exist (DIF-6). */
async function conclude(
  tx: Transaction,
  task: TaskRow,
  accounts: readonly ExactUnit[],
  found: readonly AccountFacts[],
  terms: PartnerTerms,
): Promise<void> {
  if (terms.paymentFlow === 'ENABLED') return checkBatchDeductions(tx, refreshOf(task), accounts, found);
  await clearPaymentConclusions(
    tx,
    found.flatMap(({ facts }) => facts.map((fact) => fact.diffId)),
  );
}

/** ACC-8: batch facts only where the difference still carries this push. */
async function checkBatchDeductions(
  tx: Transaction,
  refresh: AccountRefresh,
  accounts: readonly ExactUnit[],
  found: readonly AccountFacts[],
): Promise<void> {
  const amounts = await sumStationAmounts(
    tx,
    accounts.map((account) => account.platformStationId),
  );
  const checks = accounts.flatMap((account, index) => {
    const preRent = amounts.get(account.platformStationId)?.preRent ?? '0.00';
    const check = checkPreRent(account.batchDeduction, preRent);
    if (check === null) return [];
    const own = found[index]!.facts.filter((fact) => fact.acceptNo === refresh.acceptNo);
    return own.map((fact) => ({ diffId: fact.diffId, ...check }));
  });
  await writePreRentChecks(tx, checks);
}

/** A row whose difference carries another push by now is SUPERSEDED; the others wait for their snapshot (ACC-8, ACC-9). */
async function moveWaitingRows(
  tx: Transaction,
  task: TaskRow,
  accounts: readonly ExactUnit[],
  found: readonly AccountFacts[],
  requested: readonly RequestedSnapshot[],
): Promise<void> {
  const refresh = refreshOf(task);
  const waiting: { rowNo: number; snapshotTaskId: string; generation: number }[] = [];
  const superseded: { rowNo: number; byPushId: string }[] = [];
  const snapshotOf = new Map(requested.map((request) => [request.platformStationId, request]));
  accounts.forEach((account, index) => {
    const byId = new Map(found[index]!.facts.map((fact) => [fact.diffId, fact]));
    const snapshot = snapshotOf.get(account.platformStationId)!;
    account.rowNos.forEach((rowNo, row) => {
      const fact = byId.get(account.factIds[row]!);
      if (fact?.acceptNo === refresh.acceptNo)
        waiting.push({ rowNo, snapshotTaskId: snapshot.taskId, generation: snapshot.generation });
      else superseded.push({ rowNo, byPushId: fact?.billPushId ?? '0' });
    });
  });
  await moveToSnapshot(tx, refresh.pushId, waiting);
  await markSuperseded(tx, refresh.pushId, superseded, ['ACCOUNT_PENDING', 'ACCOUNT_FAILED'], 'refreshed');
}

async function onSkip(tx: Transaction, task: TaskRow, account: ExactUnit, reason: string): Promise<void> {
  const move: PlaceMove = { from: ['ACCOUNT_PENDING'], to: 'SKIPPED', leftAt: 'refreshed', reason };
  await moveRows(tx, refreshOf(task).pushId, account.rowNos, move);
}

async function onHalt(
  tx: Transaction,
  task: TaskRow,
  progress: RefreshProgress,
  halt: Halt,
  reason: string,
): Promise<void> {
  const refresh = refreshOf(task);
  const unreachable = refresh.platformAccountScopes.filter((scope) => !hasPlatformKey(scope));
  const waiting = [...unreachable, ...remainingScopes(refresh, progress)];
  const rowNos = waiting.flatMap((scope) => scope.rowNos);
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

function refreshOf(task: TaskRow): AccountRefresh {
  return task.taskData as AccountRefresh;
}
