// Finds the server programs: on the PATH, or else in packages unpacked into the stack's own folder.

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { type PackageSource, unpackPackages } from './debian-packages.ts';
import {
  askVersion,
  type DatabaseFlavour,
  type DatabaseProgram,
  describe,
  type Invocation,
  isSupported,
  type RedisProgram,
  VERSION_MIN,
} from './programs.ts';
import { StackError } from './stack-error.ts';
import { findInRoot, installationIn } from './unpacked-root.ts';

/** Administrators' programs lie here, and are on few people's PATH. */
const ADMINISTRATION_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];
const DATABASE_COMMANDS = ['mysqld', 'mariadbd'];
const REDIS_COMMANDS = ['redis-server', 'valkey-server'];

export type ProgramOrigin = 'path' | 'unpacked';

export interface Programs {
  database: DatabaseProgram & { origin: ProgramOrigin };
  redis: RedisProgram & { origin: ProgramOrigin };
}

export interface LocateRequest {
  /** Folders separated by colons, as in PATH; empty: look at none. */
  searchPath: string;
  packagesFolder: string;
  /** Where packages may come from, in order; none: download nothing. */
  sources: readonly PackageSource[];
  /** Take no other database than this. */
  flavour: DatabaseFlavour | null;
  needs: { database: boolean; redis: boolean };
  log: (line: string) => void;
}

/** What is not needed may be missing from the result. */
export async function locatePrograms(request: LocateRequest): Promise<Partial<Programs>> {
  const found: Partial<Programs> = {};
  const passedOver: string[] = [];
  if (request.needs.database) Object.assign(found, await databaseOnPath(request, passedOver));
  if (request.needs.redis) Object.assign(found, await redisOnPath(request, passedOver));
  for (const source of request.sources) {
    if (isEnough(found, request)) break;
    if (request.flavour !== null && request.flavour !== source.database) continue;
    try {
      const unpacked = await programsOf(source, request);
      Object.assign(found, { ...unpacked, ...found });
    } catch (error) {
      passedOver.push(`${source.says}: ${(error as Error).message}`);
      request.log(`no ${source.says}: ${(error as Error).message}`);
    }
  }
  if (!isEnough(found, request)) throw new StackError(nothingFound(found, request, passedOver));
  return found;
}

function isEnough(found: Partial<Programs>, { needs }: LocateRequest): boolean {
  return (!needs.database || found.database !== undefined) && (!needs.redis || found.redis !== undefined);
}

async function databaseOnPath(
  request: LocateRequest,
  passedOver: string[],
): Promise<Pick<Programs, 'database'> | null> {
  for (const [invocation, known] of await knownOnPath(DATABASE_COMMANDS, request, passedOver)) {
    const { flavour, version } = known;
    if (flavour !== 'mysql' && flavour !== 'mariadb') continue;
    if (request.flavour !== null && request.flavour !== flavour) continue;
    return { database: { ...invocation, flavour, version, installation: null, origin: 'path' } };
  }
  return null;
}

async function redisOnPath(
  request: LocateRequest,
  passedOver: string[],
): Promise<Pick<Programs, 'redis'> | null> {
  for (const [invocation, { flavour, version }] of await knownOnPath(REDIS_COMMANDS, request, passedOver)) {
    if (flavour !== 'redis' && flavour !== 'valkey') continue;
    return { redis: { ...invocation, flavour, version, origin: 'path' } };
  }
  return null;
}

type Known = NonNullable<Awaited<ReturnType<typeof askVersion>>>;

async function knownOnPath(
  commands: readonly string[],
  request: LocateRequest,
  passedOver: string[],
): Promise<[Invocation, Known][]> {
  const known: [Invocation, Known][] = [];
  for (const executable of executablesOnPath(commands, request.searchPath)) {
    const invocation = { executable, before: [] };
    const version = await askVersion(invocation);
    if (version && isSupported(version)) {
      known.push([invocation, version]);
      continue;
    }
    const fault = version
      ? `${describe(version)} is older than ${VERSION_MIN[version.flavour]}`
      : 'does not say its version';
    passedOver.push(`${executable}: ${fault}`);
    request.log(`${executable} is passed over: ${fault}`);
  }
  return known;
}

function executablesOnPath(commands: readonly string[], searchPath: string): string[] {
  if (searchPath === '') return [];
  const folders = new Set([...searchPath.split(':').filter(Boolean), ...ADMINISTRATION_FOLDERS]);
  return commands.flatMap((command) =>
    [...folders]
      .map((folder) => join(folder, command))
      .filter(isExecutable)
      .slice(0, 1),
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

async function programsOf(source: PackageSource, request: LocateRequest): Promise<Partial<Programs>> {
  const root = await unpackPackages(source, request.packagesFolder, request.log);
  const [database, redis] = await Promise.all([
    runnableIn(root, source.database === 'mysql' ? 'mysqld' : 'mariadbd'),
    runnableIn(root, 'redis-server'),
  ]);
  return {
    database: {
      ...database.invocation,
      flavour: source.database,
      version: database.version,
      installation: installationIn(root),
      origin: 'unpacked',
    },
    redis: { ...redis.invocation, flavour: 'redis', version: redis.version, origin: 'unpacked' },
  };
}

async function runnableIn(
  root: string,
  command: string,
): Promise<{ invocation: Invocation; version: string }> {
  const invocation = findInRoot(root, command);
  if (!invocation) throw new StackError(`there is no ${command} in ${root}`);
  const known = await askVersion(invocation);
  if (!known) throw new StackError(`${command} in ${root} does not run on this machine`);
  if (!isSupported(known)) {
    throw new StackError(`${describe(known)} is older than ${VERSION_MIN[known.flavour]}`);
  }
  return { invocation, version: known.version };
}

function nothingFound(found: Partial<Programs>, request: LocateRequest, passedOver: string[]): string {
  const { needs } = request;
  const missing = [
    ...(needs.database && !found.database ? [request.flavour === 'mariadb' ? 'MariaDB' : 'MySQL'] : []),
    ...(needs.redis && !found.redis ? ['Redis'] : []),
  ];
  return [
    `No ${missing.join(' and no ')} was found. Looked for, in this order:`,
    '  1. addresses given in DATABASE_URL and REDIS_URL',
    `  2. ${[...DATABASE_COMMANDS, ...REDIS_COMMANDS].join(', ')} on the PATH (${request.searchPath || 'empty'})`,
    request.sources.length > 0
      ? `  3. packages, with apt: ${request.sources.map((source) => source.says).join('; ')}`
      : '  3. packages, with apt: not asked for',
    ...passedOver.map((line) => `     - ${line}`),
    'Any one of these helps:',
    '  - docker compose up -d mysql redis',
    '    and DATABASE_URL=mysql://root:rooftally@127.0.0.1:3306/rooftally REDIS_URL=redis://127.0.0.1:6379/0',
    `  - install MySQL ${VERSION_MIN.mysql} or later (or MariaDB ${VERSION_MIN.mariadb}) and Redis ${VERSION_MIN.redis} or later`,
  ].join('\n');
}
