/**
 * What follows from a verdict or a payment: exact account tasks, which refresh payment status, paid and payable of the
 * named differences (ACC-15: nothing else does). They come from no push and carry no batch deduction, so the pre-rent
 * result stays as it is and no pushed row moves (DEC-20).
 */
import { randomUUID } from 'node:crypto';
import { routeOf } from '../../queues/route.ts';
import {
  type AccountScope,
  buildRefreshes,
  refreshBusinessKey,
  refreshTaskCode,
  SCOPE_VERSION,
} from '../domain/account-refresh.ts';
import { shanghaiMonth } from '../domain/month.ts';
import { type DifferenceOfBill, readDatabaseTimeMs } from '../store/payment-facts.ts';
import type { TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';

const NO_PUSH = '0';

/** @param origin a word for people, such as `VERIFICATION` @returns the tasks' codes */
export async function refreshAccounts(
  tx: Transaction,
  origin: string,
  partnerOrgId: string,
  differences: readonly DifferenceOfBill[],
  kick: Kick,
): Promise<string[]> {
  if (differences.length === 0) return [];
  const source = {
    partnerOrgId,
    requestId: `${origin}-${randomUUID()}`,
    eventMonth: shanghaiMonth(await readDatabaseTimeMs(tx)),
    pushId: NO_PUSH,
    acceptNo: NO_PUSH,
  };
  const { stage, taskType, attemptsMax } = routeOf('account-shard');
  const seeds = buildRefreshes(source, scopesOf(differences)).map((refresh): TaskSeed => {
    const businessKey = refreshBusinessKey(partnerOrgId, refresh);
    const taskCode = refreshTaskCode(businessKey);
    const common = { stage, taskType, partnerOrgId, pushId: NO_PUSH, maxRetryCount: attemptsMax };
    return { ...common, taskCode, businessKey, data: refresh };
  });
  await acceptTasks(tx, seeds);
  tx.afterCommit(() => kick.kick(stage, partnerOrgId));
  return seeds.map((seed) => seed.taskCode);
}

/** DIF-11: one canonical account per platform station: the platform's, else the partner's. */
function scopesOf(differences: readonly DifferenceOfBill[]): AccountScope[] {
  const byStation = Map.groupBy(differences, (difference) => difference.stationId);
  return [...byStation].flatMap(([platformStationId, own]) => {
    const { partnerAccountId, platformAccountId } = own[0]!;
    const canonicalAccountId = platformAccountId ?? partnerAccountId;
    if (canonicalAccountId === null) return [];
    return [
      {
        platformStationId,
        scopeVersion: SCOPE_VERSION,
        canonicalAccountId,
        canonicalSide: platformAccountId === null ? ('PARTNER' as const) : ('PLATFORM' as const),
        partnerAccountId,
        platformAccountId,
        batchDeduction: null,
        factIds: own.map((difference) => difference.diffId),
        rowNos: [],
      },
    ];
  });
}
