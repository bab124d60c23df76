// A private MySQL and Redis for a demo, the tests or a benchmark: found or fetched, started on loopback, and
// gone when the process that asked for them is.
//
// Everything lies below one folder, `.stack` by default: `packages/` (unpacked programs), `templates/` (empty
// data folders), and one folder for each purpose with its data, so that a demo and the tests can run at once.

import { join, resolve } from 'node:path';
import { PACKAGE_SOURCES } from './debian-packages.ts';
import { type FolderLock, lockOwner, tryLock } from './folder-lock.ts';
import { useGivenDatabase, useGivenRedis } from './given-servers.ts';
import { locatePrograms, type Programs } from './locate.ts';
import { type MysqlOptions, startMysql } from './mysql.ts';
import type { Origin, Part } from './part.ts';
import { pollUntil } from './poll.ts';
import { type DatabaseFlavour, describe } from './programs.ts';
import { startRedis } from './redis.ts';
import type { Server } from './server.ts';

const DEFAULT_FOLDER = '.stack';
/** A process that was just killed needs a moment to be gone; one that lives on will not let go in any time. */
const FOLDER_WAIT_MS = 1_000;
const POLL_MS = 50;
/** Where programs are looked for when the caller does not say. */
const USUAL_FOLDERS = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

export type Purpose = 'demo' | 'test' | 'bench';

export interface StackOptions {
  purpose: Purpose;
  /** Begin without data. What was given by its address is never emptied. */
  fresh: boolean;
  /** Of the whole stack; default `.stack` in the current folder. */
  root?: string;
  /** Tells stacks of one purpose apart; each has its own data. */
  instance?: string;
  /** Addresses of servers that exist already; they are used as they are. */
  databaseUrl?: string | undefined;
  redisUrl?: string | undefined;
  /** Folders to look for programs in, as in PATH. */
  searchPath?: string | undefined;
  /** Whether packages may be downloaded; default yes. */
  mayDownload?: boolean;
  /** Insist on this kind of database. */
  flavour?: DatabaseFlavour | undefined;
  /** Further settings of the database, by their long names without the dashes. */
  mysqlOptions?: MysqlOptions;
  /** Told of each step that takes time. */
  log?: (line: string) => void;
}

export interface Stack {
  databaseUrl: string;
  redisUrl: string;
  /** "MySQL 9.7.0" */
  databaseVersion: string;
  /** "Redis 8.0.6" */
  redisVersion: string;
  /** Where the database came from. */
  origin: Origin;
  /** The folder with the data; null when both servers were given. */
  folder: string | null;
  mysql: Server;
  redis: Server;
  stop(): Promise<void>;
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const place = placeOf(options);
  const { databaseUrl, redisUrl } = options;
  const nothingToStart = databaseUrl !== undefined && redisUrl !== undefined;
  const lock = nothingToStart ? null : await takeFolder(place.folder);
  const started: Server[] = [];
  try {
    const programs = await findPrograms(options, place);
    const [database, redis] = await allOrFirstFault([
      databaseUrl === undefined
        ? startDatabase(options, programs, place, started)
        : useGivenDatabase(databaseUrl),
      redisUrl === undefined ? startCache(options, programs, place, started) : useGivenRedis(redisUrl),
    ]);
    return {
      databaseUrl: database.url,
      redisUrl: redis.url,
      databaseVersion: database.version,
      redisVersion: redis.version,
      origin: database.origin,
      folder: nothingToStart ? null : place.folder,
      mysql: database.server,
      redis: redis.server,
      stop: () => stopAll(started, lock),
    };
  } catch (error) {
    await stopAll(started, lock);
    throw error;
  }
}

interface Place {
  root: string;
  folder: string;
  log: (line: string) => void;
}

function placeOf(options: StackOptions): Place {
  const root = resolve(options.root ?? DEFAULT_FOLDER);
  const name = options.instance === undefined ? options.purpose : `${options.purpose}-${options.instance}`;
  return { root, folder: join(root, name), log: options.log ?? (() => {}) };
}

async function takeFolder(folder: string): Promise<FolderLock> {
  const file = join(folder, 'lock');
  return pollUntil(() => tryLock(file), {
    everyMs: POLL_MS,
    timeoutMs: FOLDER_WAIT_MS,
    otherwise: () =>
      `process ${lockOwner(file)} already runs the servers in ${folder}; stop it, then try again`,
  });
}

function findPrograms(options: StackOptions, place: Place): Promise<Partial<Programs>> {
  return locatePrograms({
    searchPath: options.searchPath ?? USUAL_FOLDERS,
    packagesFolder: join(place.root, 'packages'),
    sources: options.mayDownload === false ? [] : PACKAGE_SOURCES,
    flavour: options.flavour ?? null,
    needs: { database: options.databaseUrl === undefined, redis: options.redisUrl === undefined },
    log: place.log,
  });
}

async function startDatabase(
  options: StackOptions,
  programs: Partial<Programs>,
  place: Place,
  started: Server[],
): Promise<Part> {
  const program = required(programs.database);
  place.log(`starting ${describe(program)}`);
  try {
    const { server, url } = await startMysql({
      program,
      folder: join(place.folder, program.flavour),
      templatesFolder: join(place.root, 'templates'),
      fresh: options.fresh,
      options: options.mysqlOptions ?? {},
      log: place.log,
    });
    started.push(server);
    return { url, server, version: describe(program), origin: program.origin };
  } catch (error) {
    if (program.origin !== 'path' || options.mayDownload === false) throw error;
    // An installed server may be confined to the machine's own data folder (AppArmor does that on Ubuntu).
    place.log(
      `${program.executable} does not work here, so another is looked for: ${(error as Error).message}`,
    );
    const withoutPath = { ...options, searchPath: '' };
    return startDatabase(withoutPath, await findPrograms(withoutPath, place), place, started);
  }
}

async function startCache(
  options: StackOptions,
  programs: Partial<Programs>,
  place: Place,
  started: Server[],
): Promise<Part> {
  const program = required(programs.redis);
  place.log(`starting ${describe(program)}`);
  const { server, url } = await startRedis({
    program,
    folder: join(place.folder, 'redis'),
    fresh: options.fresh,
    log: place.log,
  });
  started.push(server);
  return { url, server, version: describe(program), origin: program.origin };
}

function required<T>(program: T | undefined): T {
  if (program === undefined) throw new Error('a program that was needed was not looked for');
  return program;
}

/** Waits for all even when one fails: what the others started must be known before it can be stopped. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<[T, T]> {
  const settled = await Promise.allSettled(work);
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<T>).value) as [T, T];
}

async function stopAll(servers: readonly Server[], lock: FolderLock | null): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
  lock?.release();
}
