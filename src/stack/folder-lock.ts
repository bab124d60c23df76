// A lock on a folder that no crash can leave behind.
//
// The kernel holds it: an open transaction on a small SQLite file, which ends when its process ends, however it
// ends. A file with a process id in it was refused: after kill -9 somebody has to guess whether the id is still
// the same process, and two who guess at once both win.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pollUntil } from './poll.ts';

const SQLITE_BUSY = 5;
const POLL_MS = 100;

export interface FolderLock {
  release(): void;
}

/** Takes the lock, or returns null when a living process has it. */
export function tryLock(file: string): FolderLock | null {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
  writeFileSync(ownerFile(file), `${process.pid}\n`);
  return {
    release: () => {
      if (database.isOpen) database.close();
    },
  };
}

/** Waits for the lock; `onWait` is told once who has it. */
export async function waitForLock(
  file: string,
  options: { timeoutMs: number; onWait: (owner: string) => void },
): Promise<FolderLock> {
  const first = tryLock(file);
  if (first) return first;
  options.onWait(lockOwner(file));
  return pollUntil(() => tryLock(file), {
    everyMs: POLL_MS,
    timeoutMs: options.timeoutMs,
    otherwise: () => `process ${lockOwner(file)} still holds ${file}`,
  });
}

/** The id of the process that took the lock last, for messages only. */
export function lockOwner(file: string): string {
  try {
    return readFileSync(ownerFile(file), 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function ownerFile(file: string): string {
  return `${file}.owner`;
}
