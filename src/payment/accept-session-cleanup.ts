/** Accepts the clean-up of an invalidated REVISE session (SES-1): one task a session, found again as it stands. */
import { routeOf } from '../../queues/route.ts';
import type { TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';

export interface SessionToCleanUp {
  readonly id: string;
  readonly partnerOrgId: string;
}

export interface SessionCleanupData {
  readonly sessionId: string;
}

export async function acceptSessionCleanup(
  tx: Transaction,
  session: SessionToCleanUp,
  kick: Kick,
): Promise<void> {
  await acceptTasks(tx, [seedOf(session)]);
  tx.afterCommit(() => kick.kick('session-cleanup', session.partnerOrgId));
}

export function sessionCleanupCode(sessionId: string): string {
  return `RIPSC:${sessionId}`;
}

function seedOf({ id, partnerOrgId }: SessionToCleanUp): TaskSeed {
  const { stage, taskType, attemptsMax } = routeOf('session-cleanup');
  const data: SessionCleanupData = { sessionId: id };
  return {
    stage,
    taskType,
    taskCode: sessionCleanupCode(id),
    businessKey: `SESSION_CLEANUP:${id}`,
    data,
    partnerOrgId,
    pushId: '0',
    maxRetryCount: attemptsMax,
  };
}
