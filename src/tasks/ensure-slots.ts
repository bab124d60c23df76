/** A partner's slots at every stage, as many as its caps say (ENG-5); partner '0' owns work that belongs to nobody. */
import { route } from '../../queues/route.ts';
import type { StageName } from '../domain/stage.ts';
import { setSlotCount } from '../store/slots.ts';
import type { Transaction } from '../store/transaction.ts';

export type Caps = Partial<Record<StageName, number>>;

/** Idempotent. A lowered cap retires slots; whoever holds or takes one next removes it. */
export async function ensureSlots(tx: Transaction, partnerOrgId: string, caps: Caps): Promise<void> {
  for (const { stage, capDefault } of route)
    await setSlotCount(tx, stage, partnerOrgId, caps[stage] ?? capDefault);
}
