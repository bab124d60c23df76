/**
 * Publish (PAY-4), a phase of its own: under the version's row the locks are counted again, then version and order's
 * pointer change together, by compare-and-set. Never a published version without its locks.
 */
import { assert, Failure } from '../errors.ts';
import { moveVersionIf, setPublishedVersion } from '../store/payment-orders.ts';
import { moveSessionIf } from '../store/sessions.ts';
import { advanceBatch } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';
import { beginPhase, requireHeld } from './build-order.ts';
import type { PhaseNeeds } from './phase.ts';
import type { Submit } from './submit-context.ts';
import { acceptPhase } from './submit-task.ts';
import { requireNoRelease } from './unfinished-releases.ts';

export async function publishOrder(
  tx: Transaction,
  task: ClaimedTask,
  submit: Submit,
  needs: PhaseNeeds,
): Promise<Ending> {
  const { version, order, session, batch } = submit;
  if (order.orderStatus !== 'OPEN')
    throw new Failure('ORDER_NOT_OPEN', `Order ${order.id} is ${order.orderStatus}`, { retryable: false });
  // Results that came in for the published version lock the order's row too: what they free is not counted as kept.
  await requireNoRelease(tx, version);
  const bills = await requireHeld(tx, submit, null);
  await beginPhase(tx, task, submit);
  const published = await moveVersionIf(tx, version, { from: 'BUILT', to: 'PUBLISHED' });
  assert(published, `version ${version.id}, locked as BUILT, was not published`);
  await setPublishedVersion(tx, order.id, version.targetDataVersion);
  const submitted = { sessionId: session.id, versionId: version.id };
  const moved = await moveSessionIf(tx, submitted, { from: ['PUBLISHING'], to: 'PUBLISHED_LOCK_SYNCING' });
  assert(moved, `session ${session.id} is not at the submit of version ${version.id}`);
  await advanceBatch(tx, batch.id, { lastItemId: '0', processed: bills, done: true });
  await acceptPhase(tx, 'LOCK_ACTIVATE', submit, needs.kick);
  return { kind: 'succeeded', finalResult: 'FULL_SUCCESS', result: { paymentOrderId: order.id, bills } };
}
