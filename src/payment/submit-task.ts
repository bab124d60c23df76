/** The task of a phase: written in the transaction of the phase before it (PAY-2). */
import { routeOf } from '../../queues/route.ts';
import {
  type SubmitPhase,
  type SubmitTaskData,
  submitTaskCode,
  submitTaskKey,
} from '../domain/payment-submit.ts';
import type { VersionRow } from '../store/payment-orders.ts';
import type { Transaction } from '../store/transaction.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';

/** What is published must get its locks activated and its audit planned: those are tried for longer than a build. */
const ATTEMPTS_AFTER_PUBLISH_MAX = 8;

/** @returns the task's code */
export async function acceptPhase(
  tx: Transaction,
  phase: SubmitPhase,
  submit: { readonly version: VersionRow; readonly partnerOrgId: string },
  kick: Kick,
): Promise<string> {
  const { version, partnerOrgId } = submit;
  const { stage, taskType, attemptsMax } = routeOf('payment-submit');
  const data: SubmitTaskData = {
    phase,
    paymentOrderVersionId: version.id,
    sessionId: version.sessionId,
    submitAttempt: version.submitAttempt,
    submitToken: version.submitToken,
  };
  const taskCode = submitTaskCode(version.id, phase);
  const afterPublish = phase === 'LOCK_ACTIVATE' || phase === 'AUDIT_PLAN';
  await acceptTasks(tx, [
    {
      stage,
      taskType,
      taskCode,
      businessKey: submitTaskKey(version.id, phase),
      data,
      partnerOrgId,
      pushId: '0',
      maxRetryCount: afterPublish ? ATTEMPTS_AFTER_PUBLISH_MAX : attemptsMax,
    },
  ]);
  tx.afterCommit(() => kick.kick(stage, partnerOrgId));
  return taskCode;
}
