/**
 * GET /admin/api/v1/retention: whether old rows are being removed, by whom, and whether somebody holds the job. POST
 * …/pause and …/resume: hold it and let it go (RET-1). The pause is a row in MySQL that every piece looks at.
 */
import type { RequestHandler } from 'express';
import { RETENTION_JOB } from '../domain/retention.ts';
import { isoInstant } from '../store/instant.ts';
import { findJobPause, lockJobPaused, setJobPaused } from '../store/job-control.ts';
import { findLeader } from '../store/leaders.ts';
import { recordOperation } from '../store/operation-audit.ts';
import type { Sql } from '../store/sql.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { emptyBody } from './steer-task.ts';

export function showRetention(sql: Sql): RequestHandler {
  return async (_request, response) => {
    const pause = await findJobPause(sql, RETENTION_JOB);
    response.json({
      paused: pause?.paused === 1,
      updatedBy: pause?.updatedBy ?? null,
      updateTime: pause === null ? null : isoInstant(pause.updateTime),
      /** The worker whose run is under way. */
      runningAt: await findLeader(sql, RETENTION_JOB),
    });
  };
}

export function pauseRetention(store: Store, paused: boolean): RequestHandler {
  return async (request, response) => {
    readBody(request, emptyBody);
    await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const before = await lockJobPaused(tx, RETENTION_JOB);
      await setJobPaused(tx, RETENTION_JOB, paused, operatorOf(request));
      await recordOperation(tx, {
        actor: operatorOf(request),
        action: paused ? 'RETENTION_PAUSE' : 'RETENTION_RESUME',
        target: RETENTION_JOB,
        before: { paused: before },
        after: { paused },
        reason: null,
      });
    });
    response.json({ paused });
  };
}
