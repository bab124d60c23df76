/**
 * The one adapter between BullMQ and the actors: a worker per stage, whose jobs are turns of slots (ENG-6). What a job
 * does and whether it may is the engine's business; BullMQ only says when.
 */
import { type ConnectionOptions, type Job, Worker } from 'bullmq';
import { plainWakeId, type WakeJob } from '../queues/wake.ts';
import type { StageName } from '../src/domain/stage.ts';
import type { Engine } from '../src/tasks/engine.ts';
import { takeTurn } from '../src/tasks/take-turn.ts';

/** How often BullMQ looks for jobs whose worker died; with its default of 30 s a dead worker's wakes are swallowed that long. */
const STALLED_JOB_LIMIT = 10;

export interface RunOptions {
  readonly connection: ConnectionOptions;
  readonly prefix: string;
  readonly stages: readonly StageName[];
  /** Turns at a time, for each stage. */
  readonly concurrency: number;
  readonly jobLockMs: number;
  readonly isContended: (stage: StageName) => Promise<boolean>;
}

export interface RunningActors {
  readonly workers: readonly Worker<WakeJob>[];
  /** Takes nothing new and waits for the turns under way. */
  stop(): Promise<void>;
}

export function runActors(engine: Engine, options: RunOptions): RunningActors {
  const workers = options.stages.map((stage) => startWorker(engine, stage, options));
  return {
    workers,
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function startWorker(engine: Engine, stage: StageName, options: RunOptions): Worker<WakeJob> {
  const handler = engine.handlers.get(stage);
  if (handler === undefined) throw new Error(`No actor for stage ${stage}`);
  const worker = new Worker<WakeJob>(
    stage,
    async (job: Job<WakeJob>) => {
      const slot = { stage, partnerOrgId: job.data.partnerOrgId, slotNo: job.data.slotNo };
      const contended = await options.isContended(stage);
      const outcome = await takeTurn(engine, handler, slot, { contended });
      if (outcome === 'MORE' && !isSuccessorBehind(job)) await wakeQuietly(engine, slot);
      return outcome;
    },
    {
      connection: options.connection,
      prefix: options.prefix,
      concurrency: options.concurrency,
      lockDuration: options.jobLockMs,
      stalledInterval: options.jobLockMs,
      maxStalledCount: STALLED_JOB_LIMIT,
      // Turns are repeatable and short; nothing of them is worth keeping in Redis.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
  );
  worker.on('failed', (_job, error) => engine.observer.trouble(`a turn at ${stage}`, error));
  worker.on('error', (error) => engine.observer.trouble(`worker of ${stage}`, error));
  return worker;
}

/**
 * The successor that a turn queues runs behind this job only if it has this job's id. Behind a job that was woken by the
 * scan it does not: it may have begun, and found the slot held, before the turn gave it back.
 */
function isSuccessorBehind(job: Job<WakeJob>): boolean {
  return job.opts.deduplication?.id === plainWakeId(job.data);
}

async function wakeQuietly(engine: Engine, slot: WakeJob): Promise<void> {
  await engine.wake
    .wakeSlot(slot)
    .catch((error) => engine.observer.trouble(`waking a slot at ${slot.stage}; the scan will`, error));
}
