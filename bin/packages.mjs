// The packages in node_modules are those of package-lock.json, or else they are installed now.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_FOLDER } from './launch.mjs';

const MARKER = join(PROJECT_FOLDER, 'node_modules', '.rooftally-installed');
const MACHINE = `${process.platform}-${process.arch}`;
const LOCK = join(PROJECT_FOLDER, '.stack', 'install.lock');
const LOCK_TIMEOUT_MS = 10 * 60_000;
const POLL_MS = 200;

export class InstallError extends Error {}

/** Whether what is installed is what package-lock.json says, for this kind of machine. */
export function arePackagesCurrent() {
  const marker = existsSync(MARKER) ? readFileSync(MARKER, 'utf8') : '';
  if (marker === fingerprint()) return true;
  const isForAnotherMachine = marker !== '' && !marker.endsWith(MACHINE);
  if (isForAnotherMachine || !isInstalledAsLocked()) return false;
  writeFileSync(MARKER, fingerprint());
  return true;
}

/** After `npm install` by hand: npm notes what it put into node_modules, as its last act. */
function isInstalledAsLocked() {
  const noted = readPackages(join('node_modules', '.package-lock.json'));
  if (!noted) return false;
  const locked = Object.entries(readPackages('package-lock.json'));
  return locked.every(
    ([path, entry]) => path === '' || entry.optional || noted[path]?.version === entry.version,
  );
}

function readPackages(name) {
  try {
    return JSON.parse(readFileSync(join(PROJECT_FOLDER, name), 'utf8')).packages;
  } catch {
    return null;
  }
}

export async function ensurePackages() {
  if (arePackagesCurrent()) return;
  const release = await takeLock();
  try {
    if (!arePackagesCurrent()) install();
  } finally {
    release();
  }
}

function install() {
  console.log('rooftally: installing packages (npm ci), once for each change of package-lock.json');
  // Development packages are wanted whatever NODE_ENV says: Node 24 itself is one of them. Warnings are left out:
  // they say that packages want a newer Node than this one, which is what comes in with them.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = npmCommand();
  const result = spawnSync(npm.program, [...npm.before, ...args], { cwd: PROJECT_FOLDER, stdio: 'inherit' });
  if (result.error || result.status !== 0) {
    const fault = result.error?.message ?? `it ended with code ${result.status ?? result.signal}`;
    throw new InstallError(
      `npm ci failed: ${fault}.\n` +
        'Its own messages are above. Usual causes: no network or a proxy that npm does not know (npm config set\n' +
        `proxy …), a full disk, or no right to write in ${PROJECT_FOLDER}. Then start again; nothing else is needed.`,
    );
  }
  writeFileSync(MARKER, fingerprint());
}

/** The npm that started us, if one did: it need not be on the PATH. */
function npmCommand() {
  const running = process.env.npm_execpath;
  if (running?.endsWith('npm-cli.js')) return { program: process.execPath, before: [running] };
  return { program: 'npm', before: [] };
}

function fingerprint() {
  const lock = readFileSync(join(PROJECT_FOLDER, 'package-lock.json'));
  return `${createHash('sha256').update(lock).digest('hex')} ${MACHINE}`;
}

/** Two commands started at once on a fresh clone must not install into one folder. */
async function takeLock() {
  mkdirSync(join(PROJECT_FOLDER, '.stack'), { recursive: true });
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  while (Date.now() < deadline) {
    try {
      const file = openSync(LOCK, 'wx');
      writeFileSync(file, String(process.pid));
      closeSync(file);
      return () => rmSync(LOCK, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isOwnerGone()) rmSync(LOCK, { force: true });
    else await pause(POLL_MS);
  }
  throw new InstallError(`another process has been installing for too long; if none is, delete ${LOCK}`);
}

function isOwnerGone() {
  try {
    const owner = Number(readFileSync(LOCK, 'utf8'));
    // Just created and not yet written: its owner is alive.
    if (!owner) return false;
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
