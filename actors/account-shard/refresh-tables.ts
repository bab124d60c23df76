/** Writing what is payable of these accounts: three tables, both sides' totals (ACC-3, ACC-7, ACC-8). */
import { project } from '../../src/domain/projection.ts';
import type { ScopeFact } from '../../src/store/account-scopes.ts';
import type { PartnerTerms } from '../../src/store/difference-inputs.ts';
import { recalculateAccounts, sumPaidByBill, writeProjections } from '../../src/store/projections.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { AccountFacts } from './strategy.ts';

/**
 * ACC-7, ACC-8: the projection on all three tables, by the terms as they are now: payment may have been disabled since the
 * comparison, and a refresh that comes late must not bring back what the difference stage has ended (DIF-6).
 */
export async function refreshTables(
  tx: Transaction,
  found: readonly AccountFacts[],
  terms: PartnerTerms,
): Promise<void> {
  const all = found.flatMap(({ facts }) => facts);
  const paid = await sumPaidByBill(
    tx,
    all.flatMap((fact) => fact.partnerBillId ?? []),
  );
  await writeProjections(
    tx,
    all.map((fact) => projected(fact, paid, terms.paymentFlow === 'ENABLED')),
  );
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
  found: readonly AccountFacts[],
  currentMonth: string,
): Promise<void> {
  const ids = (pick: (account: AccountFacts) => string | null) =>
    found.flatMap((account) => pick(account) ?? []).sort();
  const partnerIds = ids((account) => account.partnerAccountId);
  await recalculateAccounts(tx, 'partner', partnerIds, currentMonth);
  const platformIds = ids((account) => account.platformAccountId);
  await recalculateAccounts(tx, 'platform', platformIds, currentMonth);
}
