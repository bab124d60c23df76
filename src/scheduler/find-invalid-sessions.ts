/**
 * Finds invalidated REVISE sessions and accepts their clean-up (SES-1). A closeout accepts it itself, in its own
 * transaction (ENG-2); this is for sessions that were invalidated in another way.
 */
import { acceptSessionCleanup } from '../payment/accept-session-cleanup.ts';
import { listInvalidSessions } from '../store/session-cleanups.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

const LOOK_EVERY_MS = 10_000;
const SESSIONS_MAX = 100;

export function findInvalidSessions(everyMs = LOOK_EVERY_MS): SchedulerJob {
  return { name: 'find-invalid-sessions', everyMs, runOnce: findOnce };
}

/** One transaction each: a session that cannot be taken up holds up no other. */
async function findOnce(engine: Engine): Promise<void> {
  for (const session of await listInvalidSessions(engine.store, SESSIONS_MAX))
    await engine.store.transaction(NEW_READ_COMMITTED, (tx) =>
      acceptSessionCleanup(tx, session, engine.wake),
    );
}
