// The promise that matters most to whoever runs this on their own machine: nothing goes on running.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { pollUntil } from '../../src/stack/poll.ts';
import { findCommandLine, isAlive } from '../../src/stack/process-table.ts';
import { removeSmallStack, smallStackOptions, startSmallStack } from '../support/small-stack.ts';

const INSTANCE = 'orphans';
const STACK_MODULE = resolve(import.meta.dirname, '../../src/stack/embedded-stack.ts');
const GONE_TIMEOUT_MS = 20_000;

interface Pids {
  mysql: number;
  redis: number;
}

describe('stack: when the process that started it dies', () => {
  let parent: ChildProcess;
  let pids: Pids;

  afterEach(async () => {
    parent.kill('SIGKILL');
    await whenGone(pids);
  });
  after(() => removeSmallStack(INSTANCE));

  it('ends the servers after kill -9 of the parent, and the next start finds its data in order', async () => {
    pids = await startParent(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    // At once, while the servers of the dead parent are still on their way down.
    const stack = await startSmallStack(INSTANCE, { fresh: false });
    try {
      expect([pids.mysql, pids.redis].map(isAlive)).to.deep.equal([false, false]);
    } finally {
      await stack.stop();
    }
  });

  it('ends the servers when the parent and its whole process group are killed', async () => {
    pids = await startParent(false);
    process.kill(-(parent.pid as number), 'SIGKILL');
    await whenGone(pids);
  });

  it('ends a server whose guard was killed', async () => {
    pids = await startParent(false);
    const guard = guardOf(pids.redis);
    expect(findCommandLine(guard)).to.include('guard.sh');
    process.kill(guard, 'SIGKILL');
    await whenGone({ redis: pids.redis });
  });

  async function startParent(fresh: boolean): Promise<Pids> {
    const options = JSON.stringify(smallStackOptions(INSTANCE, { fresh }));
    const script = `const { startStack } = await import(${JSON.stringify(STACK_MODULE)});
      const stack = await startStack(${options});
      console.log(JSON.stringify({ mysql: stack.mysql.pid, redis: stack.redis.pid }));`;
    parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(
      createInterface({ input: parent.stdout as NodeJS.ReadableStream }),
      'line',
    )) as [string];
    const started = JSON.parse(line) as Pids;
    expect([started.mysql, started.redis].map(isAlive)).to.deep.equal([true, true]);
    return started;
  }
});

function whenGone(pids: Partial<Pids>): Promise<true> {
  return pollUntil(() => !Object.values(pids).some(isAlive), {
    everyMs: 50,
    timeoutMs: GONE_TIMEOUT_MS,
    otherwise: () => `still running: ${JSON.stringify(pids)}`,
  });
}

function guardOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }));
}
