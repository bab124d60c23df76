import { isMonth } from '../../src/domain/month.ts';
import { Failure } from '../../src/errors.ts';
import type { ScopeFact } from '../../src/store/account-scopes.ts';

/** ACC-6: a scope's month is the difference's, validated; not the event's, not now. @throws Failure `BAD_SHARE_MONTH` */
export function checkMonths(facts: readonly ScopeFact[]): void {
  const bad = facts.find((fact) => !isMonth(fact.shareMonth));
  if (bad === undefined) return;
  throw new Failure('BAD_SHARE_MONTH', `Difference ${bad.diffId} has the month ${bad.shareMonth}`);
}
