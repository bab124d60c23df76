// The database of the stack: a data folder made once, and a server on it.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endFormerServer } from './former-server.ts';
import { mysqlArguments } from './mysql-arguments.ts';
import { readGreeting } from './mysql-greeting.ts';
import { copyTemplate, prepareTemplate } from './mysql-template.ts';
import { readOrMakePassword } from './password.ts';
import { pollUntil } from './poll.ts';
import { LOOPBACK } from './ports.ts';
import type { DatabaseProgram } from './programs.ts';
import { type Server, startOnFreePort } from './server.ts';

const DATABASE = 'rooftally';
const USER = 'rooftally';
const READY_TIMEOUT_MS = 120_000;
const GREETING_TIMEOUT_MS = 10_000;
const POLL_MS = 50;

/** Settings by their long names, without the dashes: `{ 'max-connections': '50' }`. */
export type MysqlOptions = Readonly<Record<string, string>>;

/** What production should have too: durable commits, a binary log, room in the redo log. */
const COMMON_OPTIONS: MysqlOptions = {
  'bind-address': LOOPBACK,
  'skip-name-resolve': 'ON',
  'character-set-server': 'utf8mb4',
  'collation-server': 'utf8mb4_bin',
  'default-time-zone': '+00:00',
  'max-connections': '300',
  'log-bin': 'binlog',
  'server-id': '1',
  'binlog-format': 'ROW',
  'sync-binlog': '1',
  'innodb-flush-log-at-trx-commit': '1',
  'innodb-buffer-pool-size': '512M',
  // Relative to the data folder: the whole path may be longer than a socket's name can be.
  socket: 'mysql.sock',
};

const FLAVOUR_OPTIONS: Record<DatabaseProgram['flavour'], MysqlOptions> = {
  mysql: { mysqlx: 'OFF', 'innodb-redo-log-capacity': '1G', 'binlog-expire-logs-seconds': '86400' },
  mariadb: { 'innodb-log-file-size': '1G', 'expire-logs-days': '1' },
};

export interface MysqlRequest {
  program: DatabaseProgram;
  /** Of this stack: data, log and credentials go below it. */
  folder: string;
  /** Where data folders fit to be copied are kept. */
  templatesFolder: string;
  fresh: boolean;
  options: MysqlOptions;
  log: (line: string) => void;
}

export async function startMysql(request: MysqlRequest): Promise<{ server: Server; url: string }> {
  const { program, folder } = request;
  const dataFolder = join(folder, 'data');
  const scratchFolder = join(folder, 'tmp');
  mkdirSync(scratchFolder, { recursive: true, mode: 0o700 });
  const pidFile = join(folder, 'mysql.pid');
  await endFormerServer({ pidFile, folder, log: request.log });

  if (request.fresh) rmSync(dataFolder, { recursive: true, force: true });
  if (!existsSync(dataFolder)) {
    const template = await prepareTemplate(program, request.templatesFolder, request.log);
    copyTemplate(template, dataFolder);
  }
  const password = readOrMakePassword(join(folder, 'mysql.password'));
  const startStatements = join(folder, 'start.sql');
  writeFileSync(startStatements, startStatementsFor(password), { mode: 0o600 });

  const settings = { ...COMMON_OPTIONS, ...FLAVOUR_OPTIONS[program.flavour], ...request.options };
  const server = await startOnFreePort((port) => ({
    name: program.flavour === 'mysql' ? 'MySQL' : 'MariaDB',
    port,
    log: request.log,
    command: {
      executable: program.executable,
      args: [
        ...mysqlArguments(program, dataFolder),
        `--port=${port}`,
        `--tmpdir=${scratchFolder}`,
        `--init-file=${startStatements}`,
        ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
      ],
      pidFile,
      logFile: join(folder, 'mysql.log'),
      folder,
    },
    whenReady: (signal) => whenServing(port, signal),
  }));
  return { server, url: `mysql://${USER}:${password}@${LOOPBACK}:${server.port}/${DATABASE}` };
}

/** Run by the server at each start, before it serves: one statement a line. */
function startStatementsFor(password: string): string {
  return [
    `CREATE DATABASE IF NOT EXISTS ${DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;`,
    `CREATE USER IF NOT EXISTS '${USER}'@'%' IDENTIFIED BY '${password}';`,
    `ALTER USER '${USER}'@'%' IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO '${USER}'@'%' WITH GRANT OPTION;`,
    '',
  ].join('\n');
}

async function whenServing(port: number, signal: AbortSignal): Promise<void> {
  await pollUntil(
    async () => {
      signal.throwIfAborted();
      try {
        return await readGreeting({ host: LOOPBACK, port, timeoutMs: GREETING_TIMEOUT_MS, signal });
      } catch {
        return null;
      }
    },
    { everyMs: POLL_MS, timeoutMs: READY_TIMEOUT_MS, otherwise: () => 'the database did not begin to serve' },
  );
}
