/** Real queues and workers for tests of the engine, under a prefix of their own in the run's Redis. */
import { type Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type RunningActors, runActors } from '../../actors/run.ts';
import { type WakeJob, Waker } from '../../queues/wake.ts';
import type { StageName } from '../../src/domain/stage.ts';
import { openRedis } from '../../src/leases/redis.ts';
import { randomName, STAGE, type TestEngine } from './engine.ts';

export interface Bull {
  readonly waker: Waker;
  readonly prefix: string;
  readonly kicks: string[];
  /** Workers of an engine, as one process has them. */
  run(
    engine: TestEngine,
    options?: { concurrency?: number; jobLockMs?: number; stage?: StageName },
  ): RunningActors;
  /** How many jobs wait and run. */
  counts(): Promise<{ waiting: number; active: number }>;
  /** What a worker that died leaves: its job active, locked for so long, and nobody there. */
  takeJobAndDie(lockMs: number): Promise<void>;
  /** Forgets everything, as an emptied Redis does. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** @param workersUrl where the workers' connections go, if elsewhere than those that wake */
export async function openBull(
  redisUrl = requireRedisUrl(),
  workersUrl = redisUrl,
  stage = STAGE,
): Promise<Bull> {
  const prefix = `{${randomName('test')}}`;
  const kicks: string[] = [];
  const connections: Redis[] = [];
  const open = (kind: 'prompt' | 'blocking') => {
    const redis = openRedis(kind === 'blocking' ? workersUrl : redisUrl, () => {}, kind);
    connections.push(redis);
    return redis;
  };
  const waker = new Waker({
    connection: open('prompt'),
    prefix,
    kickEnabled: true,
    kickShare: 1,
    onKick: (stageOfKick, outcome) => kicks.push(`${stageOfKick} ${outcome}`),
    onError: () => {},
  });
  await Promise.all(waker.queues.map((queue) => queue.waitUntilReady()));
  const running: RunningActors[] = [];
  const queue = waker.queues.find(({ name }) => name === stage) as Queue<WakeJob>;
  const forget = async () => {
    // Past any line that a test has cut, and waiting for Redis: a connection that was cut may not be back yet.
    const redis = openRedis(requireRedisUrl(), () => {}, 'blocking');
    const keys: string[] = [];
    for await (const found of redis.scanStream({ match: `${prefix}*`, count: 1_000 }))
      keys.push(...(found as string[]));
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  };
  return {
    waker,
    prefix,
    kicks,
    forget,
    run: ({ engine }, options = {}) => {
      const actors = runActors(engine, {
        connection: open('blocking'),
        prefix,
        stages: [options.stage ?? stage],
        concurrency: options.concurrency ?? 1,
        jobLockMs: options.jobLockMs ?? 30_000,
        isContended: (stageOfTurn) => waker.isContended(stageOfTurn).catch(() => false),
      });
      running.push(actors);
      return actors;
    },
    counts: async () => {
      const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
      return { waiting: wait, active };
    },
    takeJobAndDie: async (lockMs) => {
      const connection = open('blocking');
      const dying = new Worker<WakeJob>(stage, null, {
        connection,
        prefix,
        lockDuration: lockMs,
        autorun: false,
      });
      const job = await dying.getNextJob('token of a worker that died');
      if (job === undefined) throw new Error('there was no job to die with');
      await dying.close(true);
    },
    close: async () => {
      await Promise.all(running.map((actors) => actors.stop()));
      await waker.close().catch(() => undefined);
      for (const redis of connections) redis.disconnect();
      await forget();
    },
  };
}

export function requireRedisUrl(): string {
  const url = process.env.REDIS_URL;
  if (url === undefined || url === '') throw new Error('REDIS_URL is not set: run the tests with mocha');
  return url;
}
