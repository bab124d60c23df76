/**
 * A turn: what a wake does (ENG-6). Takes exactly its slot, works through due tasks in batches for a slice of time, and
 * gives the slot back. If work is left, its own successor is queued first, at the end of the queue, so that partners
 * take turns and no wake is lost between the decision and the release.
 *
 *   free ──take──▶ held ──claim──▶ batch ──work, finish, claim next──▶ batch … ──nothing due──▶ released
 *                                    └─slice over─▶ successor queued ─▶ released
 *                                    └─fenced─▶ another has the slot: nothing is written
 */
import { routeOf } from '../../queues/route.ts';
import { monotonicMs } from '../clock.ts';
import { FencedOutError } from '../errors.ts';
import {
  lockSlotIfHeld,
  readTaskIds,
  releaseSlotIfHeld,
  type SlotKey,
  type SlotRight,
} from '../store/slots.ts';
import { handBackHeld } from '../store/tasks.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import { type Claim, claimTasks } from './claim-tasks.ts';
import type { Engine } from './engine.ts';
import { runBatch, type TurnLimits } from './run-batch.ts';
import type { StageHandler } from './stage-handler.ts';
import { takeSlot } from './take-slot.ts';

export type TurnOutcome =
  /** The slot is another's, or gone. */
  | 'NOT_TAKEN'
  /** Nothing was left that is due. */
  | 'IDLE'
  /** The slice ended first; the successor is queued. */
  | 'MORE'
  /** The slot was lost on the way. */
  | 'FENCED';

export async function takeTurn(
  engine: Engine,
  handler: StageHandler,
  slot: SlotKey,
  options: { contended: boolean },
): Promise<TurnOutcome> {
  if (engine.stopping.aborted) return 'NOT_TAKEN';
  const taken = await takeSlot(engine, slot);
  if (taken === null) return 'NOT_TAKEN';
  const limits = sliceLimits(engine, options.contended);
  try {
    return await workWhileHeld(engine, handler, taken.right, taken.claim, limits);
  } catch (error) {
    if (!(error instanceof FencedOutError)) {
      await giveBackQuietly(engine, taken.right);
      throw error;
    }
    engine.observer.fenced(slot.stage);
    return 'FENCED';
  }
}

async function workWhileHeld(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  first: Claim,
  limits: TurnLimits,
): Promise<TurnOutcome> {
  let claim = first;
  if (claim.full) void wakeNextSlot(engine, right);
  if (handler.prepare !== undefined) claim = await prepareAndClaim(engine, handler, right, claim);
  while (claim.tasks.length > 0 && !engine.stopping.aborted) {
    claim = await runBatch(engine, handler, right, claim.tasks, limits);
  }
  const over = limits.isOver();
  if (over) await wakeQuietly(engine, right);
  await giveBack(engine, right);
  return over ? 'MORE' : 'IDLE';
}

/** STA-17: whoever holds the slot first does the stage's preparation; what it made due is then claimed as well. */
async function prepareAndClaim(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  claim: Claim,
): Promise<Claim> {
  await handler.prepare?.(right);
  if (claim.tasks.length > 0) return claim;
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    if (!(await lockSlotIfHeld(tx, right))) throw new FencedOutError(`slot at ${right.stage}, on claiming`);
    return claimTasks(engine, tx, right, routeOf(right.stage).claimSizeMax);
  });
}

function sliceLimits(engine: Engine, contended: boolean): TurnLimits {
  const sliceMs = contended ? engine.limits.sliceContendedMs : engine.limits.sliceMs;
  const endMs = monotonicMs() + sliceMs;
  return { isOver: () => engine.stopping.aborted || monotonicMs() >= endMs };
}

/** A holder whose first claim was full wakes the next slot of its partner; where there is none, nobody is woken. */
async function wakeNextSlot(engine: Engine, right: SlotRight): Promise<void> {
  await wakeQuietly(engine, { ...right, slotNo: right.slotNo + 1 });
}

async function wakeQuietly(engine: Engine, slot: SlotKey): Promise<void> {
  try {
    await engine.wake.wakeSlot({ stage: slot.stage, partnerOrgId: slot.partnerOrgId, slotNo: slot.slotNo });
  } catch (error) {
    engine.observer.trouble(`waking a slot at ${slot.stage}; the scan will`, error);
  }
}

/**
 * A graceful hand-back counts nothing (ENG-11). What is in hand is read from the slot row, not from memory: it also
 * names a batch that was claimed by a commit whose answer was lost.
 */
async function giveBack(engine: Engine, right: SlotRight): Promise<void> {
  const handedBack = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    if (!(await lockSlotIfHeld(tx, right)))
      throw new FencedOutError(`slot at ${right.stage}, on giving it back`);
    const count = await handBackHeld(tx, await readTaskIds(tx, right), right.fence);
    await releaseSlotIfHeld(tx, right);
    return count;
  });
  if (handedBack > 0) engine.observer.ended(right.stage, 'handed-back', handedBack, 0);
}

/** After trouble that is not the work's own (the database was away): best effort; else the lease ends and ENG-11 rescues. */
async function giveBackQuietly(engine: Engine, right: SlotRight): Promise<void> {
  try {
    await giveBack(engine, right);
  } catch (error) {
    engine.observer.trouble(`giving back a slot at ${right.stage}; its lease will end`, error);
  }
}
