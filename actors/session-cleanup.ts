/**
 * Session clean-up stage: cancels an invalidated REVISE session once nothing of it is left, so that its order is free for
 * another REVISE (SES-1). Where something is left, the session stays as it is, and is looked at again.
 * Reads: tasks, operations, versions, batches, slots, locks. Writes: the session. Hands on: nothing.
 * Guarded by: slot, the session's `state_version`.
 */
import type { StageName } from '../src/domain/stage.ts';
import type { SessionCleanupData } from '../src/payment/accept-session-cleanup.ts';
import {
  type CleanupSession,
  cancelSessionIfUnchanged,
  findCleanupSession,
  listSessionObstacles,
} from '../src/store/session-cleanups.ts';
import type { Transaction } from '../src/store/transaction.ts';
import type { ClaimedTask, Ending, Endings, StageHandler } from '../src/tasks/stage-handler.ts';

/** When a session that could not be cancelled is looked at again. */
const LOOK_AGAIN_MS = 30_000;

export function sessionCleanupActor(): StageHandler {
  return { stage: 'session-cleanup' satisfies StageName, work };
}

async function work(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<Endings> {
  const endings = new Map<string, Ending>();
  for (const task of tasks) endings.set(task.id, await cleanUp(tx, sessionIdOf(task)));
  return endings;
}

async function cleanUp(tx: Transaction, sessionId: string): Promise<Ending> {
  const session = await findCleanupSession(tx, sessionId);
  if (session === null)
    return { kind: 'cancelled', code: 'NO_SUCH_SESSION', message: `There is no session ${sessionId}` };
  if (session.status === 'CANCELLED') return done(session, 'is cancelled already');
  if (!session.isInvalidated)
    return lookAgain(
      'SESSION_NOT_INVALIDATED',
      `Session ${sessionId} is ${session.status} and not invalidated`,
    );
  const obstacles = await listSessionObstacles(tx, session);
  if (obstacles.length > 0) {
    const left = obstacles.map(({ kind, what }) => `${kind} ${what}`).join('; ');
    return lookAgain('SESSION_NOT_SAFE', `Session ${sessionId} still has: ${left}`);
  }
  if (!(await cancelSessionIfUnchanged(tx, session)))
    return lookAgain('SESSION_CHANGED', `Session ${sessionId} changed while it was looked at`);
  return done(session, 'is cancelled; its order is free for another REVISE');
}

/** No failure: it waits for something else, with the reason shown, for as long as it takes. */
function lookAgain(code: string, message: string): Ending {
  return { kind: 'postponed', dueInMs: LOOK_AGAIN_MS, error: { code, message } };
}

function done(session: CleanupSession, what: string): Ending {
  return { kind: 'succeeded', finalResult: 'FULL_SUCCESS', summary: `Session ${session.id} ${what}` };
}

function sessionIdOf(task: ClaimedTask): string {
  return (task.taskData as SessionCleanupData).sessionId;
}
