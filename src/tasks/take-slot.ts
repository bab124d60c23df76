/**
 * Taking a slot (ENG-5): of a free or expired row, `FOR UPDATE SKIP LOCKED`, with a higher fence and a lease by the
 * database's clock. Whoever takes a slot that was lost first gives its tasks back (ENG-11), then claims its own, all
 * in one transaction: there is no instant in which nobody is responsible for them.
 */
import { routeOf } from '../../queues/route.ts';
import { TaskStatus } from '../domain/task-status.ts';
import {
  lockSlotIfFree,
  removeLockedSlot,
  type SlotKey,
  type SlotRight,
  takeLockedSlot,
} from '../store/slots.ts';
import { listTasksById, rescueTasks } from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import { type Claim, claimTasks } from './claim-tasks.ts';
import type { Engine } from './engine.ts';

/** A task whose process died this often is not started again by itself (ENG-11). */
export const CRASHES_MAX = 3;

export interface TakenSlot {
  readonly right: SlotRight;
  readonly claim: Claim;
}

/** @returns the right and a first batch; null if the slot is held, gone, or was retired and is now removed. */
export async function takeSlot(engine: Engine, slot: SlotKey): Promise<TakenSlot | null> {
  let rescued = 0;
  const taken = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    rescued = 0;
    const found = await lockSlotIfFree(tx, slot);
    if (found === null) return null;
    if (found.holder !== null) rescued = await rescueLost(engine, tx, slot, found.fence, found.taskIds ?? []);
    if (found.retired === 1) {
      await removeLockedSlot(tx, slot);
      return null;
    }
    const right: SlotRight = { ...slot, holder: engine.worker, fence: String(BigInt(found.fence) + 1n) };
    await takeLockedSlot(tx, right, engine.limits.slotLeaseMs);
    return { right, claim: await claimTasks(engine, tx, right, routeOf(slot.stage).claimSizeMax) };
  });
  if (rescued > 0) engine.observer.rescued(slot.stage, rescued);
  if (taken === null) engine.observer.claimLost(slot.stage);
  return taken;
}

/** Gives back what the lost holder had; whatever has crashed too often is halted, and what waits for it is told. */
async function rescueLost(
  engine: Engine,
  tx: Transaction,
  slot: SlotKey,
  fence: string,
  taskIds: readonly string[],
): Promise<number> {
  const rescued = await rescueTasks(tx, { ids: taskIds, fence, crashesMax: CRASHES_MAX });
  if (rescued === 0) return 0;
  for (const task of await listTasksById(tx, taskIds)) {
    const crashedForGood =
      task.status === TaskStatus.FAILED && task.slotFence === fence && task.errorCode === 'CRASHED';
    if (crashedForGood) await engine.handlers.get(slot.stage)?.onHalt?.(tx, task, 'FAILED', 'CRASHED');
  }
  return rescued;
}
