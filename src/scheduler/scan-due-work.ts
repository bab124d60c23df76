/**
 * The backstop behind every kick (ENG-7): finds slots that died, and free slots whose partner has due work, and wakes
 * them. Starts from the small slot table. It decides nothing and changes nothing: a wake too many is harmless.
 */
import { monotonicMs } from '../clock.ts';
import { listWakeCandidates, type WakeCandidate } from '../store/slots.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

export function scanDueWork(everyMs: number): SchedulerJob {
  return { name: 'scan-due-work', everyMs, runOnce: scanOnce };
}

export async function scanOnce(engine: Engine): Promise<void> {
  const startedMs = monotonicMs();
  const candidates = await listWakeCandidates(engine.store);
  const toWake = chooseWakes(candidates);
  for (const slot of toWake) await engine.wake.wakeSlotAtFence(keyOf(slot), slot.fence);
  const dead = candidates.filter((slot) => slot.dead === 1).length;
  engine.observer.scanned(toWake.length, dead, monotonicMs() - startedMs);
}

/** Every dead slot, and one free slot for each partner and stage with due work: its holder wakes the next (ENG-6). */
export function chooseWakes(candidates: readonly WakeCandidate[]): WakeCandidate[] {
  const chosen: WakeCandidate[] = [];
  const served = new Set<string>();
  for (const slot of candidates) {
    const lane = `${slot.stage}/${slot.partnerOrgId}`;
    if (slot.dead === 1) chosen.push(slot);
    else if (!served.has(lane)) {
      served.add(lane);
      chosen.push(slot);
    }
  }
  return chosen;
}

function keyOf(slot: WakeCandidate) {
  return { stage: slot.stage, partnerOrgId: slot.partnerOrgId, slotNo: slot.slotNo };
}
