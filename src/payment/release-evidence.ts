/**
 * What an operator's release must rest on where its reason speaks of results: the results that came in (LCK-3). Payments
 * and audits that ask by themselves carry theirs in the same transaction.
 */
import type { LockReleaseReason, LockReleaseSelection } from '../domain/lock-release.ts';
import { Failure } from '../errors.ts';
import { type BillEvidence, hasResult, readBillEvidence } from '../store/release-evidence.ts';
import type { Sql } from '../store/sql.ts';
import { RELEASE_NOT_IMPLIED } from './accept-lock-release.ts';

interface Evidence {
  readonly result: 'AUDIT_RESULT' | 'PAYMENT_RESULT';
  readonly bills: keyof BillEvidence;
  readonly words: string;
}

const EVIDENCE: Partial<Record<LockReleaseReason, Evidence>> = {
  PAYMENT_SUCCESS: { result: 'PAYMENT_RESULT', bills: 'paidInFull', words: 'paid in full' },
  PARTIAL_PAYMENT: { result: 'PAYMENT_RESULT', bills: 'paidInPart', words: 'paid in part' },
  PAYMENT_FAIL: { result: 'PAYMENT_RESULT', bills: 'unpaid', words: 'a failed payment' },
  REVIEW_APPROVED_UNQUALIFIED: { result: 'AUDIT_RESULT', bills: 'unqualified', words: 'unqualified' },
};

/** @throws Failure `RELEASE_NOT_IMPLIED` */
export async function requireEvidence(
  sql: Sql,
  versionId: string,
  reason: LockReleaseReason,
  selection: LockReleaseSelection | undefined,
): Promise<void> {
  const wanted = EVIDENCE[reason];
  if (wanted === undefined) return;
  const ids = typeof selection === 'object' ? selection.orderBillIds : null;
  const found = await readBillEvidence(sql, versionId, ids);
  const backed = found[wanted.bills] === found.bills && found.bills > 0;
  if (backed && (await hasResult(sql, versionId, wanted.result))) return;
  throw new Failure(
    RELEASE_NOT_IMPLIED,
    `${reason} does not fit: not all of these ${found.bills} order bills are ${wanted.words} by a result that came in`,
    { retryable: false },
  );
}
