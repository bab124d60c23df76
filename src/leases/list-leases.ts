/** Leases for people: who is at work on which station at this moment. They are politeness; the right is the guard (ENG-18). */
import { type LeaseOptions, leaseKey } from './lease.ts';

/** At most so many are told; a cluster holds a few for each task in hand. */
export const LEASES_TOLD_MAX = 5_000;
const SCAN_COUNT = 1_000;

export interface LeaseView {
  /** As its guard is named: `platform:12`, `partner:7:ST-1`. */
  readonly name: string;
  /** Of all leases that were asked for together. */
  readonly token: string;
  readonly remainingMs: number;
}

/** By name; those that end while they are read are left out. @throws whatever ioredis throws if Redis is away */
export async function listLeases({
  redis,
  prefix,
}: Pick<LeaseOptions, 'redis' | 'prefix'>): Promise<LeaseView[]> {
  const start = leaseKey(prefix, '');
  const keys = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${escapePattern(start)}*`, 'COUNT', SCAN_COUNT);
    cursor = next;
    for (const key of found) keys.add(key);
  } while (cursor !== '0' && keys.size < LEASES_TOLD_MAX);
  const sorted = [...keys].toSorted().slice(0, LEASES_TOLD_MAX);
  if (sorted.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const key of sorted) pipeline.get(key).pttl(key);
  const answers = ((await pipeline.exec()) ?? []).map(([, answer]) => answer);
  return sorted.flatMap((key, index) => {
    const token = answers[2 * index];
    const remainingMs = Number(answers[2 * index + 1]);
    return typeof token === 'string' && remainingMs > 0
      ? [{ name: key.slice(start.length), token, remainingMs }]
      : [];
  });
}

/** A prefix may carry a hash tag and more; in a pattern some of its characters mean something. */
function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]^]/g, '\\$&');
}
