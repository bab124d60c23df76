/** A push of the partner that asks; another partner's is not forbidden but unknown (ING-1). */
import { Problem } from '../http/problem.ts';
import { findPush, type PushRow } from '../store/pushes.ts';
import type { Sql } from '../store/sql.ts';

/** @throws Problem 404 */
export async function getOwnPush(
  sql: Sql,
  partnerOrgId: string,
  pushId: string | string[] | undefined,
): Promise<PushRow> {
  const push = isId(pushId) ? await findPush(sql, partnerOrgId, pushId) : null;
  if (push === null) throw new Problem(404, 'NO_SUCH_PUSH', 'You have no push with this id.');
  return push;
}

/** What the database's BIGINT UNSIGNED can hold and compare without guessing. */
function isId(text: string | string[] | undefined): text is string {
  return typeof text === 'string' && /^[1-9][0-9]{0,18}$/.test(text);
}
