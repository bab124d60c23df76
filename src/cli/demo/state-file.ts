/**
 * Where a running demo can be found: `.stack/demo/state.json`, so that `rooftally push …` in a second terminal needs
 * neither address nor key. Readable by its owner alone; removed when the demo ends.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const PROJECT_FOLDER = join(import.meta.dirname, '../../..');
export const STACK_FOLDER = join(PROJECT_FOLDER, '.stack');
const STATE_FILE = join(STACK_FOLDER, 'demo', 'state.json');

export interface DemoState {
  readonly pid: number;
  readonly url: string;
  readonly databaseUrl: string;
  readonly adminToken: string;
  readonly partners: readonly { readonly orgCode: string; readonly key: string }[];
  /** Names of example files and whose they are. */
  readonly files: Readonly<Record<string, string>>;
}

export function writeDemoState(state: DemoState): void {
  mkdirSync(dirname(STATE_FILE), { recursive: true });
  rmSync(STATE_FILE, { force: true });
  writeFileSync(STATE_FILE, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
}

export function removeDemoState(): void {
  rmSync(STATE_FILE, { force: true });
}

/** Null where no demo is running; a file that a killed demo left behind counts for nothing. */
export function findDemoState(): DemoState | null {
  try {
    const state = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as DemoState;
    return isAlive(state.pid) ? state : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
