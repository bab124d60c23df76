import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { acquireLeases, type HeldLeases, type LeaseOptions } from '../../src/leases/lease.ts';
import { openRedis } from '../../src/leases/redis.ts';
import { eventually } from '../support/engine.ts';

/** A database of its own on the run's Redis, so that it can be emptied without harm to anybody. */
const OWN_DATABASE = 9;
const LONG_MS = 60_000;

describe('leases', () => {
  let redis: Redis;
  let prefix: string;
  const held: HeldLeases[] = [];

  before(async () => {
    redis = new Redis(process.env.REDIS_URL!, { db: OWN_DATABASE });
    await redis.ping();
  });
  after(() => redis.disconnect());
  beforeEach(() => {
    prefix = `{test-${randomBytes(6).toString('hex')}}`;
  });
  afterEach(async () => {
    await Promise.all(held.splice(0).map((leases) => leases.release()));
  });

  const options = (rest: Partial<LeaseOptions> = {}): LeaseOptions => ({
    redis,
    prefix,
    leaseMs: LONG_MS,
    ...rest,
  });
  async function acquire(names: readonly string[], rest: Partial<LeaseOptions> = {}, floor = '0') {
    const leases = await acquireLeases(
      options(rest),
      names.map((name) => ({ name, floor })),
    );
    held.push(leases);
    return leases;
  }
  const fencesOf = (leases: HeldLeases, names: readonly string[]) =>
    names.map((name) => leases.fenceOf(name));
  const keyOf = (name: string) => `${prefix}:lease:${name}`;
  const leftMs = (name: string) => redis.pttl(keyOf(name));

  it('STA-3 ENG-18 who comes second is told at once that it is busy; nobody waits for the lease to end', async () => {
    await acquire(['partner:7:S1']);
    const startedMs = performance.now();
    const second = await acquire(['partner:7:S1']);
    expect(second.fenceOf('partner:7:S1')).to.equal(undefined);
    expect(performance.now() - startedMs).to.be.below(2_000);
  });

  it('STA-4 ENG-18 of several, those that are free are held and those that are busy are named by their absence', async () => {
    await acquire(['platform:2', 'platform:4']);
    const some = await acquire(['platform:1', 'platform:2', 'platform:3', 'platform:4']);
    expect(fencesOf(some, ['platform:1', 'platform:2', 'platform:3', 'platform:4'])).to.deep.equal([
      '1',
      undefined,
      '1',
      undefined,
    ]);
  });

  it('ENG-18 all are asked for in one call, in sorted order, each with its own floor', async () => {
    const calls: unknown[][] = [];
    const listening = new Proxy(redis, {
      get: (target, name) =>
        name === 'eval'
          ? (...asked: unknown[]) => {
              calls.push(asked);
              return (target.eval as (...values: unknown[]) => unknown)(...asked);
            }
          : Reflect.get(target, name),
    });
    const leases = await acquireLeases(options({ redis: listening }), [
      { name: 'platform:20', floor: '5' },
      { name: 'partner:7:S1', floor: '3' },
      { name: 'platform:10', floor: '8' },
    ]);
    held.push(leases);
    const names = ['partner:7:S1', 'platform:10', 'platform:20'];
    expect(calls).to.have.length(1);
    expect(calls[0]!.filter((value) => String(value).startsWith(`${prefix}:lease:`))).to.deep.equal(
      names.map(keyOf),
    );
    expect(fencesOf(leases, names)).to.deep.equal(['4', '9', '6']);
  });

  it('ENG-18 asking for none takes none, and costs Redis nothing', async () => {
    const none = await acquire([], { redis: null as unknown as Redis });
    expect(none.areTrusted()).to.equal(true);
    await none.release();
  });

  it('ENG-18 of many that ask at once for the same leases exactly one gets each', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const all = await Promise.all(Array.from({ length: 20 }, () => acquire(names)));
    for (const name of names)
      expect(all.filter((leases) => leases.fenceOf(name) !== undefined).length, name).to.equal(1);
  });

  it('ENG-18 each holder’s fence is higher than the one before, however the lease came free', async () => {
    const fences: number[] = [];
    for (let round = 0; round < 3; round++) {
      const leases = await acquire(['a']);
      fences.push(Number(leases.fenceOf('a')));
      await leases.release();
    }
    await acquire(['a']);
    await redis.pexpire(keyOf('a'), 1);
    await eventually('the lease to end', async () => (await redis.exists(keyOf('a'))) === 0);
    fences.push(Number((await acquire(['a'])).fenceOf('a')));
    expect(fences).to.deep.equal([1, 2, 3, 5]);
  });

  it('ENG-18 an emptied Redis hands out a higher fence than the guard’s row has seen, since the row is its floor', async () => {
    const seen = (await acquire(['a'], {}, '41')).fenceOf('a')!;
    expect(seen).to.equal('42');
    await redis.flushdb();
    expect((await acquire(['a'], {}, seen)).fenceOf('a')).to.equal('43');
  });

  it('ENG-18 a floor that is lower than what Redis remembers takes nothing back', async () => {
    await (await acquire(['a'], {}, '10')).release();
    expect((await acquire(['a'], {}, '2')).fenceOf('a')).to.equal('12');
  });

  it('STA-4 a released lease is free at once, each of them', async () => {
    await (await acquire(['a', 'b'])).release();
    expect(fencesOf(await acquire(['a', 'b']), ['a', 'b'])).to.deep.equal(['2', '2']);
  });

  it('ENG-18 only its owner releases a lease: who lost it does not take it from the next one', async () => {
    const first = await acquire(['a', 'b']);
    await redis.del(keyOf('a'));
    const second = await acquire(['a']);
    await first.release();
    expect((await acquire(['a'])).fenceOf('a'), 'a is the second holder’s').to.equal(undefined);
    expect((await acquire(['b'])).fenceOf('b'), 'b was given back').to.equal('2');
    await second.release();
    expect(await redis.exists(keyOf('a'))).to.equal(0);
  });

  it('STA-3 a lease is renewed while the work runs, all of them together, and no more once it was given back', async () => {
    const leases = await acquire(['a', 'b'], { leaseMs: 1_500 });
    for (let renewals = 0; renewals < 2; renewals++) {
      let lowest = await leftMs('a');
      await eventually('a renewal', async () => {
        const left = await leftMs('a');
        if (left > lowest) return true;
        lowest = left;
        return false;
      });
    }
    expect(await leftMs('b')).to.be.above(0);
    expect(leases.areTrusted()).to.equal(true);
    await leases.release();
    expect([await leftMs('a'), await leftMs('b')]).to.deep.equal([-2, -2]);
  });

  it('ENG-18 who lost a lease does not prolong the next holder’s', async () => {
    await acquire(['a', 'b'], { leaseMs: 900 });
    await redis.del(keyOf('a'));
    await redis.set(keyOf('a'), 'another holder', 'PX', LONG_MS);
    let lowest = await leftMs('b');
    await eventually('a renewal of b', async () => {
      const left = await leftMs('b');
      if (left > lowest) return true;
      lowest = left;
      return false;
    });
    expect(await leftMs('a')).to.be.above(LONG_MS / 2);
    expect(await redis.get(keyOf('a'))).to.equal('another holder');
  });

  it('ENG-19 the trust ends before the lease does where Redis cannot be asked any more', async () => {
    const own = new Redis(process.env.REDIS_URL!, { db: OWN_DATABASE });
    const leases = await acquire(['a'], { redis: own, leaseMs: 1_600 });
    own.disconnect();
    expect(leases.areTrusted()).to.equal(true);
    await eventually('the trust to end', () => !leases.areTrusted());
    expect(await leftMs('a'), 'what is left of the lease itself').to.be.above(0);
  });

  it('ENG-19 a lease is trusted from before it was asked for: a slow answer does not lengthen it', async () => {
    const slow = new Proxy(redis, {
      get: (target, name) =>
        name === 'eval'
          ? async (...asked: unknown[]) => {
              const answer = await (target.eval as (...values: unknown[]) => unknown)(...asked);
              await eventually('the lease to be over', async () => (await leftMs('a')) === -2);
              return answer;
            }
          : Reflect.get(target, name),
    });
    const leases = await acquire(['a'], { redis: slow, leaseMs: 200 });
    expect(leases.fenceOf('a')).to.equal('1');
    expect(leases.areTrusted()).to.equal(false);
  });

  it('ENG-19 a short lease is trusted too, for most of its time', async () => {
    const leases = await acquire(['a'], { leaseMs: 800 });
    expect(leases.areTrusted()).to.equal(true);
  });

  it('ENG-18 a lost lease is noticed at the next renewal, not when its time would have been over', async () => {
    const startedMs = performance.now();
    const leases = await acquire(['a', 'b'], { leaseMs: 6_000 });
    await redis.del(keyOf('b'));
    await acquire(['b']);
    await eventually('the loss to be noticed', () => !leases.areTrusted());
    expect(performance.now() - startedMs).to.be.below(4_000);
  });

  it('STA-4 a Redis that is away is an error at once when leases are asked for, and none when they are given back', async () => {
    const own = openRedis(process.env.REDIS_URL!, () => {});
    await eventually('the connection', () => own.status === 'ready');
    const leases = await acquire(['a'], { redis: own });
    own.disconnect();
    const startedMs = performance.now();
    const outcome = await acquireLeases(options({ redis: own }), [{ name: 'b', floor: '0' }]).catch(
      (error: Error) => error,
    );
    expect(outcome).to.be.instanceOf(Error);
    await leases.release();
    expect(performance.now() - startedMs).to.be.below(2_000);
  });
});
