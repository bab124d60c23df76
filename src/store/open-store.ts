/** Opens and closes the database, and brings its schema up to date: what commands need that run no work. */
import { setTimeout as pause } from 'node:timers/promises';
import { MikroORM, type Options } from '@mikro-orm/mysql';
import { monotonicMs } from '../clock.ts';
import { Failure } from '../errors.ts';
import { isDatabaseAway } from './database-away.ts';
import { NEW_READ_COMMITTED, Store, type StoreHooks } from './transaction.ts';

export interface OpenOptions {
  /** How long a database that does not answer is asked again: it may be starting too. Default: asked once. */
  readonly patienceMs?: number;
}

const ASK_EVERY_MS = 500;

/**
 * @param ormOptions from config/mikro-orm.config.ts
 * @throws Failure `DATABASE_NOT_READY`, which says what to do
 */
export async function openStore(
  ormOptions: Options,
  hooks: StoreHooks = {},
  { patienceMs = 0 }: OpenOptions = {},
): Promise<Store> {
  const store = new Store(await MikroORM.init({ ...ormOptions, logger: () => {} }), hooks);
  try {
    await untilItAnswers(store, patienceMs);
  } catch (error) {
    await closeStore(store);
    throw error;
  }
  return store;
}

async function untilItAnswers(store: Store, patienceMs: number): Promise<void> {
  const endMs = monotonicMs() + patienceMs;
  for (;;) {
    try {
      await store.many('SELECT 1 alive');
      return;
    } catch (error) {
      const away = isDatabaseAway(error) && !isRefusal(error);
      if (!away || monotonicMs() + ASK_EVERY_MS > endMs) throw notReady(error, away);
      await pause(ASK_EVERY_MS);
    }
  }
}

/** Access denied, no such database, host not allowed: asking again would not help. */
const REFUSAL_ERRNOS: ReadonlySet<unknown> = new Set([1044, 1045, 1049, 1130, 1698]);

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && REFUSAL_ERRNOS.has(error.errno);
}

function notReady(cause: unknown, away: boolean): Failure {
  const [reason] = String((cause as Error).message).split('\n', 1);
  const text = away
    ? `The database at DATABASE_URL does not answer (${reason}); start it, or correct DATABASE_URL`
    : `The database at DATABASE_URL refuses us (${reason}); correct DATABASE_URL, or what it allows`;
  return new Failure('DATABASE_NOT_READY', text, { retryable: away, reach: 'platform', cause });
}

export async function closeStore(store: Store): Promise<void> {
  await store.orm.close(true);
}

/** A name that all pods agree on, in the server's own lock table. */
const MIGRATION_LOCK = 'rooftally-migration';
const MIGRATION_LOCK_WAIT_S = 300;
/** One connection holds the lock, another migrates; with one alone the second would be waited for without end. */
export const MIGRATION_CONNECTIONS = 2;
/** The session that holds the lock is silent while another migrates; the server must not end it. */
const MIGRATION_SESSION_S = 3600;

/**
 * Several pods may start at once: one migrates, the others wait for it and then find nothing to do.
 * @returns the names of the migrations that were run, in order; none where the schema is as it must be
 * @throws Failure `MIGRATION_BUSY` if another holds the lock for five minutes, `DATABASE_NOT_READY` where the pool is too small
 */
export async function migrate(store: Store): Promise<string[]> {
  const poolMax = store.orm.config.get('pool').max ?? MIGRATION_CONNECTIONS;
  if (poolMax < MIGRATION_CONNECTIONS) {
    const text = `Migrating needs ${MIGRATION_CONNECTIONS} connections, the pool has ${poolMax}; set ROOFTALLY_DATABASE_POOL to ${MIGRATION_CONNECTIONS} or more`;
    throw new Failure('DATABASE_NOT_READY', text, { retryable: false, reach: 'platform' });
  }
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await tx.change(`SET SESSION wait_timeout = ${MIGRATION_SESSION_S}`);
    const { locked } = await tx.one<{ locked: string | number | null }>(
      `SELECT GET_LOCK(?, ${MIGRATION_LOCK_WAIT_S}) locked`,
      [MIGRATION_LOCK],
    );
    if (Number(locked) !== 1) {
      throw new Failure(
        'MIGRATION_BUSY',
        'Another process has been migrating for five minutes; look at it, then start again',
      );
    }
    try {
      return (await store.orm.migrator.up()).map((migration) => migration.name);
    } finally {
      await tx.many('SELECT RELEASE_LOCK(?)', [MIGRATION_LOCK]);
      await tx.change('SET SESSION wait_timeout = 25');
    }
  });
}

export async function listPendingMigrations(store: Store): Promise<string[]> {
  return (await store.orm.migrator.getPending()).map((migration) => migration.name);
}
