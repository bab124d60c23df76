import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ConfigError, readConfig } from '../../config/config.ts';
import { Failure } from '../../src/errors.ts';
import { type Role, type Running, startRooftally } from '../../src/main.ts';
import type { Stack } from '../../src/stack/embedded-stack.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { eventually } from '../support/engine.ts';
import { makeRoofs } from '../support/roofs.ts';
import { push, untilDone } from '../support/rooftally.ts';
import { removeSmallStack, startSmallStack } from '../support/small-stack.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

describe('starting and stopping', () => {
  /** A Redis of our own, beside the one that all tests run on: its settings are changed, its clients are counted. */
  let own: Stack;
  let redis: Redis;
  let testStore: TestStore;
  before(async () => {
    own = await startSmallStack('start', { databaseUrl: process.env.DATABASE_URL });
    redis = new Redis(own.redisUrl);
    testStore = await openTestStore();
  });
  after(async () => {
    redis.disconnect();
    await testStore.drop();
    await own.stop();
    removeSmallStack('start');
  });

  const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    DATABASE_URL: testStore.databaseUrl,
    REDIS_URL: own.redisUrl,
    ROOFTALLY_REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    ROOFTALLY_PORT: '0',
    ROOFTALLY_LOG_LEVEL: 'silent',
    ROOFTALLY_ADMIN_TOKEN: 'test-admin-token-0001',
    ROOFTALLY_SCAN_INTERVAL_MS: '250',
    ...more,
  });
  const start = (roles: readonly Role[], more: Readonly<Record<string, string>> = {}): Promise<Running> =>
    startRooftally({ config: readConfig(environment(more)), roles });
  const refusalOf = (starting: Promise<Running>): Promise<Failure> =>
    starting.then(
      async (running) => {
        await running.stop();
        return expect.fail('it started');
      },
      (error: Failure) => error,
    );

  /** Clients of our Redis and sessions on our database, other than those that look. */
  async function connections(
    databaseUrl = testStore.databaseUrl,
  ): Promise<[redis: number, database: number]> {
    const clients = (await redis.client('LIST')) as string;
    const name = new URL(databaseUrl).pathname.slice(1);
    const { n } = await testStore.store.one<{ n: string }>(
      'SELECT COUNT(*) n FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID()',
      [name],
    );
    return [clients.trim().split('\n').length - 1, Number(n)];
  }

  describe('what it refuses to start on', () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      it(`a Redis that may evict keys (${policy}), with what to do about it`, async () => {
        await redis.config('SET', 'maxmemory-policy', policy);
        try {
          const refusal = await refusalOf(start(['worker']));
          expect(refusal)
            .to.be.instanceOf(Failure)
            .and.include({ code: 'REDIS_NOT_READY', retryable: false });
          expect(refusal.message).to.include(policy).and.to.include('set "maxmemory-policy noeviction"');
        } finally {
          await redis.config('SET', 'maxmemory-policy', 'noeviction');
        }
      });
    }

    it('a database without a key that a rule rests on, with the statement that puts it back; nothing stays open', async () => {
      const broken = await openTestStore();
      try {
        await broken.store.change('ALTER TABLE fi_customer_bill_partner DROP INDEX uk_partner_bill');
        const before = await connections(broken.databaseUrl);
        const refusal = await refusalOf(
          start(['api', 'worker', 'scheduler'], { DATABASE_URL: broken.databaseUrl }),
        );
        expect(refusal).to.be.instanceOf(Failure).and.include({ code: 'DATABASE_NOT_READY' });
        expect(refusal.message).to.include(
          'unique key uk_partner_bill of table fi_customer_bill_partner is missing',
        );
        expect(refusal.message).to.include(
          'ALTER TABLE fi_customer_bill_partner ADD UNIQUE KEY uk_partner_bill',
        );
        await eventually('its connections to be closed', async () =>
          (await connections(broken.databaseUrl)).every((count, index) => count <= before[index]!),
        );
      } finally {
        await broken.drop();
      }
    });

    it('an address that another already listens on; nothing stays open', async () => {
      const first = await start(['scheduler']);
      const before = await connections();
      const outcome = await refusalOf(
        start(['worker', 'scheduler'], { ROOFTALLY_PORT: new URL(first.address).port }),
      );
      expect((outcome as { code?: string }).code).to.equal('EADDRINUSE');
      await eventually('its connections to be closed', async () => (await connections())[0] <= before[0]);
      await first.stop();
    });

    it('a configuration with faults: all of them in one error, each by its name', () => {
      const wrong = {
        REDIS_URL: 'http://example.com',
        ROOFTALLY_PORT: '99999',
        ROOFTALLY_LOG_LEVEL: 'loud',
        ROOFTALLY_KICK_ENABLED: 'maybe',
        ROOFTALLY_KICK_SHARE: '2',
        ROOFTALLY_SLICE_MS: '-1',
        ROOFTALLY_ACTOR_CONCURRENCY: 'four',
        ROOFTALLY_ADMIN_TOKEN: 'tell-nobody',
        ROOFTALLY_REDIS_PREFIX: 'With Blanks',
        ROOFTALLY_DATABASE_POOL: '1',
        ROOFTALLY_SLOT_LEASE_MS: '1000',
        ROOFTALLY_STATION_LEASE_MS: '10',
        ROOFTALLY_IDENTITY_DAYS: '0.5',
      };
      const names = ['DATABASE_URL', ...Object.keys(wrong)];
      try {
        readConfig({ ...wrong, DATABASE_URL: '' });
        expect.fail('it was accepted');
      } catch (error) {
        expect(error).to.be.instanceOf(ConfigError);
        const { faults, message } = error as ConfigError;
        expect(faults.map((fault) => /^\w+/.exec(fault)?.[0])).to.have.members(names);
        for (const name of names) expect(message).to.include(name);
        expect(message, 'a token is not shown').to.not.include('tell-nobody');
      }
    });

    it('a setting that is not known, with the one that was probably meant; an empty one, and links of Kubernetes, are none', () => {
      const faultsOf = (names: Readonly<Record<string, string>>) => {
        try {
          readConfig({ ...environment(), ...names });
          return [];
        } catch (error) {
          return (error as ConfigError).faults;
        }
      };
      expect(
        faultsOf({ ROOFTALLY_SCAN_INTERVALL_MS: '1', ROOFTALLY_WHATEVER_ELSE: '1', ROOFTALLY_SLICE_MS: '0' }),
      ).to.have.members([
        'ROOFTALLY_SCAN_INTERVALL_MS is not known; did you mean ROOFTALLY_SCAN_INTERVAL_MS?',
        'ROOFTALLY_WHATEVER_ELSE is not known; remove it',
        'ROOFTALLY_SLICE_MS: Too small: expected number to be >0',
      ]);
      expect(faultsOf({ ROOFTALLY_SCAN_INTERVALL_MS: '1' })).to.have.length(1);
      const links = { ROOFTALLY_API_SERVICE_HOST: '10.0.0.1', ROOFTALLY_API_PORT_8080_TCP_ADDR: '10.0.0.1' };
      expect(
        faultsOf({
          ROOFTALLY_OLD: '',
          ROOFTALLY_TEST_LANE: '2',
          ...links,
          ROOFTALLY_API_PORT: 'tcp://10.0.0.1:8080',
        }),
      ).to.deep.equal([]);
    });

    it('ENG-6 a slice for contended stages that is longer than the others’', () => {
      const contended = { ...environment(), ROOFTALLY_SLICE_CONTENDED_MS: '500', ROOFTALLY_SLICE_MS: '100' };
      expect(() => readConfig(contended)).to.throw(ConfigError, 'ROOFTALLY_SLICE_CONTENDED_MS');
    });
  });

  it('a configuration is frozen through and through', () => {
    const config = readConfig(environment());
    for (const part of [config, config.tasks, config.ingest, config.http])
      expect(Object.isFrozen(part)).to.equal(true);
  });

  for (const role of ['worker', 'scheduler'] as const) {
    it(`a ${role} serves /healthz, /readyz and /metrics, and nothing else`, async () => {
      const running = await start([role]);
      try {
        const get = (path: string) => fetch(`${running.address}${path}`);
        expect(await (await get('/healthz')).json()).to.deep.equal({ status: 'ok' });
        expect(await (await get('/readyz')).json()).to.deep.equal({
          status: 'ready',
          checks: { database: 'ok', redis: 'ok' },
        });
        expect((await get('/metrics')).headers.get('content-type')).to.match(/^text\/plain/);
        for (const path of [
          '/',
          '/api/v1/pushes',
          '/api/v1/openapi.json',
          '/admin',
          '/admin/api/v1/stages',
          '/admin/queues',
        ])
          expect((await get(path)).status, path).to.equal(404);
        const pushed = await fetch(`${running.address}/api/v1/pushes`, { method: 'POST', body: '{}' });
        expect(pushed.status).to.equal(404);
      } finally {
        await running.stop();
      }
    });
  }

  describe('one that runs everything', () => {
    let running: Running;
    let before: [number, number];
    let openBefore: string[];

    it('migrates, works, and its metrics tell of it', async () => {
      before = await connections();
      openBefore = process.getActiveResourcesInfo().sort();
      running = await start(['api', 'worker', 'scheduler']);
      const roofs = await makeRoofs(testStore.store, { stations: 3, months: ['2026-01', '2026-02'] });
      const reply = await push(running.address, roofs.partner.key, roofs.pushOf());
      const done = await untilDone(running.address, roofs.partner.key, reply.body.pushId);
      expect(done.state).to.equal('COMPLETE');

      const text = await (await fetch(`${running.address}/metrics`)).text();
      const series = new Map(
        text
          .split('\n')
          .filter((line) => line.startsWith('rooftally_'))
          .map((line) => [
            line.slice(0, line.lastIndexOf(' ')),
            Number(line.slice(line.lastIndexOf(' ') + 1)),
          ]),
      );
      for (const [stage, tasks] of [
        ['bill-station', 3],
        ['income-diff', 1],
        ['account-shard', 1],
        ['bill-snapshot', 3],
      ] as const) {
        const of = (name: string, labels = '') =>
          series.get(`rooftally_${name}{stage="${stage}"${labels}}`) ?? 0;
        expect(of('task_claims_total'), `claims at ${stage}`).to.be.at.least(tasks);
        expect(of('task_ends_total', ',end="succeeded"'), `ends at ${stage}`).to.be.at.least(tasks);
        expect(of('task_wait_seconds_count'), `waits at ${stage}`).to.be.at.least(tasks);
        expect(of('task_run_seconds_count'), `runs at ${stage}`).to.be.at.least(1);
        expect(of('kicks_total', ',outcome="sent"'), `kicks of ${stage}`).to.be.at.least(1);
        expect(of('task_oldest_waiting_seconds'), `oldest at ${stage}`).to.equal(0);
      }
      const waiting = [...series].filter(([name]) => /^rooftally_tasks\{.*status="WAITING"/.test(name));
      expect(waiting.length).to.be.at.least(4);
      expect(
        waiting.every(([, value]) => value === 0),
        'nothing is left',
      ).to.equal(true);
      expect(series.get('rooftally_scan_seconds_count')).to.be.at.least(1);
      expect(series.get('rooftally_event_loop_lag_seconds')).to.be.at.least(0);
      for (const name of [
        'slot_claims_lost_total',
        'fenced_writes_total',
        'task_rescues_total',
        'batches_halved_total',
        'transaction_conflicts_total',
        'scan_finds_total',
        'scan_dead_slots_total',
      ])
        expect(text, name).to.include(`# TYPE rooftally_${name} counter`);
    });

    it('ENG-11 stops in order: nobody holds a slot or leads, and nothing it opened is open', async () => {
      const startedMs = performance.now();
      await running.stop();
      expect(performance.now() - startedMs, 'without running into its time limit').to.be.below(10_000);
      const held = await testStore.store.many('SELECT stage FROM stage_slot WHERE holder IS NOT NULL');
      expect(held).to.deep.equal([]);
      const leaders = await testStore.store.many(
        'SELECT name FROM scheduler_leader WHERE holder IS NOT NULL',
      );
      expect(leaders).to.deep.equal([]);
      expect(await fetch(`${running.address}/healthz`).catch(() => 'refused')).to.equal('refused');
      await eventually('its connections to be closed', async () => {
        const [clients] = await connections();
        return clients <= before[0];
      });
      // The pool of the test's own store may have grown; sockets of ours to Redis and timers may not.
      const isOurs = (name: string) =>
        !['TCPSocketWrap', 'TTYWrap', 'PipeWrap', 'ProcessWrap'].includes(name);
      await eventually('what keeps a process alive to be gone', () => {
        const open = process.getActiveResourcesInfo().filter(isOurs);
        return open.length <= openBefore.filter(isOurs).length;
      });
    });

    it('stopping once more does nothing', async () => {
      await running.stop();
    });
  });

  describe('a real process', () => {
    interface Served {
      readonly child: ChildProcess;
      readonly output: () => string;
      readonly exited: Promise<[code: number | null, signal: string | null]>;
    }
    function serve(env: Readonly<Record<string, string>>): Served {
      const child = spawn(process.execPath, [MAIN, 'serve'], {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
      const exited = once(child, 'close').then(
        ([code, signal]) => [code, signal] as [number | null, string | null],
      );
      return { child, output: () => output, exited };
    }
    const addressOf = (served: Served) =>
      eventually(
        'the process to start',
        async () => {
          if (served.child.exitCode !== null) throw new Error(`it ended: ${served.output()}`);
          return /"address":"([^"]+)","msg":"started"/.exec(served.output())?.[1];
        },
        { deadlineMs: 30_000 },
      );

    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      it(`ends with 0 at ${signal}, after its work, and leaves nothing behind`, async () => {
        const before = await connections();
        const served = serve(environment({ ROOFTALLY_LOG_LEVEL: 'info' }));
        try {
          const address = await addressOf(served);
          const roofs = await makeRoofs(testStore.store, { stations: 2, months: ['2026-01'] });
          const reply = await push(address, roofs.partner.key, roofs.pushOf());
          expect(reply.status).to.equal(202);
          served.child.kill(signal);
          expect(await served.exited).to.deep.equal([0, null]);
        } finally {
          served.child.kill('SIGKILL');
        }
        const running = await testStore.store.many(
          'SELECT id FROM fi_async_task WHERE status = 1 UNION ALL SELECT slot_no FROM stage_slot WHERE holder IS NOT NULL',
        );
        expect(running).to.deep.equal([]);
        expect((await connections())[0]).to.be.at.most(before[0]);
      });
    }

    it('with a wrong configuration ends with 1 and says what is wrong, without a stack trace', async () => {
      const served = serve({ ...environment(), ROOFTALLY_PORT: 'none', REDIS_URL: 'redis' });
      expect(await served.exited).to.deep.equal([1, null]);
      expect(served.output()).to.include('ROOFTALLY_PORT').and.to.include('REDIS_URL');
      expect(served.output()).to.not.match(/^\s+at /m);
    });
  });
});
