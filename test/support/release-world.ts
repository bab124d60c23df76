/** Lock releases in the test's own process, on the real database: workers with names, and tasks in any state. */
import { lockReleaseActor } from '../../actors/lock-release.ts';
import { sessionCleanupActor } from '../../actors/session-cleanup.ts';
import { type LockReleaseReason, lockReleaseCode, lockReleaseKey } from '../../src/domain/lock-release.ts';
import type { StageName } from '../../src/domain/stage.ts';
import { acceptLockRelease, type LockReleaseRequest } from '../../src/payment/accept-lock-release.ts';
import type { Sql } from '../../src/store/sql.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import type { Engine } from '../../src/tasks/engine.ts';
import type { Kick } from '../../src/tasks/kick.ts';
import { type TurnOutcome, takeTurn } from '../../src/tasks/take-turn.ts';
import { type EngineParts, makeEngine, makeSlots, makeTask, slotOf, type TestEngine } from './engine.ts';
import type { Columns } from './factory.ts';
import { type MadeSubmit, PAYMENT_PARTNER } from './payment-factory.ts';

export interface ReleaseWorker extends TestEngine {
  /** A turn at the stage: all that is due, as far as the slice goes. */
  work(slotNo?: number): Promise<TurnOutcome>;
  cleanUp(): Promise<TurnOutcome>;
}

export function makeWorker(store: Store, parts: EngineParts = {}): ReleaseWorker {
  const made = makeEngine(store, parts);
  const kick: Kick = made.engine.wake;
  const handlers = new Map(
    [lockReleaseActor({ kick }), sessionCleanupActor()].map((actor) => [actor.stage, actor]),
  );
  const engine: Engine = { ...made.engine, handlers };
  const turn = (stage: StageName, slotNo: number) =>
    takeTurn(engine, handlers.get(stage)!, slotOf(slotNo, PAYMENT_PARTNER, stage), { contended: false });
  return {
    ...made,
    engine,
    work: (slotNo = 1) => turn('lock-release', slotNo),
    cleanUp: () => turn('session-cleanup', 1),
  };
}

export async function makeReleaseSlots(sql: Sql): Promise<void> {
  await makeSlots(sql, 4, PAYMENT_PARTNER, 'lock-release');
  await makeSlots(sql, 1, PAYMENT_PARTNER, 'session-cleanup');
}

export function silentKick(): Kick {
  return { kick: () => undefined };
}

/** As a producer does it. @returns the task's code */
export async function accept(
  store: Store,
  request: Omit<LockReleaseRequest, 'actor'> & { actor?: string },
  kick: Kick = silentKick(),
): Promise<string> {
  const { taskCode } = await store.transaction(NEW_READ_COMMITTED, (tx) =>
    acceptLockRelease(tx, { actor: 'test', ...request }, kick),
  );
  return taskCode;
}

/** A release task as if it had been accepted, whatever the state of version and order. @returns its code */
export async function makeRelease(
  sql: Sql,
  submit: Pick<MadeSubmit, 'versionId'>,
  reason: LockReleaseReason,
  columns: Columns = {},
  orderBillIds: readonly string[] | null = null,
): Promise<string> {
  const key = lockReleaseKey({
    paymentOrderVersionId: submit.versionId,
    lockReleaseReason: reason,
    orderBillIds,
  });
  const code = lockReleaseCode(key);
  await makeTask(sql, code, {
    task_type: 'RESIDENT_INCOME_PAYMENT_LOCK_RELEASE',
    business_key: key,
    task_data: JSON.stringify({
      paymentOrderVersionId: submit.versionId,
      lockReleaseReason: reason,
      taskScene: 'LOCK_RELEASE',
      ...(orderBillIds === null ? {} : { orderBillIds }),
    }),
    max_retry_count: 3,
    stage: 'lock-release',
    partner_org_id: PAYMENT_PARTNER,
    ...columns,
  });
  return code;
}

/** Between tests of one file: whatever was due, is not any more. */
export async function forgetTasks(sql: Sql): Promise<void> {
  await sql.change('DELETE FROM fi_async_task');
  await sql.change('UPDATE stage_slot SET holder = NULL, lease_end = NULL, task_ids = NULL');
}
