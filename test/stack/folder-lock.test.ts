import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { lockOwner, tryLock, waitForLock } from '../../src/stack/folder-lock.ts';

const LOCK_MODULE = resolve(import.meta.dirname, '../../src/stack/folder-lock.ts');

describe('stack: folder lock', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rooftally-lock-'));
    file = join(folder, 'lock');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is held by one at a time', () => {
    const held = tryLock(file);
    expect(tryLock(file)).to.equal(null);
    held?.release();
    const again = tryLock(file);
    expect(again).not.to.equal(null);
    again?.release();
  });

  it('goes to whoever waits when it is released', async () => {
    const held = tryLock(file);
    const told: string[] = [];
    const waiting = waitForLock(file, { timeoutMs: 5_000, onWait: (owner) => told.push(owner) });
    held?.release();
    (await waiting).release();
    expect(told).to.deep.equal([String(process.pid)]);
  });

  it('says who holds it when the wait is over', async () => {
    const held = tryLock(file);
    const refusal = await waitForLock(file, { timeoutMs: 0, onWait: () => {} }).catch(
      (error: Error) => error,
    );
    expect((refusal as Error).message).to.include(`process ${process.pid}`);
    held?.release();
  });

  it('is free again after kill -9 of its holder', async () => {
    const script = `const { tryLock } = await import(${JSON.stringify(LOCK_MODULE)});
      globalThis.held = tryLock(${JSON.stringify(file)});
      console.log('held');
      setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', script]);
    await once(holder.stdout, 'data');
    expect(tryLock(file)).to.equal(null);
    expect(lockOwner(file)).to.equal(String(holder.pid));
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const mine = tryLock(file);
    expect(mine).not.to.equal(null);
    mine?.release();
  });
});
