// A child process that cannot outlive us: even after kill -9 its guard stops it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isAlive, signalIfAlive } from './process-table.ts';
import { SERVER_ENVIRONMENT } from './programs.ts';
import { StackError } from './stack-error.ts';

const GUARD_SCRIPT = fileURLToPath(new URL('guard.sh', import.meta.url));

export interface GuardedProcess {
  /** Of the server itself, not of its guard. */
  readonly pid: number;
  /** Resolves when the server has ended, with the exit code as a shell tells it (128 + signal). */
  readonly ended: Promise<number | null>;
}

export interface GuardedCommand {
  executable: string;
  args: readonly string[];
  pidFile: string;
  logFile: string;
  folder: string;
}

export async function startGuarded(command: GuardedCommand): Promise<GuardedProcess> {
  const log = openSync(command.logFile, 'a', 0o600);
  // Detached: Ctrl-C reaches us alone, and we stop the servers in order, after those who still use them.
  const guard = spawn('/bin/sh', [GUARD_SCRIPT, command.pidFile, command.executable, ...command.args], {
    cwd: command.folder,
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', log, log, 'pipe'],
  });
  closeSync(log);
  const guardEnded = endOf(guard);
  const pid = await readPid(guard.stdio[3] as Readable);
  if (pid === null) {
    throw new StackError(`${command.executable} could not be started, see ${command.logFile}`);
  }
  return { pid, ended: guardEnded.then((code) => endServerOfDeadGuard(pid, code)) };
}

/** SIGTERM, then SIGKILL after the grace time; without one, SIGKILL at once. Returns when the process is gone. */
export async function stopGuarded(process: GuardedProcess, graceMs: number): Promise<void> {
  if (graceMs === 0) {
    signalIfAlive(process.pid, 'SIGKILL');
    await process.ended;
    return;
  }
  signalIfAlive(process.pid, 'SIGTERM');
  // One that was frozen must wake up to hear it.
  signalIfAlive(process.pid, 'SIGCONT');
  const force = setTimeout(() => signalIfAlive(process.pid, 'SIGKILL'), graceMs);
  await process.ended;
  clearTimeout(force);
}

async function endOf(guard: ChildProcess): Promise<number | null> {
  try {
    const [code] = (await once(guard, 'exit')) as [number | null];
    return code;
  } catch {
    return null;
  }
}

async function readPid(stream: Readable): Promise<number | null> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  const pid = Number(text.trim());
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

/** A guard that was itself killed leaves its server behind; then nobody but we can end it. */
function endServerOfDeadGuard(pid: number, code: number | null): number | null {
  if (code === null && isAlive(pid)) signalIfAlive(pid, 'SIGKILL');
  return code;
}
