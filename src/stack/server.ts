// One running server of the stack: start, stop, kill and start again, always on the same port.

import { readFileSync } from 'node:fs';
import { type GuardedCommand, type GuardedProcess, startGuarded, stopGuarded } from './guarded-process.ts';
import { findFreePort, isFree } from './ports.ts';
import { signalIfAlive } from './process-table.ts';
import { StackError } from './stack-error.ts';

const STOP_GRACE_MS = 30_000;
const KILL_GRACE_MS = 0;
const LOG_TAIL_LINES = 15;
const PORT_ATTEMPTS_MAX = 3;

/** What tests and fault drills do to a server. All return when it is done. */
export interface Server {
  /** Of the server process; null while it is down. */
  readonly pid: number | null;
  readonly port: number;
  readonly logFile: string;
  start(): Promise<void>;
  /** In order, as an administrator would. */
  stop(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Stops the process where it stands (SIGSTOP): connections stay open, nothing answers. */
  freeze(): void;
  thaw(): void;
}

export interface ServerSpecification {
  name: string;
  /** Told when the server ends and nobody asked it to. */
  log: (line: string) => void;
  port: number;
  command: GuardedCommand;
  /** Resolves when the server answers; is asked to give up through the signal. */
  whenReady(signal: AbortSignal): Promise<void>;
}

async function startServer(specification: ServerSpecification): Promise<Server> {
  let running: GuardedProcess | null = null;
  let isEnding = false;
  const { logFile } = specification.command;

  const start = async () => {
    if (running) return;
    const started = await startGuarded(specification.command);
    running = started;
    isEnding = false;
    started.ended.then((code) => {
      running = null;
      if (!isEnding)
        specification.log(`${specification.name} ended by itself (code ${code}), see ${logFile}`);
    });
    await becomeReady(started, specification);
  };
  const end = async (graceMs: number) => {
    isEnding = true;
    if (running) await stopGuarded(running, graceMs);
  };
  const signal = (name: NodeJS.Signals) => {
    if (running) signalIfAlive(running.pid, name);
  };
  const stop = () => end(STOP_GRACE_MS);
  const kill = () => end(KILL_GRACE_MS);

  await start();
  return {
    get pid() {
      return running?.pid ?? null;
    },
    port: specification.port,
    logFile,
    start,
    stop,
    kill,
    restart: async () => {
      await stop();
      await start();
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  };
}

/** Chooses a port for the server, and another one when somebody else took it in between. */
export async function startOnFreePort(specify: (port: number) => ServerSpecification): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    try {
      return await startServer(specify(port));
    } catch (error) {
      if (attempt === PORT_ATTEMPTS_MAX || (await isFree(port))) throw error;
    }
  }
}

async function becomeReady(server: GuardedProcess, specification: ServerSpecification): Promise<void> {
  const giveUp = new AbortController();
  const endedFirst = server.ended.then((code) => {
    throw new StackError(
      `${specification.name} ended while it started (code ${code}). The end of ${specification.command.logFile}:\n` +
        tailOf(specification.command.logFile),
    );
  });
  try {
    await Promise.race([specification.whenReady(giveUp.signal), endedFirst]);
  } catch (error) {
    await stopGuarded(server, 0);
    throw error;
  } finally {
    giveUp.abort();
    endedFirst.catch(() => {});
  }
}

export function tailOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  } catch {
    return '(no log)';
  }
}
