/** What an account's refresh rests on: its scope, its account, and exactly the facts that the task names for it (ACC-4 to ACC-6). */
import { type AccountRefresh, type AccountScope, SCOPE_VERSION } from '../../src/domain/account-refresh.ts';
import { isMonth } from '../../src/domain/month.ts';
import { Failure } from '../../src/errors.ts';
import { listExistingAccounts, listScopeFacts, type ScopeFact } from '../../src/store/account-scopes.ts';
import type { Transaction } from '../../src/store/transaction.ts';

/** By platform station, in order of month and id. */
export type FactsByStation = ReadonlyMap<string, readonly ScopeFact[]>;

/** ACC-3, ACC-4: what can be checked before anything is read or locked. @throws Failure `BAD_CURRENT_MONTH`, `PARTNER_ONLY_SCOPE` */
export function checkScopes(refresh: AccountRefresh, accounts: readonly AccountScope[]): void {
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

/** ACC-4: a scope whose account is gone fails. @throws Failure `ACCOUNT_MISSING` */
export async function requireAccounts(tx: Transaction, accounts: readonly AccountScope[]): Promise<void> {
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
export async function readFacts(
  tx: Transaction,
  partnerOrgId: string,
  accounts: readonly AccountScope[],
): Promise<FactsByStation> {
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
