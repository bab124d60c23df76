// What can be started: a server program, what it is, and how it is called.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export type DatabaseFlavour = 'mysql' | 'mariadb';
export type RedisFlavour = 'redis' | 'valkey';

/** How a program is called. `before` stands between the executable and its own arguments. */
export interface Invocation {
  executable: string;
  before: readonly string[];
}

export interface DatabaseProgram extends Invocation {
  flavour: DatabaseFlavour;
  version: string;
  /** Where its messages, character sets and system tables lie; null when it knows by itself. */
  installation: Installation | null;
}

export interface Installation {
  baseFolder: string;
  shareFolder: string;
  pluginFolder: string;
}

export interface RedisProgram extends Invocation {
  flavour: RedisFlavour;
  version: string;
}

/** What is supported; an older program on the PATH is passed over. */
export const VERSION_MIN = { mysql: '8.4.0', mariadb: '10.11.0', redis: '6.2.0', valkey: '7.2.0' } as const;

const LABEL = { mysql: 'MySQL', mariadb: 'MariaDB', redis: 'Redis', valkey: 'Valkey' } as const;

/** "MySQL 9.7.0", as people say it. */
export function describe(program: { flavour: DatabaseFlavour | RedisFlavour; version: string }): string {
  return `${LABEL[program.flavour]} ${program.version}`;
}

/** Reads what `--version` prints: "mysqld  Ver 9.7.0 for Linux…", "… Ver 10.11.11-MariaDB-…", "Redis server v=8.0.6 …". */
export function parseVersion(
  text: string,
): { flavour: DatabaseFlavour | RedisFlavour; version: string } | null {
  const server = /^(Redis|Valkey) server v=(\d+\.\d+\.\d+)/i.exec(text);
  if (server) {
    const flavour = server[1]?.toLowerCase() === 'valkey' ? 'valkey' : 'redis';
    return { flavour, version: server[2] as string };
  }
  const database = /\bVer (\d+\.\d+\.\d+)(\S*)/.exec(text);
  if (!database) return null;
  const flavour = /mariadb/i.test(`${database[2]}`) ? 'mariadb' : 'mysql';
  return { flavour, version: database[1] as string };
}

export function isSupported(program: { flavour: DatabaseFlavour | RedisFlavour; version: string }): boolean {
  return compareVersions(program.version, VERSION_MIN[program.flavour]) >= 0;
}

export function compareVersions(left: string, right: string): number {
  const [a, b] = [left.split('.').map(Number), right.split('.').map(Number)];
  for (let part = 0; part < 3; part++) {
    const difference = (a[part] ?? 0) - (b[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** What the program says it is, or null when it does not run here at all. */
export async function askVersion(
  invocation: Invocation,
): Promise<{ flavour: DatabaseFlavour | RedisFlavour; version: string } | null> {
  const flags = [...invocation.before, '--version'];
  try {
    const { stdout } = await promisify(execFile)(invocation.executable, flags, {
      timeout: 20_000,
      env: SERVER_ENVIRONMENT,
    });
    return parseVersion(stdout);
  } catch {
    return null;
  }
}

/** The servers get none of our environment: a locale they lack or a preloaded library only makes trouble. */
export const SERVER_ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
