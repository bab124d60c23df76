// Free loopback ports for the servers of the embedded stack.
//
// The kernel's own choice (listen on port 0) is refused on purpose: it lies in the range from which outgoing
// connections take theirs. A client that keeps trying to reach a server that is down for a moment may then be
// given that very port, connect to itself, and keep the server from coming back.

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** Below the ranges from which Linux (32768 on) and macOS (49152 on) take ports for outgoing connections. */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const ATTEMPTS_MAX = 200;

/** A port on which nothing listened a moment ago: somebody else may still be quicker, see `startOnFreePort`. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    if (await isFree(port)) return port;
  }
  throw new Error(
    `no free port on ${LOOPBACK} between ${PORT_MIN} and ${PORT_MAX}: ${ATTEMPTS_MAX} of them were tried`,
  );
}

/** Whether a server could listen on this loopback port now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: LOOPBACK, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
