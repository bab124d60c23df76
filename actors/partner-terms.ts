/** The partner's terms, as difference and account stage need them decided (DIF-6). */
import { Failure } from '../src/errors.ts';
import { findPartnerTerms, type PartnerTerms } from '../src/store/difference-inputs.ts';
import type { Transaction } from '../src/store/transaction.ts';

/** DIF-6: unresolved is never read as disabled. */
export async function requireTerms(tx: Transaction, partnerOrgId: string): Promise<PartnerTerms> {
  const terms = await findPartnerTerms(tx, partnerOrgId);
  if (terms !== null && terms.paymentFlow !== null) return terms;
  const text = 'Whether this partner takes part in payment is not decided; set its payment flow';
  throw new Failure('PAYMENT_FLOW_UNRESOLVED', text, { reach: 'partner' });
}
