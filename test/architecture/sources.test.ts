// Rules about the sources that no linter of ours knows.

import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';

const PROJECT = resolve(import.meta.dirname, '../..');
const PRODUCTION = ['src/**/*.ts', 'queues/**/*.ts', 'actors/**/*.ts'];

describe('architecture: sources', () => {
  it('read the environment in config alone', () => {
    expect(filesThatSay(/\bprocess\.env\b|\benv\b.*from 'node:process'/, PRODUCTION)).to.deep.equal([]);
  });

  it('have Lua in the leases alone', () => {
    const elsewhere = (file: string) => !file.startsWith('src/leases/');
    const calls = /\.(defineCommand|eval|evalsha|script)\(|redis\.call\(/;
    expect(filesThatSay(calls, PRODUCTION).filter(elsewhere)).to.deep.equal([]);
    expect(list(['{src,queues,actors,config}/**/*.lua']).filter(elsewhere)).to.deep.equal([]);
  });

  it('have no file that only passes on others, and none for whatever is left over', () => {
    const names = ['index', 'utils', 'util', 'helpers', 'helper', 'types', 'common', 'misc'];
    expect(list([`{src,queues,actors,config,test,bench}/**/{${names.join(',')}}.ts`])).to.deep.equal([]);
  });
});

function filesThatSay(pattern: RegExp, globs: string[]): string[] {
  return list(globs).filter((file) => pattern.test(readFileSync(join(PROJECT, file), 'utf8')));
}

function list(globs: string[]): string[] {
  return globSync(globs, { cwd: PROJECT }).sort();
}
