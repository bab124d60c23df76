// A second stack beside the one all tests run on: small, with data of its own, for tests of the stack itself.

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Stack, type StackOptions, startStack } from '../../src/stack/embedded-stack.ts';
import { testDatabase } from './stack.ts';

const ROOT = resolve(import.meta.dirname, '../../.stack');

/** Loose: the other kind of database does not know it and passes it over. */
const SMALL = {
  'loose-innodb-redo-log-capacity': '64M',
  'loose-innodb-log-file-size': '64M',
  'innodb-buffer-pool-size': '64M',
};

export function smallStackOptions(instance: string, options: Partial<StackOptions> = {}): StackOptions {
  return {
    purpose: 'test',
    instance,
    root: ROOT,
    fresh: true,
    searchPath: process.env.PATH,
    flavour: testDatabase(),
    mysqlOptions: SMALL,
    ...options,
  };
}

export function startSmallStack(instance: string, options: Partial<StackOptions> = {}): Promise<Stack> {
  return startStack(smallStackOptions(instance, options));
}

export function removeSmallStack(instance: string): void {
  rmSync(join(ROOT, `test-${instance}`), { recursive: true, force: true });
}
