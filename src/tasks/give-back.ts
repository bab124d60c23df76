/**
 * Giving a slot back in good order (ENG-11): what is in hand is PENDING again, nothing is counted. What is in hand is
 * read from the slot row, not from memory: it also names a batch that was claimed by a commit whose answer was lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { FencedOutError } from '../errors.ts';
import { handBackHeld } from '../store/held-tasks.ts';
import { lockOwnSlot, releaseSlotIfHeld, type SlotRight } from '../store/slots.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from './engine.ts';

const TRY_EVERY_MS = 500;
/** A process that stops does not wait long for a database that is away. */
const STOPPING_PATIENCE_MS = 3_000;

/** @throws FencedOutError where the slot is another's by now */
export async function giveBack(engine: Engine, right: SlotRight): Promise<void> {
  const handedBack = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const slot = await lockOwnSlot(tx, right);
    if (slot === null) throw new FencedOutError(`slot at ${right.stage}, on giving it back`);
    const count = await handBackHeld(tx, {
      ids: slot.taskIds,
      slotNo: right.slotNo,
      fence: right.fence,
    });
    await releaseSlotIfHeld(tx, right);
    return count;
  });
  if (handedBack > 0) engine.observer.ended(right.stage, 'handed-back', handedBack, 0);
}

/**
 * After trouble that is not the work's own (the database was restarted): tries for as long as others would wait for the
 * lease anyway, so that no restart counts as a crash of the tasks in hand. Then the lease ends and ENG-11 rescues.
 */
export async function giveBackPatiently(engine: Engine, right: SlotRight): Promise<void> {
  const startedMs = monotonicMs();
  for (;;) {
    try {
      await giveBack(engine, right);
      return;
    } catch (error) {
      if (error instanceof FencedOutError) return;
      const patienceMs = engine.stopping.aborted ? STOPPING_PATIENCE_MS : engine.limits.slotLeaseMs;
      if (monotonicMs() - startedMs + TRY_EVERY_MS > patienceMs) {
        engine.observer.trouble(`giving back a slot at ${right.stage}; its lease will end`, error);
        return;
      }
      await pause(TRY_EVERY_MS);
    }
  }
}
