// The check that every rule has its test is worth something only if it refuses: each way of being wrong once, in a small
// tree of its own.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'chai';

const PROGRAM = resolve(import.meta.dirname, '../../bin/rules-table.mjs');
const LIST = { 'ENG-1': { title: 'One' }, 'ENG-2': { title: 'Two', notYet: true } };
const ENG_1 = `describe('tasks', () => { it('ENG-1 a row has columns', () => {}); });`;

interface Ended {
  readonly code: number;
  readonly said: string;
}

describe('architecture: the table of rules', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rooftally-rules-'));
    put('docs/rules.json', JSON.stringify(LIST));
    put('test/one.test.ts', ENG_1);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function put(file: string, text: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }

  const table = () => readFileSync(join(folder, 'docs/rules.md'), 'utf8');
  const run = (...args: string[]): Promise<Ended> =>
    new Promise((done) => {
      execFile(process.execPath, [PROGRAM, folder, ...args], (error, _out, said) => {
        done({ code: error === null ? 0 : Number(error.code), said });
      });
    });

  it('is made of the titles, and is then accepted', async () => {
    expect((await run()).code).to.equal(0);
    expect(table()).to.match(
      /\| ENG-1 \| One \| \[one\.test\.ts\]\(\.\.\/test\/one\.test\.ts\): a row has columns \|/,
    );
    expect(table()).to.match(/\| ENG-2 \| Two \| \*not yet\* \|/);
    expect(await run('--check')).to.deep.equal({ code: 0, said: '' });
  });

  it('finds the ids in groups, in templates and behind only', async () => {
    put(
      'docs/rules.json',
      JSON.stringify({ ...LIST, 'ENG-2': { title: 'Two' }, 'DIF-3': { title: 'Three' } }),
    );
    const group = "describe('ENG-2 in a group', () => { it('inherits', () => {}); });";
    put('test/two.test.ts', `${group} it.only(\`DIF-3 a month of \${month} is\`, () => {});`);
    expect((await run()).code).to.equal(0);
    expect(table()).to.include('inherits').and.to.include('a month of … is');
  });

  it('refuses a test that names an unknown rule', async () => {
    put('test/two.test.ts', "it('ENG-9 no such rule', () => {});");
    expect((await run()).code).to.equal(1);
    const { code, said } = await run('--check');
    expect(code).to.equal(1);
    expect(said).to.equal(
      'test/two.test.ts: "no such rule" names ENG-9, which is no rule of docs/rules.json\n',
    );
  });

  it('refuses a rule without a test that is not marked', async () => {
    put('docs/rules.json', JSON.stringify({ ...LIST, 'ENG-3': { title: 'Three' } }));
    await run();
    const { code, said } = await run('--check');
    expect(code).to.equal(1);
    expect(said).to.match(/^ENG-3 has no test/);
  });

  it('refuses a mark on a rule that has a test by now; the command takes it off', async () => {
    await run();
    put('test/two.test.ts', "it('ENG-2 is proved', () => {});");
    const { code, said } = await run('--check');
    expect(code).to.equal(1);
    expect(said).to.match(
      /^ENG-2 is marked notYet in docs\/rules\.json, and has a test: run npm run rules$/m,
    );
    await run();
    expect((await run('--check')).code).to.equal(0);
  });

  it('refuses a table that is older than the titles, and says which command makes it', async () => {
    await run();
    put('test/one.test.ts', ENG_1.replace('columns', 'all its columns'));
    const { code, said } = await run('--check');
    expect(code).to.equal(1);
    expect(said).to.equal('docs/rules.md is not what the titles of the tests say: run npm run rules\n');
  });
});
