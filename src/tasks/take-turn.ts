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
import type { SlotKey } from '../store/slots.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import { type Claim, claimTasks } from './claim-tasks.ts';
import type { Engine } from './engine.ts';
import { giveBack, giveBackPatiently } from './give-back.ts';
import { runBatch } from './run-batch.ts';
import { lockSlotOrFence, type Turn, type TurnLimits } from './run-round.ts';
import type { StageHandler } from './stage-handler.ts';
import { takeSlot } from './take-slot.ts';

export type TurnOutcome =
  /** The slot is another's, or gone. */
  | 'NOT_TAKEN'
  /** Nothing was left that is due. */
  | 'IDLE'
  /** Something may be left; the successor is queued. */
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
  const turn: Turn = { engine, handler, right: taken.right, limits: sliceLimits(engine, options.contended) };
  try {
    return await workWhileHeld(turn, taken.claim);
  } catch (error) {
    await giveBackPatiently(engine, taken.right);
    if (!(error instanceof FencedOutError)) throw error;
    engine.observer.fenced(slot.stage);
    return 'FENCED';
  }
}

async function workWhileHeld(turn: Turn, first: Claim): Promise<TurnOutcome> {
  const { engine, right } = turn;
  if (first.full) void wakeNextSlot(turn);
  let claim = await prepareAndClaim(turn, first);
  if (claim.full && !first.full) void wakeNextSlot(turn);
  while (claim.tasks.length > 0 && !engine.stopping.aborted) claim = await runBatch(turn, claim.tasks);
  const more = claim.full || claim.tasks.length > 0;
  if (more) await wakeQuietly(engine, right);
  await giveBack(engine, right);
  return more ? 'MORE' : 'IDLE';
}

/**
 * STA-17: whoever holds the slot first does the stage's preparation; what it made due is then claimed as well. A
 * preparation that fails holds up nothing that is due already.
 */
async function prepareAndClaim(turn: Turn, claim: Claim): Promise<Claim> {
  const { engine, handler, right } = turn;
  if (handler.prepare === undefined) return claim;
  try {
    await handler.prepare(right);
  } catch (error) {
    if (error instanceof FencedOutError) throw error;
    engine.observer.trouble(`preparing a turn at ${right.stage}`, error);
  }
  if (claim.tasks.length > 0) return claim;
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await lockSlotOrFence(tx, right);
    return claimTasks(engine, tx, right, routeOf(right.stage).claimSizeMax);
  });
}

function sliceLimits(engine: Engine, contended: boolean): TurnLimits {
  const sliceMs = contended ? engine.limits.sliceContendedMs : engine.limits.sliceMs;
  const endMs = monotonicMs() + sliceMs;
  return { isOver: () => engine.stopping.aborted || monotonicMs() >= endMs };
}

/** A holder whose first claim was full wakes the next slot of its partner; where there is none, nobody is woken. */
async function wakeNextSlot({ engine, right }: Turn): Promise<void> {
  await wakeQuietly(engine, { ...right, slotNo: right.slotNo + 1 });
}

async function wakeQuietly(engine: Engine, slot: SlotKey): Promise<void> {
  try {
    await engine.wake.wakeSlot({ stage: slot.stage, partnerOrgId: slot.partnerOrgId, slotNo: slot.slotNo });
  } catch (error) {
    engine.observer.trouble(`waking a slot at ${slot.stage}; the scan will`, error);
  }
}
