/** Waking whoever may work again after a pause. Politeness: the scan would find them too (ENG-7). */
import { listWakeCandidates, type WakeCandidate } from '../store/slots.ts';
import type { Engine } from '../tasks/engine.ts';

export async function kickDueWork(engine: Engine, isMeant: (slot: WakeCandidate) => boolean): Promise<void> {
  const kicked = new Set<string>();
  for (const slot of await listWakeCandidates(engine.store)) {
    const whom = `${slot.stage}/${slot.partnerOrgId}`;
    if (!isMeant(slot) || kicked.has(whom)) continue;
    kicked.add(whom);
    engine.wake.kick(slot.stage, slot.partnerOrgId);
  }
}
