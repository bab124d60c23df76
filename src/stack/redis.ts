// The Redis of the stack.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endFormerServer } from './former-server.ts';
import { readOrMakePassword } from './password.ts';
import { pollUntil } from './poll.ts';
import { LOOPBACK } from './ports.ts';
import type { RedisProgram } from './programs.ts';
import { readRedisVersion } from './redis-protocol.ts';
import { type Server, startOnFreePort } from './server.ts';

const READY_TIMEOUT_MS = 30_000;
const ANSWER_TIMEOUT_MS = 2_000;
const POLL_MS = 20;

export interface RedisRequest {
  program: RedisProgram;
  folder: string;
  fresh: boolean;
  log: (line: string) => void;
}

export async function startRedis(request: RedisRequest): Promise<{ server: Server; url: string }> {
  const { program, folder } = request;
  const dataFolder = join(folder, 'data');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pidFile = join(folder, 'redis.pid');
  await endFormerServer({ pidFile, folder, log: request.log });

  if (request.fresh) rmSync(dataFolder, { recursive: true, force: true });
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const password = readOrMakePassword(join(folder, 'redis.password'));
  const configuration = join(folder, 'redis.conf');
  const urlAt = (port: number) => `redis://:${password}@${LOOPBACK}:${port}/0`;
  const server = await startOnFreePort((port) => {
    writeFileSync(configuration, configurationFor({ port, password, dataFolder }), { mode: 0o600 });
    return {
      name: program.flavour === 'redis' ? 'Redis' : 'Valkey',
      port,
      log: request.log,
      command: {
        executable: program.executable,
        args: [...program.before, configuration],
        pidFile,
        logFile: join(folder, 'redis.log'),
        folder,
      },
      whenReady: (signal) => whenServing(urlAt(port), signal),
    };
  });
  return { server, url: urlAt(server.port) };
}

function configurationFor(values: { port: number; password: string; dataFolder: string }): string {
  return [
    `bind ${LOOPBACK}`,
    `port ${values.port}`,
    `requirepass ${values.password}`,
    'daemonize no',
    `dir "${values.dataFolder}"`,
    'databases 16',
    // Queues must not lose keys to make room (BullMQ requires it).
    'maxmemory-policy noeviction',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    // The command line must go on naming this file: that is how a server left behind is recognised.
    'set-proc-title no',
    '',
  ].join('\n');
}

async function whenServing(url: string, signal: AbortSignal): Promise<void> {
  await pollUntil(
    async () => {
      signal.throwIfAborted();
      try {
        return await readRedisVersion({ url, timeoutMs: ANSWER_TIMEOUT_MS, signal });
      } catch {
        return null;
      }
    },
    { everyMs: POLL_MS, timeoutMs: READY_TIMEOUT_MS, otherwise: () => 'Redis did not begin to serve' },
  );
}
