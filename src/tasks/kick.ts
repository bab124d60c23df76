/** Waking: what BullMQ is for. A wake may be lost, doubled or late without harm; the scan finds what was missed (ENG-6, ENG-7). */
import type { StageName } from '../domain/stage.ts';
import type { SlotKey } from '../store/slots.ts';

export interface Kick {
  /** After a commit: wakes a slot of the partner at that stage. Never throws, never waits. */
  kick(stage: StageName, partnerOrgId: string): void;
}

export interface Wake extends Kick {
  /** Wakes exactly this slot; its own successor too, which then runs after what is running (ENG-6). */
  wakeSlot(slot: SlotKey): Promise<void>;
  /**
   * The scan's wake: under an id that carries the slot's fence, so that a wake that a dead worker's job swallows
   * for the plain id still gets through.
   */
  wakeSlotAtFence(slot: SlotKey, fence: string): Promise<void>;
}
