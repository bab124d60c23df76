/** Real processes that end themselves with SIGKILL at a named point (kill-point.ts). */
import { expect } from 'chai';
import { findFreePort } from '../../src/stack/ports.ts';
import { type TestSystem, until } from './rooftally.ts';
import { type ServeOptions, spawnServe } from './worker-process.ts';

/** Node options of a process that can be killed, or frozen, at a point. */
export const KILLABLE = ['--import', new URL('./kill-point.ts', import.meta.url).href];

const DEATH_DEADLINE_MS = 60_000;

/** Starts a process that ends itself with SIGKILL at that point, and waits until it has. */
export async function untilKilledAt(
  system: TestSystem,
  point: string,
  options: Pick<ServeOptions, 'role' | 'environment'> = {},
): Promise<void> {
  const { child, exited } = spawnServe(system, `killed at ${point}`, {
    ...options,
    environment: { TEST_KILL_POINT: point, ...options.environment },
    nodeOptions: KILLABLE,
  });
  let gone = false;
  void exited.then(() => {
    gone = true;
  });
  try {
    await until(`a process to die at "${point}"`, DEATH_DEADLINE_MS, async () => (gone ? true : null));
    expect(child.signalCode, point).to.equal('SIGKILL');
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

/** Starts an API that dies at that point, and sends it what makes it come there. The caller gets no answer. */
export async function untilApiKilledAt(
  system: TestSystem,
  point: string,
  send: (url: string) => Promise<unknown>,
): Promise<void> {
  const port = String(await findFreePort());
  const { child, exited } = spawnServe(system, `killed at ${point}`, {
    role: 'api',
    environment: { TEST_KILL_POINT: point, ROOFTALLY_PORT: port },
    nodeOptions: KILLABLE,
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await until('the API to be ready', DEATH_DEADLINE_MS, async () =>
      (await fetch(`${url}/readyz`).catch(() => null))?.ok ? true : null,
    );
    const answer = await send(url).catch(() => null);
    expect(answer, `${point}: the answer`).to.equal(null);
    await exited;
    expect(child.signalCode, point).to.equal('SIGKILL');
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
