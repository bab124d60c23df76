/** Forgets nonces of signed requests whose time is long over (ING-10, RET-1): in small steps by primary key, at most so many a run. */
import { forgetStaleNonces } from '../store/request-nonces.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

const FORGET_EVERY_MS = 60_000;
const CHUNK_SIZE_MAX = 500;
const CHUNKS_MAX = 100;

export function forgetNonces(everyMs = FORGET_EVERY_MS): SchedulerJob {
  return { name: 'forget-nonces', everyMs, runOnce: forgetOnce };
}

async function forgetOnce(engine: Engine): Promise<void> {
  for (let chunk = 0; chunk < CHUNKS_MAX && !engine.stopping.aborted; chunk++)
    if ((await forgetStaleNonces(engine.store, CHUNK_SIZE_MAX)) < CHUNK_SIZE_MAX) return;
}
