/**
 * What runs once in the cluster (ENG-7): whoever holds the leader's row runs the jobs, at their intervals; followers look
 * for the place once per lease. A job is bounded, repeatable and harmless when two leaders overlap for an instant: the
 * row only saves work, the slots and guards are what keeps things right.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { stepDown, tryLead } from '../store/leaders.ts';
import type { Engine } from '../tasks/engine.ts';

const LEADER_NAME = 'scheduler';

export interface SchedulerJob {
  readonly name: string;
  readonly everyMs: number;
  runOnce(engine: Engine): Promise<void>;
}

export interface RunningScheduler {
  stop(): Promise<void>;
}

export function startScheduler(
  engine: Engine,
  options: { leaseMs: number; jobs: readonly SchedulerJob[] },
): RunningScheduler {
  const stopped = new AbortController();
  const loop = lead(engine, options, stopped.signal);
  return {
    stop: async () => {
      stopped.abort();
      await loop;
    },
  };
}

async function lead(
  engine: Engine,
  options: { leaseMs: number; jobs: readonly SchedulerJob[] },
  stopped: AbortSignal,
): Promise<void> {
  const dueMs = new Map<string, number>();
  const tickMs = Math.min(...options.jobs.map((job) => job.everyMs), options.leaseMs / 3);
  while (!stopped.aborted) {
    const leads = await quietly(engine, 'leading', () =>
      tryLead(engine.store, LEADER_NAME, engine.worker, options.leaseMs),
    );
    if (leads === true) await runDueJobs(engine, options.jobs, dueMs);
    await sleepUntil(leads === true ? tickMs : options.leaseMs, stopped);
  }
  await quietly(engine, 'stepping down', () => stepDown(engine.store, LEADER_NAME, engine.worker));
}

async function runDueJobs(
  engine: Engine,
  jobs: readonly SchedulerJob[],
  dueMs: Map<string, number>,
): Promise<void> {
  for (const job of jobs) {
    const nowMs = performance.now();
    if (nowMs < (dueMs.get(job.name) ?? 0)) continue;
    dueMs.set(job.name, nowMs + job.everyMs);
    await quietly(engine, job.name, () => job.runOnce(engine));
  }
}

/** A job that fails is told and tried again at its next time; the others go on. */
async function quietly<T>(engine: Engine, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    engine.observer.trouble(`scheduler: ${what}`, error);
    return null;
  }
}

async function sleepUntil(ms: number, stopped: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal: stopped }).catch(() => undefined);
}
