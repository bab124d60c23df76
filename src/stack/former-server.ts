// A data folder whose last server still runs: left behind by a crash, or still on its way down.

import { readFileSync, rmSync } from 'node:fs';
import { pollUntil } from './poll.ts';
import { findCommandLine, isAlive, signalIfAlive } from './process-table.ts';
import { StackError } from './stack-error.ts';

const POLL_MS = 50;
/** As long as a guard gives its server to end by itself, and no less than a large MySQL needs. */
const OWN_END_MS = 10_000;
const TERM_MS = 30_000;
const KILL_MS = 5_000;

/**
 * Makes sure that no server of an earlier run uses this folder. Only a process whose command line names the
 * folder is touched: the id in the pid file may have gone to somebody else since.
 */
export async function endFormerServer(options: {
  pidFile: string;
  folder: string;
  log: (line: string) => void;
}): Promise<void> {
  const pid = findFormerServer(options);
  if (pid !== null) {
    options.log(`waiting for the server of an earlier run to end (process ${pid})`);
    await endByDegrees(pid, options);
  }
  rmSync(options.pidFile, { force: true });
}

function findFormerServer({ pidFile, folder }: { pidFile: string; folder: string }): number | null {
  const pid = readPidFile(pidFile);
  if (pid === null || !isAlive(pid)) return null;
  return findCommandLine(pid)?.includes(folder) ? pid : null;
}

async function endByDegrees(pid: number, options: { pidFile: string; folder: string }): Promise<void> {
  if (await endsWithin(pid, OWN_END_MS, options)) return;
  signalOurs(pid, 'SIGTERM');
  if (await endsWithin(pid, TERM_MS, options)) return;
  signalOurs(pid, 'SIGKILL');
  if (await endsWithin(pid, KILL_MS, options)) return;
  throw new StackError(
    `process ${pid} still uses ${options.folder} and does not end; stop it, then try again`,
  );
}

async function endsWithin(
  pid: number,
  timeoutMs: number,
  options: { pidFile: string; folder: string },
): Promise<boolean> {
  const gone = () => findFormerServer(options) !== pid && !findCommandLine(pid)?.includes(options.folder);
  try {
    return await pollUntil(gone, { everyMs: POLL_MS, timeoutMs, otherwise: () => '' });
  } catch {
    return false;
  }
}

function signalOurs(pid: number, signal: NodeJS.Signals): void {
  try {
    signalIfAlive(pid, signal);
  } catch (error) {
    throw new StackError(
      `process ${pid} of an earlier run belongs to another user; stop it, then try again`,
      {
        cause: error,
      },
    );
  }
}

function readPidFile(pidFile: string): number | null {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8').trim());
    return Number.isInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}
