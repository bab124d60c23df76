/** Connections to Redis: one kind that fails at once when Redis is away, one that waits for it. */
import { Redis } from 'ioredis';
import { Failure } from '../errors.ts';

const COMMAND_TIMEOUT_MS = 5_000;
const RECONNECT_MAX_MS = 2_000;

/**
 * `prompt`: for kicks, leases and health: a command fails at once when Redis is away, instead of piling up.
 * `blocking`: for BullMQ's workers, which wait for jobs and must outlive any outage.
 */
export function openRedis(
  url: string,
  onError: (error: Error) => void,
  kind: 'prompt' | 'blocking' = 'prompt',
): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: kind === 'blocking' ? null : 1,
    enableOfflineQueue: kind === 'blocking',
    // A half-open connection answers nothing for ever: the socket is given up with the command, and another opened.
    ...(kind === 'prompt' ? { commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout: COMMAND_TIMEOUT_MS } : {}),
    retryStrategy: (times) => Math.min(RECONNECT_MAX_MS, 50 * times),
  });
  redis.on('error', onError);
  return redis;
}

/** BullMQ loses jobs where Redis evicts keys; the scan would find the work, but late and for ever. */
export async function checkRedis(redis: Redis): Promise<void> {
  await untilReady(redis);
  const info = await redis.info('memory');
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
  if (policy === 'noeviction') return;
  throw new Failure(
    'REDIS_NOT_READY',
    `Redis may evict keys (maxmemory-policy is ${policy ?? 'unknown'}); set "maxmemory-policy noeviction" in its configuration and start again`,
    { retryable: false, reach: 'platform' },
  );
}

const READY_TIMEOUT_MS = 15_000;

async function untilReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new Failure('REDIS_NOT_READY', 'Redis at REDIS_URL does not answer; start it or correct REDIS_URL', {
          reach: 'platform',
        }),
      );
    }, READY_TIMEOUT_MS);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
