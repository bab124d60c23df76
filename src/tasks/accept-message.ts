/**
 * A new message as a task. Its id is drawn, and a message is always new work: where the id is taken it is drawn again.
 * Accept-or-reuse (ENG-3) would hand back whatever message has it, and this one's stations would be in none.
 */
import { routeOf } from '../../queues/route.ts';
import {
  type AnyDifferenceMessage,
  messageTaskCode,
  orderOf,
  requestIdOf,
  withIdDrawnAgain,
} from '../domain/difference-message.ts';
import { insertTaskIfNew, type TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';

export interface AcceptedMessage {
  readonly id: string;
  readonly taskCode: string;
}

export async function acceptMessage(
  tx: Transaction,
  partnerOrgId: string,
  message: AnyDifferenceMessage,
): Promise<AcceptedMessage> {
  for (let drawn = message; ; drawn = withIdDrawnAgain(drawn)) {
    const seed = seedOf(partnerOrgId, drawn);
    const id = await insertTaskIfNew(tx, seed);
    if (id !== null) return { id, taskCode: seed.taskCode };
  }
}

function seedOf(partnerOrgId: string, message: AnyDifferenceMessage): TaskSeed {
  const { stage, taskType, attemptsMax } = routeOf('income-diff');
  return {
    stage,
    taskType,
    taskCode: messageTaskCode(message),
    businessKey: requestIdOf(message),
    data: message,
    partnerOrgId,
    pushId: orderOf(message).pushId,
    maxRetryCount: attemptsMax,
  };
}
