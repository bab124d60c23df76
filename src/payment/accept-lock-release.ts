/**
 * Accepts the release of a submit's bill locks, in the transaction of the fact that makes it necessary (LCK-1, LCK-2,
 * LCK-4). In this order: the identity is validated, the seed built, the task accepted or found as it stands, the
 * acceptance written down; after the commit its stage is woken. A producer has moved version, order or session already
 * (LCK-3). A selection is found again by the locks' `order_bill_id`.
 */
import { createHash, randomUUID } from 'node:crypto';
import { routeOf } from '../../queues/route.ts';
import { faultOfState, type ReleaseSubject } from '../domain/implied-state.ts';
import {
  judgeIdentity,
  type LockReleaseIdentity,
  type LockReleaseSelection,
  lockReleaseCode,
  lockReleaseData,
  lockReleaseKey,
} from '../domain/lock-release.ts';
import { Failure } from '../errors.ts';
import {
  countOrderBills,
  findReleaseSubject,
  type ReleaseSubjectRow,
  recordAcceptance,
} from '../store/lock-release-requests.ts';
import { listTaskIdentities, type TaskIdentity, type TaskSeed } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';

export interface LockReleaseRequest {
  readonly paymentOrderVersionId: string;
  readonly lockReleaseReason: string;
  /** Left out: the whole submission, where the reason allows it (LCK-4). */
  readonly selection?: LockReleaseSelection;
  /** Why; must be there for COMPENSATION_RELEASE. */
  readonly note?: string;
  /** Who asks: an operator, or the task whose failure it follows. */
  readonly actor: string;
  /** The event that this acceptance answers: the same event is audited once. Without one, each call is an event. */
  readonly eventId?: string;
}

export interface AcceptedLockRelease {
  readonly taskId: string;
  readonly taskCode: string;
  readonly businessKey: string;
  readonly partnerOrgId: string;
  /** The task was there already and is as it was. */
  readonly reused: boolean;
}

/** The code of the failure for an identity that cannot be (422), and for a state that the reason does not fit (409). */
export const BAD_RELEASE_IDENTITY = 'BAD_RELEASE_IDENTITY';
export const RELEASE_NOT_IMPLIED = 'RELEASE_NOT_IMPLIED';

/** @throws Failure `BAD_RELEASE_IDENTITY`, `RELEASE_NOT_IMPLIED`; neither may be retried */
export async function acceptLockRelease(
  tx: Transaction,
  request: LockReleaseRequest,
  kick: Kick,
): Promise<AcceptedLockRelease> {
  const judged = judgeIdentity({ ...request, selection: request.selection ?? null });
  if ('fault' in judged) throw badIdentity(judged.fault);
  const { identity } = judged;
  const subject = await requireSubject(tx, identity);
  const seed = seedOf(identity, subject.partnerOrgId);
  const reused = (await listTaskIdentities(tx, [seed.taskCode])).length > 0;
  if (!reused) requireImpliedState(identity, subject);
  const [task] = await acceptTasks(tx, [seed]);
  await recordAcceptance(tx, auditOf(request, identity, task!, reused));
  tx.afterCommit(() => kick.kick('lock-release', subject.partnerOrgId));
  const { taskCode, businessKey } = seed;
  return { taskId: task!.id, taskCode, businessKey, partnerOrgId: subject.partnerOrgId, reused };
}

async function requireSubject(tx: Transaction, identity: LockReleaseIdentity): Promise<ReleaseSubjectRow> {
  const { paymentOrderVersionId, orderBillIds } = identity;
  const subject = await findReleaseSubject(tx, paymentOrderVersionId);
  if (subject === null) throw badIdentity(`there is no payment order version ${paymentOrderVersionId}`);
  if (orderBillIds !== null) {
    const own = await countOrderBills(tx, paymentOrderVersionId, orderBillIds);
    if (own < orderBillIds.length)
      throw badIdentity(
        `${orderBillIds.length - own} of the order bills are not of version ${paymentOrderVersionId}`,
      );
  }
  return subject;
}

function requireImpliedState(identity: LockReleaseIdentity, row: ReleaseSubjectRow): void {
  const fault = faultOfState(identity.lockReleaseReason, subjectOf(row));
  if (fault === null) return;
  throw new Failure(RELEASE_NOT_IMPLIED, `${identity.lockReleaseReason} does not fit: ${fault}`, {
    retryable: false,
  });
}

function subjectOf(row: ReleaseSubjectRow): ReleaseSubject {
  const { sessionMode: mode, sessionCreatorUserId: creatorUserId, sessionStatus: status } = row;
  const session =
    mode === null || creatorUserId === null || status === null
      ? null
      : {
          mode,
          creatorUserId,
          targetPaymentOrderId: row.sessionTargetOrderId,
          status,
          activeSubmitId: row.sessionSubmitId,
        };
  return { ...row, session };
}

function badIdentity(fault: string): Failure {
  return new Failure(BAD_RELEASE_IDENTITY, `Nothing is released: ${fault}`, { retryable: false });
}

function seedOf(identity: LockReleaseIdentity, partnerOrgId: string): TaskSeed {
  const { stage, taskType, attemptsMax } = routeOf('lock-release');
  const businessKey = lockReleaseKey(identity);
  return {
    stage,
    taskType,
    taskCode: lockReleaseCode(businessKey),
    businessKey,
    data: lockReleaseData(identity),
    partnerOrgId,
    pushId: '0',
    maxRetryCount: attemptsMax,
  };
}

function auditOf(
  request: LockReleaseRequest,
  identity: LockReleaseIdentity,
  task: TaskIdentity,
  reused: boolean,
) {
  const { lockReleaseReason, orderBillIds, paymentOrderVersionId } = identity;
  return {
    eventId: eventIdOf(task.taskCode, request.eventId ?? randomUUID()),
    paymentOrderVersionId,
    detail: {
      taskId: task.id,
      taskCode: task.taskCode,
      businessKey: task.businessKey,
      lockReleaseReason,
      selection: orderBillIds === null ? 'WHOLE_SUBMISSION' : { orderBillCount: orderBillIds.length },
      actor: request.actor,
      note: request.note ?? null,
      reused,
    },
  };
}

const EVENT_LENGTH_MAX = 100;

/** An event may ask for releases of several versions and reasons: one acceptance of each. */
function eventIdOf(taskCode: string, event: string): string {
  const short = event.length <= EVENT_LENGTH_MAX ? event : createHash('sha256').update(event).digest('hex');
  return `LRA:${taskCode}:${short}`;
}
