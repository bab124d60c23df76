/** Audit plan (PAY-5): what is to be audited of the published version; one per version. */
import { insertAuditPlan, setAuditStatus, sumOrderBills } from '../store/payment-orders.ts';
import { advanceBatch } from '../store/submit-batches.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';
import { beginPhase } from './build-order.ts';
import type { Submit } from './submit-context.ts';

export async function planAudit(tx: Transaction, task: ClaimedTask, submit: Submit): Promise<Ending> {
  const { version, order, batch } = submit;
  await beginPhase(tx, task, submit);
  const { bills, amount } = await sumOrderBills(tx, version.id);
  await insertAuditPlan(tx, { paymentOrderId: order.id, paymentOrderVersionId: version.id, bills, amount });
  if (order.currentPublishVersion === version.targetDataVersion)
    await setAuditStatus(tx, order.id, 'PENDING');
  await advanceBatch(tx, batch.id, { lastItemId: '0', processed: bills, done: true });
  return { kind: 'succeeded', finalResult: 'FULL_SUCCESS', result: { bills, amount } };
}
