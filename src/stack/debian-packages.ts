// Server programs from Debian packages, downloaded and unpacked into our own folder. Nothing is installed.
//
// An unfinished folder is renamed only when all is in it, and a lock keeps two starts from doing it at once.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitForLock } from './folder-lock.ts';
import { findOwnRepository, preparePrivateApt, type Repository } from './private-apt.ts';
import type { DatabaseFlavour } from './programs.ts';

const WAIT_TIMEOUT_MS = 15 * 60_000;
const UNPACK_CONCURRENCY = 4;
const PROGRESS_STEPS = 4;
const MEGABYTE = 1_000_000;

export interface PackageSource {
  /** Of the folder the packages are unpacked into. */
  name: string;
  says: string;
  /** Null: the machine's own. */
  suite: string | null;
  database: DatabaseFlavour;
  packages: readonly string[];
}

/** In the order in which they are tried. The first has the versions that are supported in production. */
export const PACKAGE_SOURCES: readonly PackageSource[] = [
  {
    name: 'debian-sid',
    says: 'MySQL and Redis from Debian sid',
    suite: 'sid',
    database: 'mysql',
    packages: ['mysql-server-core', 'redis-tools'],
  },
  {
    name: 'own-suite',
    says: "MariaDB and Redis from this machine's own packages",
    suite: null,
    database: 'mariadb',
    packages: ['mariadb-server-core', 'redis-server'],
  },
];

/** Programs worth keeping; the rest of `bin` is 140 MB of tools. */
const PROGRAMS_KEPT = new Set([
  'mysqld',
  'mysql',
  'mariadbd',
  'mariadb',
  'redis-server',
  'redis-check-rdb',
  'redis-cli',
]);
const FOLDERS_DROPPED = [
  'usr/share/doc',
  'usr/share/man',
  'usr/share/locale',
  'usr/share/perl',
  'usr/share/i18n',
];

/** The root folder of the unpacked packages; downloads them when they are not there yet. */
export async function unpackPackages(
  source: PackageSource,
  packagesFolder: string,
  log: (line: string) => void,
): Promise<string> {
  const root = join(packagesFolder, source.name);
  if (existsSync(root)) return root;
  const lock = await waitForLock(join(packagesFolder, `${source.name}.lock`), {
    timeoutMs: WAIT_TIMEOUT_MS,
    onWait: (owner) => log(`waiting for process ${owner}, which unpacks ${source.says}`),
  });
  try {
    if (existsSync(root)) return root;
    const work = join(packagesFolder, `${source.name}.unfinished`);
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    const archives = await download(source, work, log);
    const unpacked = await unpackAll(archives, join(work, 'root'), log);
    renameSync(unpacked, root);
    rmSync(work, { recursive: true, force: true });
    return root;
  } finally {
    lock.release();
  }
}

async function download(source: PackageSource, work: string, log: (line: string) => void): Promise<string> {
  log(`asking this machine's package mirror for ${source.says}`);
  const apt = await preparePrivateApt(join(work, 'apt'), await repositoryOf(source, work));
  await apt.update();
  const { count, bytes } = await apt.listDownloads(source.packages);
  log(`downloading ${count} packages, ${Math.round(bytes / MEGABYTE)} MB`);
  return apt.download(source.packages, progressIn(count, log));
}

async function repositoryOf(source: PackageSource, work: string): Promise<Repository> {
  const own = await findOwnRepository(work);
  return source.suite === null ? own : { uri: own.uri, suite: source.suite, components: ['main'] };
}

function progressIn(count: number, log: (line: string) => void): () => void {
  let done = 0;
  return () => {
    const before = Math.floor((done * PROGRESS_STEPS) / count);
    done += 1;
    const now = Math.floor((done * PROGRESS_STEPS) / count);
    if (now > before) log(`downloading: ${done} of ${count} packages`);
  };
}

async function unpackAll(archives: string, root: string, log: (line: string) => void): Promise<string> {
  const files = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  log(`unpacking ${files.length} packages`);
  mkdirSync(root, { recursive: true });
  const waiting = files.map((name) => join(archives, name));
  const unpackNext = async () => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      await promisify(execFile)('dpkg-deb', ['--extract', file, root]);
    }
  };
  await Promise.all(Array.from({ length: UNPACK_CONCURRENCY }, unpackNext));
  prune(root);
  nameRedisServer(root);
  return root;
}

function prune(root: string): void {
  for (const folder of FOLDERS_DROPPED) rmSync(join(root, folder), { recursive: true, force: true });
  for (const folder of ['usr/bin', 'usr/sbin', 'bin', 'sbin'].filter((name) =>
    existsSync(join(root, name)),
  )) {
    for (const name of readdirSync(join(root, folder))) {
      if (!PROGRAMS_KEPT.has(name)) rmSync(join(root, folder, name), { recursive: true, force: true });
    }
  }
}

/** The server and the checker are one program that looks at its own name; `redis-tools` has the checker's only. */
function nameRedisServer(root: string): void {
  const server = join(root, 'usr/bin/redis-server');
  rmSync(server, { force: true });
  symlinkSync('redis-check-rdb', server);
}
