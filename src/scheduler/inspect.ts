/**
 * Inspection by the clock (INV-1): the leader begins one, and does not wait for it: its own lease and the scan for due
 * work go on meanwhile. While one is running no other begins.
 */
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

export interface InspectionJob extends SchedulerJob {
  /** Until the inspection that is running has ended. */
  settled(): Promise<void>;
}

export function inspectRegularly(
  everyMs: number,
  inspect: (signal: AbortSignal) => Promise<unknown>,
): InspectionJob {
  let running: Promise<void> | null = null;
  const begin = async (engine: Engine): Promise<void> => {
    try {
      await inspect(engine.stopping);
    } catch (error) {
      if (!engine.stopping.aborted) engine.observer.trouble('scheduler: inspection', error);
    } finally {
      running = null;
    }
  };
  return {
    name: 'inspect',
    everyMs,
    runOnce: async (engine) => {
      running ??= begin(engine);
    },
    settled: async () => {
      await running;
    },
  };
}
