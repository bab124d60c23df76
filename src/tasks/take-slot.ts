/**
 * Taking a slot (ENG-5): of a free or expired row, `FOR UPDATE SKIP LOCKED`, with a higher fence and a lease by the
 * database's clock. Whoever takes a slot that was lost first gives its tasks back (ENG-11), then claims its own, all
 * in one transaction: there is no instant in which nobody is responsible for them.
 */
import { routeOf } from '../../queues/route.ts';
import { toFailure } from '../errors.ts';
import { listHeldTasks, rescueTasks, reviveCrashed } from '../store/held-tasks.ts';
import {
  lockSlotIfFree,
  removeLockedSlot,
  type SlotKey,
  type SlotRight,
  takeLockedSlot,
} from '../store/slots.ts';
import { listTasksById, type TaskRow } from '../store/tasks.ts';
import { isConflict, NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import { type Claim, claimTasks } from './claim-tasks.ts';
import type { Engine } from './engine.ts';
import { giveBackPatiently } from './give-back.ts';

/** A task whose process died this often is not started again by itself (ENG-11). */
export const CRASHES_MAX = 3;

export interface TakenSlot {
  readonly right: SlotRight;
  readonly claim: Claim;
}

/** @returns the right and a first batch; null if the slot is held, gone, or was retired and is now removed. */
export async function takeSlot(engine: Engine, slot: SlotKey): Promise<TakenSlot | null> {
  const attempt: Attempt = { rescued: 0, right: null };
  const taken = await tryTake(engine, slot, attempt).catch(async (error) => {
    // The commit may have been made and only its answer lost: then the slot is ours, and nobody works in it.
    if (attempt.right !== null) await giveBackPatiently(engine, attempt.right);
    throw error;
  });
  if (attempt.rescued > 0) engine.observer.rescued(slot.stage, attempt.rescued);
  if (taken === null) engine.observer.claimLost(slot.stage);
  return taken;
}

interface Attempt {
  rescued: number;
  /** Written in the transaction, whether or not it committed. */
  right: SlotRight | null;
}

function tryTake(engine: Engine, slot: SlotKey, attempt: Attempt): Promise<TakenSlot | null> {
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    attempt.rescued = 0;
    attempt.right = null;
    const found = await lockSlotIfFree(tx, slot);
    if (found === null) return null;
    if (found.holder !== null)
      attempt.rescued = await rescueLost(engine, tx, slot, found.fence, found.taskIds ?? []);
    if (found.retired === 1) {
      await removeLockedSlot(tx, slot);
      return null;
    }
    const right: SlotRight = { ...slot, holder: engine.worker, fence: String(BigInt(found.fence) + 1n) };
    attempt.right = right;
    await takeLockedSlot(tx, right, engine.limits.slotLeaseMs);
    return { right, claim: await claimTasks(engine, tx, right, routeOf(slot.stage).claimSizeMax) };
  });
}

/** Gives back what the lost holder had; whatever has crashed too often is halted, and what waits for it is told. */
async function rescueLost(
  engine: Engine,
  tx: Transaction,
  slot: SlotKey,
  fence: string,
  taskIds: readonly string[],
): Promise<number> {
  const lost = { ids: taskIds, slotNo: slot.slotNo, fence };
  const running = await listHeldTasks(tx, lost);
  const rescued = await rescueTasks(tx, { ...lost, crashesMax: CRASHES_MAX });
  for (const task of running) if (task.crashCount + 1 >= CRASHES_MAX) await haltCrashed(engine, tx, task);
  return rescued;
}

/**
 * A task whose end cannot be told to what waits for it (a fault of ours) must not wedge the slot of its partner: it is
 * as it was before the crash, waits as long as its type ever waits, with the reason shown, and is then tried alone.
 */
async function haltCrashed(engine: Engine, tx: Transaction, before: TaskRow): Promise<void> {
  const handler = engine.handlers.get(before.stage);
  if (handler?.onHalt === undefined) return;
  const [task] = await listTasksById(tx, [before.id]);
  try {
    await tx.nested(async (inner) => handler.onHalt?.(inner, task!, 'FAILED', 'CRASHED'));
  } catch (error) {
    if (isConflict(error)) throw error;
    engine.observer.trouble(`halting ${before.taskCode} after its third crash`, error);
    await reviveCrashed(tx, before, {
      dueInMs: routeOf(before.stage).backOff(before.maxRetryCount, Math.random()),
      message: `Its crash could not be recorded: ${toFailure(error).message}`,
    });
  }
}
