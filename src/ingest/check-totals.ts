/** Control totals against what was sent: if they do not add up, the push is refused as a whole, with both numbers (ING-9). */
import { centsText } from '../domain/as-written.ts';
import { exceedsMoney, totalsMismatches } from '../domain/push-outcome.ts';
import { Problem } from '../http/problem.ts';
import type { ReadPush } from './check-rows.ts';

/** @throws Problem 422 */
export function checkTotals(push: ReadPush): void {
  if (exceedsMoney(push.cents)) {
    throw new Problem(
      422,
      'AMOUNT_TOO_LARGE',
      `The rents add up to ${centsText(push.cents)}, more than a push can hold. Correct them, or split the push.`,
    );
  }
  const mismatches = totalsMismatches(push.totals, { count: push.rows.length, cents: push.cents });
  if (mismatches.length === 0) return;
  const sentences = mismatches.map((one) => `${one.field} says ${one.stated}, the rows give ${one.found}`);
  const unreadable = push.unreadableRents.count;
  const hint = unreadable === 0 ? '' : ` ${unreadable} row(s) have a rent that is no amount and counts 0.`;
  throw new Problem(
    422,
    'TOTALS_MISMATCH',
    `Correct the totals or the rows: ${sentences.join('; ')}.${hint}`,
    {
      members: { mismatches, unreadableRents: push.unreadableRents },
    },
  );
}
