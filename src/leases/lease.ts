/**
 * Redis leases: politeness in front of the guards (ENG-18). They keep contenders off the database and show who is at
 * work; the right itself is the guard row, which carries the lease's fence. The essay is in ARCHITECTURE.md.
 *
 * A lease is trusted from before it was asked for, on the holder's monotonic clock, minus a margin (ENG-19). It is
 * renewed while the work runs and given back after the transaction has ended, by its owner only.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { monotonicMs } from '../clock.ts';

/** Stop trusting a lease this much before Redis would let it end; of a short lease a quarter, or none would be trusted. */
const TRUST_MARGIN_MS = 1_000;
const TRUST_MARGIN_SHARE = 1 / 4;
const RENEWALS_PER_LEASE = 3;

const script = (name: string) => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
const ACQUIRE = script('acquire-leases-2n');
const RENEW = script('renew-leases-n');
const RELEASE = script('release-leases-n');

/** One lease that is asked for: what it stands in front of, and the fence that its row already carries. */
export interface LeaseRequest {
  readonly name: string;
  readonly floor: string;
}

export interface LeaseOptions {
  readonly redis: Redis;
  readonly prefix: string;
  readonly leaseMs: number;
}

/** The leases of one holder at one time. */
export class HeldLeases {
  readonly #options: LeaseOptions;
  readonly #token: string;
  readonly #fences: ReadonlyMap<string, string>;
  readonly #timer: NodeJS.Timeout;
  #trustedUntilMs: number;

  constructor(options: LeaseOptions, token: string, fences: ReadonlyMap<string, string>, askedAtMs: number) {
    this.#options = options;
    this.#token = token;
    this.#fences = fences;
    this.#trustedUntilMs = askedAtMs + trustMs(options.leaseMs);
    this.#timer = setInterval(() => void this.#renew(), options.leaseMs / RENEWALS_PER_LEASE);
    this.#timer.unref();
  }

  /** The fence of a lease that is held; undefined where another has it. */
  fenceOf(name: string): string | undefined {
    return this.#fences.get(name);
  }

  /** Whether a transaction may still be begun on the strength of these leases. */
  areTrusted(): boolean {
    return monotonicMs() < this.#trustedUntilMs;
  }

  /** After the transaction has ended, commit or rollback; a Redis that is away lets them end by themselves. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    const keys = [...this.#fences.keys()].map((name) => leaseKey(this.#options.prefix, name));
    if (keys.length === 0) return;
    await this.#options.redis.eval(RELEASE, keys.length, ...keys, this.#token).catch(() => 0);
  }

  async #renew(): Promise<void> {
    const askedAtMs = monotonicMs();
    const keys = [...this.#fences.keys()].map((name) => leaseKey(this.#options.prefix, name));
    if (keys.length === 0) return;
    const kept = await this.#options.redis
      .eval(RENEW, keys.length, ...keys, this.#token, String(this.#options.leaseMs))
      .catch(() => null);
    // No answer says nothing: the lease stands until its time is over, and the trust ends before that by itself.
    if (kept === null) return;
    // One that is lost never comes back; what is not begun yet must not be begun on the strength of it.
    this.#trustedUntilMs =
      kept === keys.length ? askedAtMs + trustMs(this.#options.leaseMs) : Number.NEGATIVE_INFINITY;
  }
}

function trustMs(leaseMs: number): number {
  return leaseMs - Math.min(TRUST_MARGIN_MS, leaseMs * TRUST_MARGIN_SHARE);
}

/** Asks for all of them at once, in sorted order, without waiting. @throws whatever ioredis throws if Redis is away. */
export async function acquireLeases(
  options: LeaseOptions,
  requests: readonly LeaseRequest[],
): Promise<HeldLeases> {
  const sorted = [...requests].sort((left, right) => (left.name < right.name ? -1 : 1));
  const token = randomUUID();
  const askedAtMs = monotonicMs();
  if (sorted.length === 0) return new HeldLeases(options, token, new Map(), askedAtMs);
  const keys = sorted.flatMap(({ name }) => [
    leaseKey(options.prefix, name),
    counterKey(options.prefix, name),
  ]);
  const fences = (await options.redis.eval(
    ACQUIRE,
    keys.length,
    ...keys,
    token,
    String(options.leaseMs),
    ...sorted.map((request) => request.floor),
  )) as string[];
  const held = sorted.flatMap(({ name }, index) => {
    const fence = fences[index];
    return fence === undefined || fence === '' ? [] : [[name, fence] as const];
  });
  return new HeldLeases(options, token, new Map(held), askedAtMs);
}

export function leaseKey(prefix: string, name: string): string {
  return `${prefix}:lease:${name}`;
}

function counterKey(prefix: string, name: string): string {
  return `${prefix}:lease-fence:${name}`;
}
