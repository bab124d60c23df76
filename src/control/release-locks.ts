/**
 * POST /admin/api/v1/lock-releases: asks for the release of a submit's bill locks, by version and reason (LCK-2, LCK-3).
 * A bad identity is refused with 422, a state that the reason does not fit with 409; a repeat gets the task as it stands.
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { isLockReleaseReason, ORDER_BILL_IDS_MAX } from '../domain/lock-release.ts';
import { Failure } from '../errors.ts';
import { Problem } from '../http/problem.ts';
import {
  type AcceptedLockRelease,
  acceptLockRelease,
  BAD_RELEASE_IDENTITY,
  type LockReleaseRequest,
} from '../payment/accept-lock-release.ts';
import { requireEvidence } from '../payment/release-evidence.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findTaskByCode } from '../store/tasks.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import { readBody } from './read-body.ts';
import { noSuchTask } from './refusals.ts';
import { taskView } from './task-view.ts';

const NOTE_LENGTH_MAX = 500;

export const lockReleaseBody = z.strictObject({
  paymentOrderVersionId: z.string(),
  lockReleaseReason: z.string(),
  selection: z
    .union([
      z.literal('WHOLE_SUBMISSION'),
      z.strictObject({ orderBillIds: z.array(z.string()).max(ORDER_BILL_IDS_MAX) }),
    ])
    .optional(),
  note: z.string().trim().max(NOTE_LENGTH_MAX).optional(),
});

export function releaseLocksRoute(engine: Engine): RequestHandler {
  return async (request, response) => {
    const { selection, note, ...identity } = readBody(request, lockReleaseBody);
    const accepted = await accept(engine, {
      ...identity,
      ...(selection === undefined ? {} : { selection }),
      ...(note === undefined ? {} : { note }),
      actor: operatorOf(request),
    });
    const task = await findTaskByCode(engine.store, accepted.taskCode);
    if (task === null) throw noSuchTask(accepted.taskCode);
    response.status(accepted.reused ? 200 : 202).json({ reused: accepted.reused, ...taskView(task) });
  };
}

/** The operator's act, its evidence, the acceptance and the operation audit are one transaction. */
async function accept(engine: Engine, release: LockReleaseRequest): Promise<AcceptedLockRelease> {
  try {
    return await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const accepted = await acceptLockRelease(tx, release, engine.wake);
      if (!accepted.reused && isLockReleaseReason(release.lockReleaseReason))
        await requireEvidence(
          tx,
          release.paymentOrderVersionId,
          release.lockReleaseReason,
          release.selection,
        );
      await recordOperation(tx, auditOf(release, accepted));
      return accepted;
    });
  } catch (error) {
    if (error instanceof Failure && error.code === BAD_RELEASE_IDENTITY)
      throw new Problem(422, error.code, error.message, { cause: error });
    throw error;
  }
}

function auditOf(release: LockReleaseRequest, accepted: AcceptedLockRelease) {
  const { paymentOrderVersionId, lockReleaseReason, selection } = release;
  return {
    actor: release.actor,
    action: 'LOCK_RELEASE',
    target: accepted.businessKey.slice(0, 200),
    before: null,
    after: {
      paymentOrderVersionId,
      lockReleaseReason,
      selection: selection ?? 'WHOLE_SUBMISSION',
      taskCode: accepted.taskCode,
    },
    reason: release.note ?? null,
  };
}
