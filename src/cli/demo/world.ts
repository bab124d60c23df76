/** The demo's own little world: servers, schema, example, and all roles in this process; gone when it is stopped. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Config } from '../../../config/config.ts';
import { givenServers, readLocalConfig } from '../../../config/local-config.ts';
import { mikroOrmOptions } from '../../../config/mikro-orm.config.ts';
import { startRooftally } from '../../main.ts';
import { type Stack, startStack } from '../../stack/embedded-stack.ts';
import { closeStore, migrate, openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/transaction.ts';
import { ApiClient } from '../api-client.ts';
import { type LoadedExample, loadExample } from '../load-example.ts';
import { readExpectation } from './expectation.ts';
import { removeDemoState, STACK_FOLDER, writeDemoState } from './state-file.ts';

export interface World {
  readonly url: string;
  readonly adminToken: string;
  readonly admin: ApiClient;
  readonly store: Store;
  readonly example: LoadedExample;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Begin without data. */
  readonly fresh: boolean;
  readonly say: (line: string) => void;
}

const STORE_POOL_MAX = 4;
const PORT_USUAL = 8080;

/** What was brought up is taken down again if a later step fails. */
export async function bringUpWorld(options: WorldOptions): Promise<World> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await buildWorld(options, undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function buildWorld(
  { fresh, say }: WorldOptions,
  undo: (() => Promise<void>)[],
): Promise<Omit<World, 'stop'>> {
  const stack = await startStack({
    ...givenServers(),
    purpose: 'demo',
    fresh,
    root: STACK_FOLDER,
    log: say,
  });
  undo.push(() => stack.stop());
  say(`${stack.databaseVersion} and ${stack.redisVersion} are up`);
  const config = await demoConfig(stack);
  const store = await openStore(
    mikroOrmOptions({ databaseUrl: config.databaseUrl, poolMax: STORE_POOL_MAX }),
  );
  undo.push(() => closeStore(store));
  const migrations = await migrate(store);
  if (migrations.length > 0) say(`schema: ${migrations.length} migration(s) run`);
  const example = await loadExample(store);
  say(`example: ${example.stationCount} stations, ${example.platformBillCount} bills of our own`);
  const running = await startRooftally({ config, roles: ['api', 'worker', 'scheduler'] });
  undo.push(() => running.stop());
  const world = {
    url: running.address,
    adminToken: config.http.adminToken!,
    store,
    example,
  };
  writeState({ ...world, databaseUrl: config.databaseUrl });
  undo.push(async () => removeDemoState());
  return { ...world, admin: new ApiClient(world.url, world.adminToken) };
}

/** Quiet logs, a free port, and a token of this run's own, unless the environment says otherwise. */
async function demoConfig(stack: Stack): Promise<Config> {
  return readLocalConfig({
    defaults: {
      ROOFTALLY_LOG_LEVEL: 'warn',
      ROOFTALLY_PORT: (await isFree(PORT_USUAL)) ? String(PORT_USUAL) : '0',
      ROOFTALLY_ADMIN_TOKEN: `demo-admin-${randomBytes(9).toString('base64url')}`,
    },
    overrides: { DATABASE_URL: stack.databaseUrl, REDIS_URL: stack.redisUrl },
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .once('listening', () => probe.close(() => resolve(true)))
      .listen(port, '127.0.0.1');
  });
}

function writeState(
  world: Pick<World, 'url' | 'adminToken' | 'example'> & { readonly databaseUrl: string },
): void {
  writeDemoState({
    pid: process.pid,
    url: world.url,
    databaseUrl: world.databaseUrl,
    adminToken: world.adminToken,
    partners: world.example.partners.map(({ orgCode, demoKey }) => ({ orgCode, key: demoKey })),
    files: Object.fromEntries(readExpectation().pushes.map(({ file, orgCode }) => [file, orgCode])),
  });
}
