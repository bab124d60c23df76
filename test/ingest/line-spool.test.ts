import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type LineRef, LineSpool } from '../../src/ingest/line-spool.ts';

describe('lines in a temporary file', () => {
  it('ING-7 come back in whatever order they are asked for, however far apart', async () => {
    await using spool = await LineSpool.open(undefined);
    const lines = Array.from({ length: 4_000 }, (_, at) => `${at} 电站 ${'x'.repeat((at * 37) % 900)}`);
    const refs: LineRef[] = [];
    for (const line of lines) {
      refs.push(spool.append(line));
      await spool.flushIfFull();
    }
    await spool.flush();
    const order = lines.map((_, at) => (at * 1_237) % lines.length);
    expect(await spool.lines(order.map((at) => refs[at]!))).to.deep.equal(order.map((at) => lines[at]));
    expect(await spool.lines([refs[7]!, refs[7]!])).to.deep.equal([lines[7], lines[7]]);
    expect(await spool.lines([])).to.deep.equal([]);
  });

  it('ING-7 leave nothing behind in the file system, even while they are in use', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'line-spool-test-'));
    try {
      await using spool = await LineSpool.open(folder);
      spool.append('secret');
      await spool.flush();
      expect(await readdir(folder)).to.deep.equal([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
