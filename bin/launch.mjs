// Runs a child program in our place: same terminal, same signals, same exit code.

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
export const PROGRAMS_FOLDER = join(PROJECT_FOLDER, 'node_modules', '.bin');

/** Arguments of a Node that is to end when we are killed. */
export const FOLLOWING_US = ['--import', new URL('follow-parent.mjs', import.meta.url).href];

/** TypeScript runs as it is from here on. */
const NODE_MAJOR_MIN = 24;

/** A Node that is new enough, or null: the one that was installed with the packages, else the one running now. */
export function findNode() {
  const candidates = [join(PROGRAMS_FOLDER, 'node'), process.execPath];
  return candidates.find((node) => existsSync(node) && majorOf(node) >= NODE_MAJOR_MIN) ?? null;
}

function majorOf(node) {
  const answer = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return Number(/^v(\d+)\./.exec(answer.stdout ?? '')?.[1] ?? 0);
}

/** Runs it to its end and resolves to its exit code. */
export function launch(program, args, options = {}) {
  const child = spawn(program, args, {
    cwd: options.folder,
    stdio: 'inherit',
    env: { ...process.env, PATH: [PROGRAMS_FOLDER, process.env.PATH].filter(Boolean).join(delimiter) },
  });
  const stopForwarding = forwardSignals(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      stopForwarding();
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Ctrl-C at a terminal reaches the child by itself; sent a second time it would count as impatience. */
export function forwardSignals(child) {
  const forwarded = hasTerminal() ? ['SIGTERM'] : ['SIGTERM', 'SIGINT', 'SIGHUP'];
  const listeners = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => {
    const listener = () => forwarded.includes(signal) && child.kill(signal);
    process.on(signal, listener);
    return [signal, listener];
  });
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

function hasTerminal() {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
