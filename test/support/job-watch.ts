/** How many jobs stand in Redis, looked at all the time: in all queues and all states, those that ended included. */
import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { route } from '../../queues/route.ts';

const LOOK_EVERY_MS = 50;

export interface JobWatch {
  readonly most: () => number;
  readonly looks: () => number;
  stop(): Promise<void>;
}

/** @param prefix as configured, without its braces */
export function watchJobs(redisUrl: string, prefix: string): JobWatch {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queues = route.map(({ stage }) => new Queue(stage, { connection, prefix: `{${prefix}}` }));
  const stopping = new AbortController();
  let most = 0;
  let looks = 0;
  const lookOnce = async () => {
    const counts = await Promise.all(queues.map((queue) => queue.getJobCounts()));
    most = Math.max(
      most,
      counts.flatMap((states) => Object.values(states)).reduce((sum, n) => sum + n, 0),
    );
    looks++;
  };
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      await lookOnce();
      await pause(LOOK_EVERY_MS);
    }
  })();
  return {
    most: () => most,
    looks: () => looks,
    stop: async () => {
      stopping.abort();
      await looking;
      await Promise.all(queues.map((queue) => queue.close()));
      connection.disconnect();
    },
  };
}
