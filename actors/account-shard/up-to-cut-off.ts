/**
 * CUTOFF_CHANGE: every account of the partner, and of each the months up to a cut-off (ACC-14). It comes from no push:
 * no pushed row waits for it, and it changes neither verification nor pre-rent result (DEC-20).
 */
import type { AccountUnit, RefreshProgress } from '../../src/domain/account-refresh.ts';
import type { FullRefresh } from '../../src/domain/full-refresh.ts';
import { isMonth } from '../../src/domain/month.ts';
import { Failure } from '../../src/errors.ts';
import { listFactsUpTo } from '../../src/store/account-scopes.ts';
import { listPlatformAccounts } from '../../src/store/difference-inputs.ts';
import { listAccountStations, listPartnerAccountsOfStations } from '../../src/store/partner-walk.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { checkMonths } from './check-months.ts';
import type { AccountFacts, ScopeStrategy } from './strategy.ts';

export const upToCutOff: ScopeStrategy = {
  stage: 'account-full',
  auditsAccounts: false,
  currentMonth: (task) => refreshOf(task).currentMonth,
  next,
  check,
  read,
  conclude: async () => {},
  moveRows: async () => {},
  onSkip: async () => {},
  onHalt: async () => {},
};

/** A page of the partner's accounts behind the cursor; one more than asked for says whether others follow. */
async function next(tx: Transaction, task: TaskRow, after: RefreshProgress, limit: number) {
  const { cutOffMonth } = refreshOf(task);
  const walk = { partnerOrgId: task.partnerOrgId, afterStationId: after.cursor, cutOffMonth };
  const found = await listAccountStations(tx, { ...walk, limit: limit + 1 });
  return { accounts: found.slice(0, limit), more: found.length > limit };
}

/** A fault of the task, not of an account: the next account would not do better. @throws Failure `BAD_CUT_OFF_MONTH` */
function check(task: TaskRow): void {
  const { cutOffMonth, currentMonth } = refreshOf(task);
  if (isMonth(cutOffMonth) && isMonth(currentMonth)) return;
  const text = `The task's months are ${cutOffMonth} and ${currentMonth}; ask for a full refresh anew`;
  throw new Failure('BAD_CUT_OFF_MONTH', text, { retryable: false, reach: 'partner' });
}

async function read(
  tx: Transaction,
  task: TaskRow,
  accounts: readonly AccountUnit[],
): Promise<AccountFacts[]> {
  const { partnerOrgId } = task;
  const stations = accounts.map((account) => account.platformStationId);
  const ours = await listPlatformAccounts(tx, partnerOrgId, stations);
  const theirs = await listPartnerAccountsOfStations(tx, partnerOrgId, stations);
  const facts = await listFactsUpTo(tx, partnerOrgId, stations, refreshOf(task).cutOffMonth);
  const byStation = Map.groupBy(facts, (fact) => fact.stationId);
  return stations.map((platformStationId) => {
    const own = byStation.get(platformStationId) ?? [];
    checkMonths(own);
    const at = (account: { platformStationId: string }) => account.platformStationId === platformStationId;
    return {
      platformStationId,
      ...onlyAccounts(platformStationId, ours.filter(at), theirs.filter(at)),
      facts: own,
    };
  });
}

/** DIF-11: each side is unique, and there is one. @throws Failure `DUPLICATE_ACCOUNT`, `ACCOUNT_MISSING` */
function onlyAccounts(
  platformStationId: string,
  ours: readonly { readonly accountId: string }[],
  theirs: readonly { readonly accountId: string }[],
): Pick<AccountFacts, 'partnerAccountId' | 'platformAccountId'> {
  const where = `Platform station ${platformStationId}`;
  for (const [side, accounts] of Object.entries({ platform: ours, partner: theirs })) {
    if (accounts.length > 1)
      throw new Failure(
        'DUPLICATE_ACCOUNT',
        `${where} has ${accounts.length} ${side} accounts of this partner`,
      );
  }
  const platformAccountId = ours[0]?.accountId ?? null;
  const partnerAccountId = theirs[0]?.accountId ?? null;
  if (platformAccountId === null && partnerAccountId === null)
    throw new Failure('ACCOUNT_MISSING', `${where} has differences of this partner, and no account`);
  return { platformAccountId, partnerAccountId };
}

function refreshOf(task: TaskRow): FullRefresh {
  return task.taskData as FullRefresh;
}
