// Questions about processes that are not our children any more.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Whether a process with this id runs, whoever owns it. One that only waits to be buried does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

/** In a container whose first process buries nobody, the dead keep their numbers. */
function isZombie(pid: number): boolean {
  try {
    // "<pid> (<name>) <state> …": the name may itself have brackets and spaces.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

/** Returns whether there was a process to take the signal. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** The command line of a process, or null when there is none or it cannot be read. */
export function findCommandLine(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null;
  } catch {
    return askPs(pid);
  }
}

function askPs(pid: number): string | null {
  try {
    const flags = ['-ww', '-o', 'command=', '-p', String(pid)];
    return (
      execFileSync('ps', flags, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || null
    );
  } catch {
    return null;
  }
}
