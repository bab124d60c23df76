/**
 * The one adapter between BullMQ and the actors: a worker per stage, whose jobs are turns of slots (ENG-6). What a job
 * does and whether it may is the engine's business; BullMQ only says when.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectionOptions, type Job, Worker } from 'bullmq';
import { plainWakeId, type WakeJob } from '../queues/wake.ts';
import type { StageName } from '../src/domain/stage.ts';
import type { Engine } from '../src/tasks/engine.ts';
import type { StageHandler } from '../src/tasks/stage-handler.ts';
import { type TurnOutcome, takeTurn } from '../src/tasks/take-turn.ts';

/** How often BullMQ looks for jobs whose worker died; with its default of 30 s a dead worker's wakes are swallowed that long. */
const STALLED_JOB_LIMIT = 10;
const REDIS_ANSWERS_WITHIN_MS = 1_000;

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
  const turns = new Set<Promise<unknown>>();
  const workers = options.stages.map((stage) => startWorker(engine, stage, options, turns));
  const watch = watchConnection(engine, workers, options.jobLockMs);
  return {
    workers,
    stop: async () => {
      clearInterval(watch);
      await Promise.all(workers.map((worker) => stopWorker(worker, turns)));
    },
  };
}

/**
 * A worker that is closed writes down what became of its jobs, and waits for Redis with that for as long as it takes.
 * Where Redis is away, the turns under way end in order all the same, and BullMQ gives the jobs to others later.
 */
async function stopWorker(worker: Worker<WakeJob>, turns: ReadonlySet<Promise<unknown>>): Promise<void> {
  await worker.pause(true);
  if (await answers(worker, REDIS_ANSWERS_WITHIN_MS)) return worker.close();
  await Promise.allSettled(turns);
  await worker.close(true);
}

/**
 * A connection whose server is gone without a word (a failover, a network that forgot it) is half-open: its commands are
 * neither answered nor refused until the operating system gives up, a quarter of an hour later. All workers share the
 * connection for their commands; BullMQ watches those for waiting itself.
 */
function watchConnection(
  engine: Engine,
  workers: readonly Worker<WakeJob>[],
  silenceMaxMs: number,
): NodeJS.Timeout {
  const lookOnce = async () => {
    const worker = workers[0];
    if (worker === undefined || (await answers(worker, silenceMaxMs))) return;
    const client = await worker.backend.client;
    if (client.status !== 'ready') return;
    engine.observer.trouble(
      'the workers’ Redis',
      new Error(`It said nothing for ${silenceMaxMs} ms; connecting anew`),
    );
    client.disconnect(true);
  };
  return setInterval(() => void lookOnce().catch(() => undefined), silenceMaxMs).unref();
}

async function answers(worker: Worker<WakeJob>, withinMs: number): Promise<boolean> {
  const answer = worker.backend.client.then((client) => client.info());
  return Promise.race([
    answer.then(
      () => true,
      () => false,
    ),
    pause(withinMs, false, { ref: false }),
  ]);
}

function startWorker(
  engine: Engine,
  stage: StageName,
  options: RunOptions,
  turns: Set<Promise<unknown>>,
): Worker<WakeJob> {
  const handler = engine.handlers.get(stage);
  if (handler === undefined) throw new Error(`No actor for stage ${stage}`);
  const worker = new Worker<WakeJob>(
    stage,
    async (job: Job<WakeJob>) => {
      const turn = runJob(engine, handler, job, options);
      turns.add(turn);
      try {
        return await turn;
      } finally {
        turns.delete(turn);
      }
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

async function runJob(
  engine: Engine,
  handler: StageHandler,
  job: Job<WakeJob>,
  options: RunOptions,
): Promise<TurnOutcome> {
  const { stage } = handler;
  const slot = { stage, partnerOrgId: job.data.partnerOrgId, slotNo: job.data.slotNo };
  const contended = await options.isContended(stage);
  const outcome = await takeTurn(engine, handler, slot, { contended });
  if (outcome === 'MORE' && !isSuccessorBehind(job)) await wakeQuietly(engine, slot);
  return outcome;
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
