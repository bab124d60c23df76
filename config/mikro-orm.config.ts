/**
 * How MikroORM reaches MySQL: entities, checked-in migrations, and what every connection of ours promises
 * (READ COMMITTED, short time-outs, UTC).
 */
import { connect, type Socket } from 'node:net';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/mysql';
import { entities } from '../src/store/entities/all.ts';
import { migrations } from '../src/store/migrations/all.ts';

/** A frozen process must not hide the rows that it holds locked for MySQL's default of eight hours (ENG-12). */
const WAIT_TIMEOUT_S = 25;
/** Below the shortest slot lease, so that a mere lock wait is not taken for a crash (ENG-12). */
const LOCK_WAIT_TIMEOUT_S = 2;
/**
 * For the pools of what serves: longer than any statement of theirs takes. A half-open connection (its server gone
 * without a word) would hold its turn, and the wakes of its slot, until the operating system gives up, a quarter of an
 * hour later. Migrations may take as long as they take.
 */
export const SILENCE_MAX_MS = 60_000;
/** Idle connections are closed by us before the server does it. */
const POOL_IDLE_TIMEOUT_MS = 15_000;

export interface DatabaseOptions {
  readonly databaseUrl: string;
  readonly poolMax: number;
  /** Seconds after which the server ends a silent session and frees what it had locked (ENG-12). Default 25. */
  readonly waitTimeoutS?: number;
  /** Seconds that a statement waits for a row (ENG-12). Default 2. */
  readonly lockWaitTimeoutS?: number;
  /** How long a statement may go without a byte from the server. Default: without end. */
  readonly silenceMaxMs?: number;
}

export function mikroOrmOptions(options: DatabaseOptions) {
  return defineConfig({
    clientUrl: options.databaseUrl,
    entities: [...entities],
    extensions: [Migrator],
    charset: 'utf8mb4',
    collate: 'utf8mb4_bin',
    forceUtcTimezone: true,
    // Our rows are control rows and bulk statements; nobody shares one identity map.
    allowGlobalContext: true,
    debug: false,
    pool: { min: 0, max: options.poolMax, idleTimeoutMillis: POOL_IDLE_TIMEOUT_MS },
    driverOptions: {
      bigNumberStrings: true,
      connectTimeout: 10_000,
      enableKeepAlive: true,
      ...(options.silenceMaxMs === undefined ? {} : { stream: socketsThatEndAfter(options.silenceMaxMs) }),
    },
    onCreateConnection: (connection) => prepareConnection(connection, options),
    migrations: {
      migrationsList: migrations,
      tableName: 'schema_migration',
      snapshot: false,
      allOrNothing: false,
    },
  });
}

/** What the driver hands to its `stream` option. */
interface DriverConnection {
  readonly config: { readonly host: string; readonly port: number };
}

/** Sockets that give up a database that says nothing, so that its statement fails and the pool opens another. */
function socketsThatEndAfter(silenceMaxMs: number) {
  return ({ config }: DriverConnection): Socket => {
    const socket = connect({ port: config.port, host: config.host, noDelay: true, keepAlive: true });
    return socket.setTimeout(silenceMaxMs, () => {
      const silence = new Error(`The database has said nothing for ${silenceMaxMs / 1000} s`);
      socket.destroy(Object.assign(silence, { code: 'ETIMEDOUT' }));
    });
  };
}

/** What the ORM's query layer hands to `onCreateConnection`. */
interface RawConnection {
  executeQuery(query: { sql: string; parameters: readonly unknown[] }): Promise<unknown>;
}

/** Runs once per physical connection, before its first use; what both MySQL and MariaDB speak. */
async function prepareConnection(connection: unknown, options: DatabaseOptions): Promise<void> {
  const { waitTimeoutS = WAIT_TIMEOUT_S, lockWaitTimeoutS = LOCK_WAIT_TIMEOUT_S } = options;
  const statements = [
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
    `SET SESSION time_zone = '+00:00', SESSION wait_timeout = ${waitTimeoutS}, SESSION innodb_lock_wait_timeout = ${lockWaitTimeoutS}`,
  ];
  for (const sql of statements) await (connection as RawConnection).executeQuery({ sql, parameters: [] });
}
