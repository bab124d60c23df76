// Servers that were there before us: only their address is known. They are asked who they are, used as they
// are, and neither emptied nor stopped.

import { readGreeting } from './mysql-greeting.ts';
import type { Part } from './part.ts';
import { readRedisVersion } from './redis-protocol.ts';
import type { Server } from './server.ts';
import { StackError } from './stack-error.ts';

const ANSWER_TIMEOUT_MS = 10_000;
const MYSQL_PORT = 3306;
const REDIS_PORT = 6379;

export async function useGivenDatabase(url: string): Promise<Part> {
  const { hostname, port } = parseAddress('DATABASE_URL', url, MYSQL_PORT);
  try {
    const version = await readGreeting({ host: hostname, port, timeoutMs: ANSWER_TIMEOUT_MS });
    return { url, version, origin: 'given', server: outOfReach('database', port) };
  } catch (error) {
    throw unusable('DATABASE_URL', hostname, port, error);
  }
}

export async function useGivenRedis(url: string): Promise<Part> {
  const { hostname, port } = parseAddress('REDIS_URL', url, REDIS_PORT);
  try {
    const version = await readRedisVersion({ url, timeoutMs: ANSWER_TIMEOUT_MS });
    return { url, version, origin: 'given', server: outOfReach('Redis', port) };
  } catch (error) {
    throw unusable('REDIS_URL', hostname, port, error);
  }
}

function parseAddress(name: string, url: string, usualPort: number): { hostname: string; port: number } {
  if (!URL.canParse(url))
    throw new StackError(`${name} is no address of the form scheme://user:password@host:port/…`);
  const { hostname, port } = new URL(url);
  return { hostname, port: Number(port || usualPort) };
}

/** Without the address itself: it may hold a password. */
function unusable(name: string, hostname: string, port: number, cause: unknown): StackError {
  return new StackError(`the server given in ${name} (${hostname}:${port}): ${(cause as Error).message}`, {
    cause,
  });
}

/** Tests that need to stop a server can be skipped by `pid === null`, or get a clear answer here. */
function outOfReach(name: string, port: number): Server {
  const refuse = (): never => {
    throw new StackError(`the ${name} was given by its address, so it is not ours to start or stop`);
  };
  const refuseLater = async () => refuse();
  return {
    pid: null,
    port,
    logFile: '',
    start: refuseLater,
    stop: refuseLater,
    kill: refuseLater,
    restart: refuseLater,
    freeze: refuse,
    thaw: refuse,
  };
}
