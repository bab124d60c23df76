/**
 * Payment submit: a submit's phases, each a task of its own: build, publish, activate its locks, plan its audit. The
 * business of each is its file in `src/payment/`.
 * Reads: chosen bills, partner bills, differences, payment facts. Writes: order bills, bill locks, version, order, session, batches.
 * Hands on: the next phase; lock releases where a submit fails or removes bills. Guarded by: slot, version row, platform guards.
 */
import type { StageName } from '../src/domain/stage.ts';
import type { Failure } from '../src/errors.ts';
import { failSubmitOf } from '../src/payment/fail-submit.ts';
import type { PhaseNeeds } from '../src/payment/phase.ts';
import { runPhase } from '../src/payment/run-phase.ts';
import { submitDataOf } from '../src/payment/submit-context.ts';
import { lockVersion } from '../src/store/payment-orders.ts';
import { failBatch } from '../src/store/submit-batches.ts';
import type { TaskRow } from '../src/store/tasks.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../src/tasks/stage-handler.ts';

export function paymentSubmitActor(needs: PhaseNeeds): StageHandler {
  return {
    stage: 'payment-submit' satisfies StageName,
    work: (tx, tasks) => work(tx, tasks, needs),
    onFailure,
    onHalt: (tx, task, halt, reason) => onHalt(tx, task, halt, reason, needs),
  };
}

async function work(tx: Transaction, tasks: readonly ClaimedTask[], needs: PhaseNeeds): Promise<Endings> {
  const endings = new Map<string, Ending>();
  for (const task of tasks) endings.set(task.id, await runPhase(tx, task, needs));
  return endings;
}

/** The batch says what broke, whether or not it is tried again. */
async function onFailure(tx: Transaction, task: ClaimedTask, failure: Failure): Promise<Ending> {
  const { phase, paymentOrderVersionId } = submitDataOf(task);
  await lockVersion(tx, paymentOrderVersionId);
  await failBatch(tx, paymentOrderVersionId, phase, failure);
  return { kind: 'failed', failure };
}

/** LCK-3: attempts used up, not to be retried, crashed or cancelled by a person: the submit has failed for good. */
async function onHalt(
  tx: Transaction,
  task: TaskRow,
  halt: Halt,
  reason: string,
  { kick }: PhaseNeeds,
): Promise<void> {
  if (halt === 'REOPENED') return;
  const { phase, paymentOrderVersionId: versionId } = submitDataOf(task);
  await failSubmitOf(tx, { phase, versionId, reason, actor: task.taskCode }, kick);
}
