/** Account refresh tasks: which accounts, for which facts, under which identity, and how far they have come (DIF-12, DIF-13, ACC-10). */
import { createHash } from 'node:crypto';
import { type Traced, tracedBy } from './parent-trace.ts';

/** DIF-12: accounts, not differences. */
export const ACCOUNTS_PER_TASK_MAX = 25;
export const SCOPE_VERSION = 4;
const PAYLOAD_VERSION = 1;

export interface AccountScope {
  readonly platformStationId: string;
  readonly scopeVersion: number;
  readonly canonicalAccountId: string;
  readonly canonicalSide: 'PLATFORM' | 'PARTNER';
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  readonly batchDeduction: string | null;
  readonly factIds: readonly string[];
  /** The pushed rows that wait for this account. */
  readonly rowNos: readonly number[];
}

export interface AccountRefresh extends Traced {
  readonly bulkType: 'ACCOUNT_STAT_RECALCULATE';
  readonly scopeStatusStrategy: 'EXACT_FACT_CHANGE';
  readonly payloadVersion: number;
  readonly changeId: string;
  readonly currentMonth: string;
  readonly pushId: string;
  /** The order number of the push whose batch facts the task carries (ACC-8). */
  readonly acceptNo: string;
  readonly platformAccountScopes: readonly AccountScope[];
  readonly differenceFactIds: readonly string[];
}

/** An account as its task counts it. */
export interface AccountUnit {
  readonly platformStationId: string;
  /** Its differences that the task is about. */
  readonly scopeCount: number;
}

export function unitOf(scope: AccountScope): AccountUnit {
  return { platformStationId: scope.platformStationId, scopeCount: scope.factIds.length };
}

/** How far a task has come; the cursor is the platform station id, in ascending order (ACC-3, ACC-10). */
export interface RefreshProgress {
  readonly cursor: string;
  readonly processedAccountCount: number;
  readonly skippedAccountCount: number;
  readonly skippedScopeCount: number;
  readonly failedAttemptCount: number;
  readonly failedScopeCount: number;
  readonly currentAccountId: string | null;
  readonly currentAccountRetryCount: number;
  readonly lastFailedAccountId: string | null;
  readonly lastSkippedAccountId: string | null;
}

export const NOT_STARTED: RefreshProgress = {
  cursor: '0',
  processedAccountCount: 0,
  skippedAccountCount: 0,
  skippedScopeCount: 0,
  failedAttemptCount: 0,
  failedScopeCount: 0,
  currentAccountId: null,
  currentAccountRetryCount: 0,
  lastFailedAccountId: null,
  lastSkippedAccountId: null,
};

/** DIF-12: ascending by platform station, at most 25 accounts each. */
export function shardScopes(scopes: readonly AccountScope[]): AccountScope[][] {
  const sorted = [...scopes].sort((left, right) =>
    compareStations(left.platformStationId, right.platformStationId),
  );
  const shards: AccountScope[][] = [];
  for (let from = 0; from < sorted.length; from += ACCOUNTS_PER_TASK_MAX) {
    shards.push(sorted.slice(from, from + ACCOUNTS_PER_TASK_MAX));
  }
  return shards;
}

export interface RefreshSource extends Traced {
  readonly partnerOrgId: string;
  readonly requestId: string;
  readonly eventMonth: string;
  readonly pushId: string;
  readonly acceptNo: string;
}

/** The tasks of one message: shard numbers start at 1. */
export function buildRefreshes(source: RefreshSource, scopes: readonly AccountScope[]): AccountRefresh[] {
  return shardScopes(scopes).map((shard, index) => ({
    bulkType: 'ACCOUNT_STAT_RECALCULATE',
    scopeStatusStrategy: 'EXACT_FACT_CHANGE',
    payloadVersion: PAYLOAD_VERSION,
    changeId: `${source.requestId}:${source.partnerOrgId}:${index + 1}`,
    currentMonth: source.eventMonth,
    pushId: source.pushId,
    acceptNo: source.acceptNo,
    ...tracedBy(source.parentTraceId),
    platformAccountScopes: shard,
    differenceFactIds: [...new Set(shard.flatMap((scope) => scope.factIds))],
  }));
}

/** DIF-13: the same message twice is the same key; a new push is not. At most 400 characters. */
export function refreshBusinessKey(partnerOrgId: string, refresh: AccountRefresh): string {
  const scopes = refresh.platformAccountScopes.map((scope) => [
    scope.platformStationId,
    scope.canonicalAccountId,
    scope.scopeVersion,
  ]);
  const parts = [
    refresh.bulkType,
    partnerOrgId,
    refresh.changeId,
    refresh.currentMonth,
    `v${refresh.payloadVersion}`,
    shortDigest(JSON.stringify(scopes)),
    shortDigest(JSON.stringify([...refresh.differenceFactIds].sort())),
  ];
  return parts.join('|');
}

export function refreshTaskCode(businessKey: string): string {
  return `RIPSBR:${createHash('sha256').update(businessKey).digest('hex').slice(0, 32)}`;
}

export function compareStations(left: string, right: string): number {
  const difference = BigInt(left) - BigInt(right);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The accounts that the cursor has not passed. */
export function remainingScopes(refresh: AccountRefresh, progress: RefreshProgress): AccountScope[] {
  return refresh.platformAccountScopes
    .filter((scope) => compareStations(scope.platformStationId, progress.cursor) > 0)
    .sort((left, right) => compareStations(left.platformStationId, right.platformStationId));
}

/** These accounts are done: the cursor passes them, the current account and its error are cleared. */
export function afterSuccess(
  progress: RefreshProgress,
  done: readonly Pick<AccountUnit, 'platformStationId'>[],
): RefreshProgress {
  return {
    ...progress,
    cursor: done.at(-1)?.platformStationId ?? progress.cursor,
    processedAccountCount: progress.processedAccountCount + done.length,
    currentAccountId: null,
    currentAccountRetryCount: 0,
  };
}

/** ACC-10: one failure of this account; the third recorded failure skips it, there are no three extra tries. */
export function afterFailure(
  progress: RefreshProgress,
  account: AccountUnit,
  limit: number,
): { progress: RefreshProgress; skipped: boolean } {
  const failures =
    (progress.currentAccountId === account.platformStationId ? progress.currentAccountRetryCount : 0) + 1;
  const counted = {
    ...progress,
    failedAttemptCount: progress.failedAttemptCount + 1,
    failedScopeCount: progress.failedScopeCount + account.scopeCount,
    lastFailedAccountId: account.platformStationId,
  };
  if (failures < limit) {
    const current = { currentAccountId: account.platformStationId, currentAccountRetryCount: failures };
    return { progress: { ...counted, ...current }, skipped: false };
  }
  return {
    skipped: true,
    progress: {
      ...counted,
      cursor: account.platformStationId,
      processedAccountCount: counted.processedAccountCount + 1,
      skippedAccountCount: counted.skippedAccountCount + 1,
      skippedScopeCount: counted.skippedScopeCount + account.scopeCount,
      lastSkippedAccountId: account.platformStationId,
      currentAccountId: null,
      currentAccountRetryCount: 0,
    },
  };
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
