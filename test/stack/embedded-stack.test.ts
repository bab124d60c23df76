import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MikroORM } from '@mikro-orm/mysql';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Stack } from '../../src/stack/embedded-stack.ts';
import { isAlive } from '../../src/stack/process-table.ts';
import { removeSmallStack, startSmallStack } from '../support/small-stack.ts';
import { getStack } from '../support/stack.ts';

const INSTANCE = 'embedded';

describe('stack: a stack of its own', () => {
  let stack: Stack;
  let pids: number[];

  before(async () => {
    stack = await startSmallStack(INSTANCE);
    pids = [stack.mysql.pid, stack.redis.pid].filter((pid) => pid !== null);
  });

  after(async () => {
    await stack.stop();
    removeSmallStack(INSTANCE);
  });

  it('runs beside the stack of the tests, with processes, ports and addresses of its own', () => {
    const other = getStack();
    expect(pids).to.have.length(2);
    expect(pids).not.to.include.members([other.mysql.pid, other.redis.pid]);
    expect([stack.mysql.port, stack.redis.port]).not.to.include.members([other.mysql.port, other.redis.port]);
    expect(stack.databaseUrl).not.to.equal(other.databaseUrl);
  });

  it('says which versions run, and where they came from', () => {
    expect(stack.databaseVersion).to.match(/^(MySQL|MariaDB) \d+\.\d+\.\d+$/);
    expect(stack.redisVersion).to.match(/^(Redis|Valkey) \d+\.\d+\.\d+$/);
    expect(stack.origin).to.be.oneOf(['path', 'unpacked']);
  });

  it('has durable commits, a binary log, and nothing that listens outside the machine', async () => {
    const [settings] = await query(
      stack,
      `SELECT @@log_bin logBin, @@sync_binlog syncBinlog, @@innodb_flush_log_at_trx_commit flush,
        @@bind_address bindAddress, @@max_connections connections, DEFAULT_COLLATION_NAME collation
        FROM information_schema.schemata WHERE schema_name = 'rooftally'`,
    );
    expect(settings).to.deep.equal({
      logBin: 1,
      syncBinlog: 1,
      flush: 1,
      bindAddress: '127.0.0.1',
      connections: 300,
      collation: 'utf8mb4_bin',
    });
  });

  it('has a Redis that evicts nothing and keeps a log of what it was told', async () => {
    const settings = await withRedis(stack, async (redis) =>
      redis.config('GET', 'maxmemory-policy', 'appendonly', 'bind'),
    );
    expect(Object.fromEntries(pairs(settings as string[]))).to.deep.equal({
      'maxmemory-policy': 'noeviction',
      appendonly: 'yes',
      bind: '127.0.0.1',
    });
  });

  it('lets nobody in without the password', async () => {
    const url = new URL(stack.databaseUrl);
    url.password = '';
    const refusal = await query({ databaseUrl: url.href }, 'SELECT 1').catch((error: Error) => error.message);
    expect(refusal).to.include('Access denied');
  });

  it('refuses a second start on the same data and says who has it', async () => {
    const refusal = await startSmallStack(INSTANCE).catch((error: Error) => error.message);
    expect(refusal).to.include(`process ${process.pid} already runs the servers in ${stack.folder}`);
  });

  it('comes back on the same port with the same data after a restart and after kill -9', async () => {
    await query(stack, 'CREATE TABLE kept (id INT PRIMARY KEY)');
    const ports = [stack.mysql.port, stack.redis.port];
    await stack.mysql.restart();
    await query(stack, 'INSERT INTO kept VALUES (1)');
    await stack.mysql.kill();
    expect(stack.mysql.pid).to.equal(null);
    await stack.mysql.start();
    await withRedis(stack, (redis) => redis.set('kept', '1'));
    await stack.redis.restart();
    expect(await query(stack, 'SELECT id FROM kept')).to.deep.equal([{ id: 1 }]);
    expect(await withRedis(stack, (redis) => redis.get('kept'))).to.equal('1');
    expect([stack.mysql.port, stack.redis.port]).to.deep.equal(ports);
    expect(isAlive(pids[0] as number)).to.equal(false);
  });

  it('keeps its data from one start to the next', async () => {
    await stack.stop();
    stack = await startSmallStack(INSTANCE, { fresh: false });
    expect(await query(stack, 'SELECT id FROM kept')).to.deep.equal([{ id: 1 }]);
    expect(await withRedis(stack, (redis) => redis.get('kept'))).to.equal('1');
  });

  it('leaves no process behind when it stops', async () => {
    const running = [stack.mysql.pid, stack.redis.pid] as number[];
    expect(running.map(isAlive)).to.deep.equal([true, true]);
    await stack.stop();
    expect(running.map(isAlive)).to.deep.equal([false, false]);
  });

  it('has no data when it is started fresh, whatever lies in its folder', async () => {
    // As if the last server had been left behind and its number given to somebody else since: to us.
    writeFileSync(join(stack.folder as string, 'redis', 'redis.pid'), String(process.pid));
    stack = await startSmallStack(INSTANCE, { fresh: true });
    expect(await query(stack, 'SHOW TABLES')).to.deep.equal([]);
    expect(await withRedis(stack, (redis) => redis.dbsize())).to.equal(0);
  });

  it('starts no server where addresses are given, uses them as they are, and leaves them running', async () => {
    const { databaseUrl, redisUrl } = stack;
    const given = await startSmallStack('given', { databaseUrl, redisUrl });
    expect(given).to.deep.include({ databaseUrl, redisUrl, origin: 'given', folder: null });
    expect(given).to.deep.include({
      databaseVersion: stack.databaseVersion,
      redisVersion: stack.redisVersion,
    });
    const refusal = await given.mysql.stop().catch((error: Error) => error.message);
    expect(refusal).to.include('not ours');
    await given.stop();
    expect(await query(stack, 'SELECT 1 one')).to.deep.equal([{ one: 1 }]);
  });

  it('names the address, without its password, when nobody answers there', async () => {
    await stack.redis.stop();
    const { databaseUrl, redisUrl } = stack;
    const refusal = await startSmallStack('given', { databaseUrl, redisUrl }).catch(
      (error: Error) => error.message,
    );
    expect(refusal)
      .to.include(`REDIS_URL (127.0.0.1:${stack.redis.port})`)
      .and.not.to.include(new URL(redisUrl).password);
    await stack.redis.start();
  });

  it('shows the end of the log when a server does not start', async () => {
    const options = { mysqlOptions: { datadir: '/nowhere/at/all' } };
    const refusal = await startSmallStack('broken', options).catch((error: Error) => error.message);
    removeSmallStack('broken');
    expect(refusal).to.include('ended while it started').and.to.include('/nowhere/at/all');
  });
});

async function query(stack: Pick<Stack, 'databaseUrl'>, statement: string): Promise<object[]> {
  const orm = await MikroORM.init({
    clientUrl: stack.databaseUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
  });
  try {
    const rows: object[] = await orm.em.getConnection().execute(statement);
    return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : [];
  } finally {
    await orm.close(true);
  }
}

async function withRedis<T>(stack: Stack, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(stack.redisUrl, { maxRetriesPerRequest: 1, retryStrategy: null as never });
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

function pairs(list: string[]): [string, string][] {
  return list.flatMap((name, index) =>
    index % 2 === 0 ? [[name, list[index + 1] ?? ''] as [string, string]] : [],
  );
}
