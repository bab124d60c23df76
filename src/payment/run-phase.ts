/** One step of a submit's task: what is locked, what ends it early, and which phase does the rest (PAY-3 to PAY-5, LCK-3). */
import type { SubmitPhase } from '../domain/payment-submit.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ClaimedTask, Ending } from '../tasks/stage-handler.ts';
import { activateLocks, lockEarlierVersion } from './activate-locks.ts';
import { buildOrder } from './build-order.ts';
import { endInvalidRevise } from './fail-submit.ts';
import type { PhaseNeeds } from './phase.ts';
import { planAudit } from './plan-audit.ts';
import { publishOrder } from './publish-order.ts';
import { endIfGivenUp, isInvalid, lockSubmit, type Submit, submitDataOf } from './submit-context.ts';

type Phase = (tx: Transaction, task: ClaimedTask, submit: Submit, needs: PhaseNeeds) => Promise<Ending>;

const PHASES: Readonly<Record<SubmitPhase, Phase>> = {
  BUILD: buildOrder,
  PUBLISH: publishOrder,
  LOCK_ACTIVATE: activateLocks,
  AUDIT_PLAN: planAudit,
};

export async function runPhase(tx: Transaction, task: ClaimedTask, needs: PhaseNeeds): Promise<Ending> {
  const data = submitDataOf(task);
  if (data.phase === 'LOCK_ACTIVATE') await lockEarlierVersion(tx, data);
  const submit = await lockSubmit(tx, task);
  const givenUp = endIfGivenUp(task, submit);
  if (givenUp !== null) return givenUp;
  if (isInvalid(submit)) return endInvalidRevise(tx, data.phase, submit, task.taskCode, needs.kick);
  return PHASES[data.phase](tx, task, submit, needs);
}
