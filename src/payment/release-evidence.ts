/**
 * What an operator's release must rest on where its reason speaks of results: one that came in for each of its bills
 * (LCK-3). Payments and audits that ask by themselves carry theirs in the same transaction.
 */
import type { LockReleaseReason, LockReleaseSelection } from '../domain/lock-release.ts';
import { Failure } from '../errors.ts';
import { type BillEvidence, readAuditEvidence, readPaymentEvidence } from '../store/release-evidence.ts';
import type { Sql } from '../store/sql.ts';
import { RELEASE_NOT_IMPLIED } from './accept-lock-release.ts';

/** @throws Failure `RELEASE_NOT_IMPLIED` */
export async function requireEvidence(
  sql: Sql,
  versionId: string,
  reason: LockReleaseReason,
  selection: LockReleaseSelection | undefined,
): Promise<void> {
  const orderBillIds = typeof selection === 'object' ? selection.orderBillIds : null;
  const found = await readEvidence(sql, versionId, reason, orderBillIds);
  if (found === null || (found.bills > 0 && found.backed === found.bills)) return;
  const { bills, backed } = found;
  throw new Failure(
    RELEASE_NOT_IMPLIED,
    `${reason} does not fit: a result that came in says so of ${backed} of these ${bills} order bills; name only those`,
    { retryable: false },
  );
}

/** Null: the reason speaks of no results. */
async function readEvidence(
  sql: Sql,
  versionId: string,
  reason: LockReleaseReason,
  orderBillIds: readonly string[] | null,
): Promise<BillEvidence | null> {
  switch (reason) {
    case 'PAYMENT_SUCCESS':
    case 'PARTIAL_PAYMENT':
    case 'PAYMENT_FAIL':
      return readPaymentEvidence(sql, versionId, orderBillIds, reason);
    case 'REVIEW_APPROVED_UNQUALIFIED':
      return readAuditEvidence(sql, versionId, orderBillIds);
    default:
      return null;
  }
}
