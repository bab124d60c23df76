/**
 * Slots for whoever has none (ENG-5). Work without a slot would never be claimed, and the scan, which starts from the slots,
 * would never see it: a partner that was not made through the control plane, a stage that is newer than its partners, work
 * that belongs to nobody. Slots that are there are left as they are.
 */
import { route, routeOf } from '../../queues/route.ts';
import { lockPartner } from '../store/partners.ts';
import { type Lane, listLanesWithoutSlots, setSlotCount } from '../store/slots.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

const LOOK_EVERY_MS = 5_000;
const LANES_PER_LOOK_MAX = 500;
/** A run ends, whatever comes in meanwhile; the next one goes on. */
const LOOKS_PER_RUN_MAX = 100;

export function keepSlots(everyMs = LOOK_EVERY_MS): SchedulerJob {
  return { name: 'keep-slots', everyMs, runOnce };
}

async function runOnce(engine: Engine): Promise<void> {
  for (let looks = 0; looks < LOOKS_PER_RUN_MAX; looks++) {
    const lanes = await listLanesWithoutSlots(engine.store, {
      stages: route.map(({ stage }) => stage),
      limit: LANES_PER_LOOK_MAX,
    });
    if (lanes.length === 0) return;
    for (const lane of lanes) await makeSlots(engine, lane);
  }
}

/** Under the partner's row, as whoever changes its caps. */
async function makeSlots(engine: Engine, { stage, partnerOrgId }: Lane): Promise<void> {
  await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const partner = await lockPartner(tx, partnerOrgId);
    await setSlotCount(tx, stage, partnerOrgId, partner?.caps[stage] ?? routeOf(stage).capDefault);
  });
}
