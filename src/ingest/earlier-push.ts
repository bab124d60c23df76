/** What an identity that was seen before stands for: the same content is answered as it was, other content is refused (ING-2). */
import { shownIdentity } from '../domain/request-identity.ts';
import { BusyError } from '../errors.ts';
import { Problem } from '../http/problem.ts';
import { lockIdentity, type PushIdentityRow } from '../store/push-identities.ts';
import { findPush, type PushRow } from '../store/pushes.ts';
import type { Sql } from '../store/sql.ts';

const RUNNING_RETRY_AFTER_S = 2;

export interface RequestedIdentity {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly key: string;
  readonly contentDigest: string;
}

/**
 * @returns the push that has the answer; null if this identity is new, or its time is over
 * @throws Problem 409 while it is being accepted, 422 for other content
 */
export async function findEarlierPush(sql: Sql, wanted: RequestedIdentity): Promise<PushRow | null> {
  const identity = await refuseWhileRunning(wanted, () => lockIdentity(sql, wanted.partnerOrgId, wanted.key));
  if (identity === null || identity.expired) return null;
  return earlierPush(sql, wanted, identity);
}

/** @throws Problem 422 for other content */
export async function earlierPush(
  sql: Sql,
  wanted: RequestedIdentity,
  identity: PushIdentityRow,
): Promise<PushRow> {
  if (identity.contentDigest !== wanted.contentDigest) {
    throw new Problem(
      422,
      'IDENTITY_REUSED',
      `Identity ${shownIdentity(wanted.orgCode, wanted.key)} was used for other content. Send new content under an identity of its own.`,
      { members: { identity: shownIdentity(wanted.orgCode, wanted.key), pushId: identity.pushId } },
    );
  }
  const push = await findPush(sql, wanted.partnerOrgId, identity.pushId);
  if (push === null) throw new Error(`Broken assumption: identity without push ${identity.pushId}`);
  return push;
}

/** @throws Problem 409 with Retry-After where `work` finds the identity locked */
export async function refuseWhileRunning<T>(wanted: RequestedIdentity, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    throw new Problem(
      409,
      'IDENTITY_RUNNING',
      `A push with identity ${shownIdentity(wanted.orgCode, wanted.key)} is being accepted right now. Send the same request again for its answer.`,
      { headers: { 'Retry-After': String(RUNNING_RETRY_AFTER_S) }, cause: error },
    );
  }
}
