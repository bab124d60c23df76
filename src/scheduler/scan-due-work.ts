/**
 * The backstop behind every kick (ENG-7): finds slots that died, and free slots whose partner has due work, and wakes
 * them. Starts from the small slot table. A wake too many is harmless.
 *
 * A free slot is woken by its plain id, which merges with whatever is queued for it already: an id of its own at each
 * scan would fill Redis behind a long queue. Where such a wake does not come through (its id is swallowed by the job of a
 * worker that died), the lane's next free slot is woken at the next scan, and after some seconds the slot itself by an
 * id that carries its fence. A slot that died is woken so at once.
 */
import { monotonicMs } from '../clock.ts';
import { listWakeCandidates, type SlotKey, type WakeCandidate } from '../store/slots.ts';
import { removeStaleStopRequests } from '../store/stage-control.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

/** Two of BullMQ's own looks for jobs whose worker died: by then it has found them itself. */
const PLAIN_WAKES_FOR_MS = 10_000;

export function scanDueWork(everyMs: number): SchedulerJob {
  const memory: ScanMemory = new Map();
  return { name: 'scan-due-work', everyMs, runOnce: (engine) => scanOnce(engine, memory) };
}

/** What the scan remembers of a free slot that it has woken, while it stays free under the same fence. */
interface Woken {
  readonly sinceMs: number;
  readonly times: number;
}
export type ScanMemory = Map<string, Woken>;

export async function scanOnce(engine: Engine, memory: ScanMemory = new Map()): Promise<void> {
  const startedMs = monotonicMs();
  const candidates = await listWakeCandidates(engine.store);
  const wakes = chooseWakes(candidates, memory, startedMs);
  remember(memory, candidates, wakes, startedMs);
  await wakeAll(engine, wakes);
  await removeStaleStopRequests(engine.store);
  const dead = candidates.filter((slot) => slot.dead).length;
  engine.observer.scanned(wakes.length, dead, monotonicMs() - startedMs);
}

export interface ChosenWake {
  readonly slot: WakeCandidate;
  readonly atFence: boolean;
}

/** Every dead slot, and of each partner and stage with due work the free slot that was woken least: its holder wakes the next (ENG-6). */
export function chooseWakes(
  candidates: readonly WakeCandidate[],
  memory: ReadonlyMap<string, Woken>,
  nowMs: number,
): ChosenWake[] {
  const dead = candidates.filter((slot) => slot.dead).map((slot) => ({ slot, atFence: true }));
  const lanes = Map.groupBy(
    candidates.filter((slot) => !slot.dead),
    (slot) => `${slot.stage}/${slot.partnerOrgId}`,
  );
  const times = (slot: WakeCandidate) => memory.get(nameOf(slot))?.times ?? 0;
  const free = [...lanes.values()].map((slots) => {
    const slot = slots.reduce((least, other) => (times(other) < times(least) ? other : least));
    const sinceMs = memory.get(nameOf(slot))?.sinceMs ?? nowMs;
    return { slot, atFence: nowMs - sinceMs >= PLAIN_WAKES_FOR_MS };
  });
  return [...dead, ...free];
}

/** Counts the wakes, and forgets slots that are not found free any more, or under another fence. */
function remember(
  memory: ScanMemory,
  candidates: readonly WakeCandidate[],
  wakes: readonly ChosenWake[],
  nowMs: number,
): void {
  const found = new Set(candidates.map(nameOf));
  for (const name of memory.keys()) if (!found.has(name)) memory.delete(name);
  for (const { slot } of wakes) {
    const known = memory.get(nameOf(slot));
    memory.set(nameOf(slot), { sinceMs: known?.sinceMs ?? nowMs, times: (known?.times ?? 0) + 1 });
  }
}

/** Where Redis refuses one wake it refuses them all: the rest waits for the next scan. */
async function wakeAll(engine: Engine, wakes: readonly ChosenWake[]): Promise<void> {
  try {
    for (const { slot, atFence } of wakes) {
      if (atFence) await engine.wake.wakeSlotAtFence(keyOf(slot), slot.fence);
      else await engine.wake.wakeSlot(keyOf(slot));
    }
  } catch (error) {
    engine.observer.trouble('waking what the scan found; the next scan will', error);
  }
}

function nameOf(slot: WakeCandidate): string {
  return `${slot.stage}/${slot.partnerOrgId}/${slot.slotNo}/${slot.fence}`;
}

function keyOf({ stage, partnerOrgId, slotNo }: WakeCandidate): SlotKey {
  return { stage, partnerOrgId, slotNo };
}
