/** Real processes of the same system: started as in production, killed for real, and gone when the test is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestSystem } from './rooftally.ts';
import { until } from './rooftally.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const START_DEADLINE_MS = 90_000;

export interface WorkerProcess {
  readonly name: string;
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null for a signal. */
  readonly exited: Promise<number | null>;
}

/** `rooftally serve --role worker` under a name of its own; resolves when it has said that it started. */
export async function startWorkerProcess(
  system: TestSystem,
  name: string,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Promise<WorkerProcess> {
  const { child, exited } = spawnServe(system, name, { environment, nodeOptions });
  await started(child, name);
  return { name, pid: child.pid!, kill: (signal) => void child.kill(signal), exited };
}

export interface ServeOptions {
  readonly role?: 'api' | 'worker' | 'scheduler';
  readonly environment?: Readonly<Record<string, string>>;
  /** Node options before the program. */
  readonly nodeOptions?: readonly string[];
}

/** The process itself, at once: for one that may die while it starts. */
export function spawnServe(
  system: TestSystem,
  name: string,
  { role = 'worker', environment = {}, nodeOptions = [] }: ServeOptions,
): { readonly child: ChildProcess; readonly exited: Promise<number | null> } {
  const child = spawn(process.execPath, [...nodeOptions, MAIN, 'serve', '--role', role], {
    env: {
      ...process.env,
      ...system.environment,
      ROOFTALLY_LOG_LEVEL: 'info',
      ROOFTALLY_WORKER_NAME: name,
      ROOFTALLY_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, exited: once(child, 'exit').then(([code]) => code as number | null) };
}

async function started(child: ChildProcess, name: string): Promise<void> {
  let output = '';
  const listen = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-20_000);
  };
  child.stdout?.on('data', listen);
  child.stderr?.on('data', listen);
  await until(
    `worker ${name} to start`,
    START_DEADLINE_MS,
    async () => {
      if (child.exitCode !== null) throw new Error(`worker ${name} ended: ${output}`);
      return output.includes('"msg":"started"') ? true : null;
    },
    async () => output,
  );
}

/**
 * Finds a worker that has a RUNNING task, stops it in its tracks, looks again, and kills it only if it still has one.
 * @returns the victim and the tasks that it had
 */
export async function killOneWhileRunning(
  system: TestSystem,
  workers: readonly WorkerProcess[],
  deadlineMs: number,
): Promise<{ victim: WorkerProcess; taskIds: string[] }> {
  const names = workers.map((worker) => worker.name);
  return until('a worker to have a RUNNING task', deadlineMs, async () => {
    const busy = await runningTasks(system, names);
    const victim = workers.find((worker) => worker.name === busy[0]?.worker);
    if (victim === undefined) return null;
    victim.kill('SIGSTOP');
    const taskIds = (await runningTasks(system, [victim.name])).map((row) => row.id);
    if (taskIds.length === 0) {
      victim.kill('SIGCONT');
      return null;
    }
    victim.kill('SIGKILL');
    await victim.exited;
    return { victim, taskIds };
  });
}

function runningTasks(system: TestSystem, workers: readonly string[]) {
  return system.store.many<{ id: string; worker: string }>(
    'SELECT id, worker FROM fi_async_task WHERE status = 1 AND worker IN (?) LIMIT 50',
    [workers],
  );
}
