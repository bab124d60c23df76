/** Writing what is payable of these accounts: three tables, batch facts, both sides' totals (ACC-3, ACC-7, ACC-8). */
import type { AccountRefresh, AccountScope } from '../../src/domain/account-refresh.ts';
import { checkPreRent, project } from '../../src/domain/projection.ts';
import type { ScopeFact } from '../../src/store/account-scopes.ts';
import type { PartnerTerms } from '../../src/store/difference-inputs.ts';
import { clearPaymentConclusions } from '../../src/store/differences.ts';
import { sumStationAmounts } from '../../src/store/partner-bills.ts';
import {
  recalculateAccounts,
  sumPaidByBill,
  writePreRentChecks,
  writeProjections,
} from '../../src/store/projections.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { FactsByStation } from './read-facts.ts';

/**
 * ACC-7, ACC-8: the projection on all three tables, by the terms as they are now: payment may have been disabled since the
 * comparison, and a refresh that comes late must not bring back what the difference stage has ended (DIF-6).
 */
export async function refreshTables(
  tx: Transaction,
  refresh: AccountRefresh,
  accounts: readonly AccountScope[],
  facts: FactsByStation,
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
  facts: FactsByStation,
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

/** ACC-3, DEC-5: what is payable and paid, into the totals of both sides' accounts. */
export async function writeAccountTotals(
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
