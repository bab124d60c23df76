// An empty data folder, made once for each version of the server and copied from then on: a fresh start takes
// a second instead of five.

import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  constants as fileConstants,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitForLock } from './folder-lock.ts';
import { mysqlArguments } from './mysql-arguments.ts';
import { type DatabaseProgram, describe, SERVER_ENVIRONMENT } from './programs.ts';
import { StackError } from './stack-error.ts';

const MAKE_TIMEOUT_MS = 180_000;

const MARIADB_SHARE_FOLDERS = ['/usr/share/mysql', '/usr/share/mariadb', '/usr/local/share/mysql'];
/** In the order in which they must run; each under its names in newer and older versions. */
const MARIADB_SYSTEM_TABLES = [
  ['mariadb_system_tables.sql', 'mysql_system_tables.sql'],
  ['mariadb_performance_tables.sql', 'mysql_performance_tables.sql'],
  ['mariadb_system_tables_data.sql', 'mysql_system_tables_data.sql'],
  ['maria_add_gis_sp_bootstrap.sql'],
  ['mariadb_sys_schema.sql', 'mysql_sys_schema.sql'],
];

export async function prepareTemplate(
  program: DatabaseProgram,
  templatesFolder: string,
  log: (line: string) => void,
): Promise<string> {
  const template = join(templatesFolder, `${program.flavour}-${program.version}`);
  if (existsSync(template)) return template;
  mkdirSync(templatesFolder, { recursive: true });
  const lock = await waitForLock(`${template}.lock`, {
    timeoutMs: MAKE_TIMEOUT_MS,
    onWait: (owner) => log(`waiting for process ${owner}, which prepares the database`),
  });
  try {
    if (existsSync(template)) return template;
    log(`preparing an empty ${describe(program)} data folder`);
    const unfinished = `${template}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    await makeDataFolder(program, unfinished);
    // Every server makes an identity of its own.
    rmSync(join(unfinished, 'auto.cnf'), { force: true });
    renameSync(unfinished, template);
    return template;
  } finally {
    lock.release();
  }
}

/** All or nothing: an interrupted copy is no data folder. */
export function copyTemplate(template: string, dataFolder: string): void {
  const unfinished = `${dataFolder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(template, unfinished, { recursive: true, mode: fileConstants.COPYFILE_FICLONE });
  renameSync(unfinished, dataFolder);
}

async function makeDataFolder(program: DatabaseProgram, folder: string): Promise<void> {
  try {
    if (program.flavour === 'mysql') await initializeMysql(program, folder);
    else await bootstrapMariadb(program, folder);
  } catch (error) {
    const output = String((error as { stderr?: unknown }).stderr ?? '').trim();
    throw new StackError(`${describe(program)} could not make a data folder:\n${output || String(error)}`, {
      cause: error,
    });
  }
}

async function initializeMysql(program: DatabaseProgram, folder: string): Promise<void> {
  const args = [...mysqlArguments(program, folder), '--initialize-insecure'];
  await promisify(execFile)(program.executable, args, { timeout: MAKE_TIMEOUT_MS, env: SERVER_ENVIRONMENT });
}

/** What `mariadb-install-db` does, without its shell script, which looks for its parts in the whole machine. */
async function bootstrapMariadb(program: DatabaseProgram, folder: string): Promise<void> {
  const shareFolder = program.installation?.shareFolder ?? MARIADB_SHARE_FOLDERS.find(existsSync);
  if (!shareFolder)
    throw new StackError(`its system tables are in none of ${MARIADB_SHARE_FOLDERS.join(', ')}`);
  const statements = ['CREATE DATABASE mysql;', 'USE mysql;', 'SET @auth_root_socket = NULL;'];
  for (const names of MARIADB_SYSTEM_TABLES) {
    const file = names.map((name) => join(shareFolder, name)).find(existsSync);
    if (!file) throw new StackError(`there is no ${names.join(' or ')} in ${shareFolder}`);
    statements.push(readFileSync(file, 'utf8'));
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const args = [...mysqlArguments(program, folder), '--bootstrap', '--max-allowed-packet=8M'];
  const running = promisify(execFile)(program.executable, args, {
    timeout: MAKE_TIMEOUT_MS,
    env: SERVER_ENVIRONMENT,
  });
  running.child.stdin?.end(statements.join('\n'));
  await running;
}
