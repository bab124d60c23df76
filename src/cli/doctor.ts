/** `rooftally doctor`: whether what Rooftally needs is there, each thing in a line, all of them in one go. */
import { Command } from 'commander';
import { type Config, readConfig } from '../../config/config.ts';
import { askRedis } from '../stack/redis-protocol.ts';
import { listPendingMigrations } from '../store/open-store.ts';
import { withStore } from './database.ts';

const NODE_MAJOR_MIN = 24;
const REDIS_TIMEOUT_MS = 5_000;

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Check this machine and the configured servers; what is wrong is said with its remedy')
    .action(async () => {
      const faults = await examine();
      if (faults > 0) process.exitCode = 1;
    });
}

async function examine(): Promise<number> {
  let faults = 0;
  const check = async <T>(name: string, look: () => T | Promise<T>, say: (found: T) => string) => {
    try {
      const found = await look();
      console.log(`ok    ${name}: ${say(found)}`);
      return found;
    } catch (error) {
      faults++;
      console.log(`WRONG ${name}: ${(error as Error).message}`);
      return null;
    }
  };
  await check('Node', nodeVersion, String);
  const config = await check('configuration', readConfig, () => 'complete');
  if (config === null) return faults;
  await check('database', () => databaseVersion(config), String);
  await check('schema', () => schemaState(config), String);
  await check('Redis', () => redisState(config), String);
  return faults;
}

function nodeVersion(): string {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) return process.version;
  throw new Error(`${process.version}; Node ${NODE_MAJOR_MIN} or later is needed`);
}

async function databaseVersion(config: Config): Promise<string> {
  const row = await withStore(config, (store) =>
    store.one<{ version: string; isolation: string }>(
      'SELECT VERSION() version, @@SESSION.transaction_isolation isolation',
    ),
  );
  return `${row.version}, ${row.isolation}`;
}

async function schemaState(config: Config): Promise<string> {
  const pending = await withStore(config, listPendingMigrations);
  if (pending.length === 0) return 'up to date';
  throw new Error(`${pending.join(', ')} not run yet; run: rooftally migrate`);
}

/** Any other policy throws away jobs when memory is short. */
async function redisState(config: Config): Promise<string> {
  const [server = '', memory = ''] = await askRedis({ url: config.redisUrl, timeoutMs: REDIS_TIMEOUT_MS }, [
    ['INFO', 'server'],
    ['INFO', 'memory'],
  ]);
  const version = /^(?:redis|valkey)_version:(\S+)/m.exec(server)?.[1] ?? 'unknown version';
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'unknown';
  if (policy === 'noeviction') return `${version}, ${policy}`;
  throw new Error(`maxmemory-policy is ${policy}; it must be noeviction`);
}
