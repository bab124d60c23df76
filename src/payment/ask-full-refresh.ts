/**
 * Asking for the refresh of a whole partner (ACC-14, DIF-6, DIF-14): one task, whose cursor finds the accounts. It replaces
 * the older ones of its partner that still wait; one that runs is left to end, since what it has done by then is right by
 * the terms that it read, and the new task goes over it all anew.
 */
import { randomUUID } from 'node:crypto';
import { routeOf } from '../../queues/route.ts';
import { refreshTaskCode } from '../domain/account-refresh.ts';
import {
  buildFullRefresh,
  type FullRefresh,
  fullRefreshBusinessKey,
  furthestCutOff,
} from '../domain/full-refresh.ts';
import { shanghaiMonth } from '../domain/month.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { readDatabaseTimeMs } from '../store/payment-facts.ts';
import { removeStopRequests } from '../store/stage-control.ts';
import type { Transaction } from '../store/transaction.ts';
import { cancelIfWaiting, lockWaitingTasks } from '../store/waiting-tasks.ts';
import { acceptTasks } from '../tasks/accept-tasks.ts';
import type { Kick } from '../tasks/kick.ts';

const NO_PUSH = '0';

export interface FullRefreshWish {
  readonly partnerOrgId: string;
  /** Null: up to the current month, so all of them (DEC-2). */
  readonly cutOffMonth: string | null;
  readonly actor: string;
  /** Why, for the operation audit. */
  readonly reason: string | null;
}

export interface AskedFullRefresh {
  readonly taskCode: string;
  /** Of the task: no earlier than that of any that it replaces. */
  readonly cutOffMonth: string;
  /** Codes of the tasks that were cancelled for it. */
  readonly replaced: readonly string[];
}

/** The caller holds the partner's row, so that of two wishes one comes after the other. */
export async function askFullRefresh(
  tx: Transaction,
  wish: FullRefreshWish,
  kick: Kick,
): Promise<AskedFullRefresh> {
  const { partnerOrgId } = wish;
  const { stage, taskType, attemptsMax } = routeOf('account-full');
  const month = shanghaiMonth(await readDatabaseTimeMs(tx));
  const older = await lockWaitingTasks(tx, { stage, partnerOrgId });
  const cutOffMonth = furthestCutOff(
    wish.cutOffMonth ?? month,
    older.map((task) => task.taskData as FullRefresh),
  );
  const source = { partnerOrgId, requestId: `FULL_REFRESH-${randomUUID()}`, eventMonth: month, cutOffMonth };
  const data = buildFullRefresh(source);
  const businessKey = fullRefreshBusinessKey(partnerOrgId, data);
  const taskCode = refreshTaskCode(businessKey);
  for (const task of older) await cancelIfWaiting(tx, task.id, `Replaced by the full refresh ${taskCode}`);
  await removeStopRequests(
    tx,
    older.map((task) => task.id),
  );
  const common = { stage, taskType, partnerOrgId, pushId: NO_PUSH, maxRetryCount: attemptsMax };
  await acceptTasks(tx, [{ ...common, taskCode, businessKey, data }]);
  const asked = { taskCode, cutOffMonth, replaced: older.map((task) => task.taskCode) };
  await recordOperation(tx, {
    actor: wish.actor,
    action: 'FULL_REFRESH',
    target: partnerOrgId,
    before: null,
    after: asked,
    reason: wish.reason,
  });
  tx.afterCommit(() => kick.kick(stage, partnerOrgId));
  return asked;
}
