/**
 * A database of its own for each test file: made on the server that the run stands on, migrated as in production,
 * dropped at the end. Nothing that one file leaves behind is seen by another.
 */
import { randomBytes } from 'node:crypto';
import { MikroORM } from '@mikro-orm/mysql';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { Store, type StoreHooks } from '../../src/store/transaction.ts';

const TEST_POOL_MAX = 12;

export interface TestStore {
  readonly store: Store;
  /** Of the fresh database, for processes that a test starts. */
  readonly databaseUrl: string;
  /**
   * A second store on the same database: connections of its own, as another process would have; by another address,
   * if one is given.
   */
  openAnother(hooks?: StoreHooks, url?: string): Promise<Store>;
  /** Closes every store and drops the database. */
  drop(): Promise<void>;
}

export interface TestStoreOptions {
  /**
   * How long a statement waits for a row, where a test forces an order by holding one: on a machine that stands still for
   * a moment, production's two seconds would let the waiting go first.
   */
  readonly lockWaitTimeoutS?: number;
  /** Another server than that all tests run on. */
  readonly serverUrl?: string;
}

/** @throws Error where DATABASE_URL is not set: mocha's fixture sets it (`test/support/stack.ts`). */
export async function openTestStore(
  hooks: StoreHooks = {},
  options: TestStoreOptions = {},
): Promise<TestStore> {
  const serverUrl = options.serverUrl ?? requireServerUrl();
  const name = `rooftally_test_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  const databaseUrl = withDatabase(serverUrl, name);
  const opened: MikroORM[] = [];
  const open = async (storeHooks: StoreHooks, url = databaseUrl): Promise<Store> => {
    const orm = await connect(url, TEST_POOL_MAX, options);
    opened.push(orm);
    return new Store(orm, storeHooks);
  };
  const store = await open(hooks);
  await store.orm.migrator.up();
  return {
    store,
    databaseUrl,
    openAnother: (anotherHooks = {}, url = databaseUrl) => open(anotherHooks, url),
    drop: async () => {
      await Promise.all(opened.map((orm) => orm.close(true)));
      await onServer(serverUrl, `DROP DATABASE ${name}`);
    },
  };
}

/** As production does it, but the migrator says nothing. */
function connect(databaseUrl: string, poolMax: number, options: TestStoreOptions = {}): Promise<MikroORM> {
  return MikroORM.init({ ...mikroOrmOptions({ databaseUrl, poolMax, ...options }), logger: () => {} });
}

function requireServerUrl(): string {
  const url = process.env.DATABASE_URL;
  if (url === undefined || url === '') throw new Error('DATABASE_URL is not set: run the tests with mocha');
  return url;
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** One statement from a connection of its own, in the database that the address names or in the server's own. */
async function onServer(serverUrl: string, statement: string): Promise<void> {
  const path = new URL(serverUrl).pathname;
  const databaseUrl = path.length > 1 ? serverUrl : withDatabase(serverUrl, 'mysql');
  const orm = await connect(databaseUrl, 1);
  try {
    await orm.em.fork().execute(statement);
  } finally {
    await orm.close(true);
  }
}
