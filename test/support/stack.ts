// What every test run stands on: a fresh MySQL and Redis, started once before the first test and stopped after
// the last. Addresses given in DATABASE_URL and REDIS_URL are used instead.
//
// ROOFTALLY_TEST_DATABASE=mariadb (or mysql) insists on one kind of database.

import { relative, resolve } from 'node:path';
import type { Runnable, Runner } from 'mocha';
import { type Stack, startStack } from '../../src/stack/embedded-stack.ts';
import type { DatabaseFlavour } from '../../src/stack/programs.ts';
import { tellFigures } from './figures.ts';
import { complainIfStillOpen } from './still-open.ts';

const PROJECT_FOLDER = resolve(import.meta.dirname, '../..');

let running: Stack | null = null;

/** The stack the tests run on, for those that stop and start its servers. */
export function getStack(): Stack {
  if (!running) throw new Error('the stack is started by mocha, see .mocharc.json');
  return running;
}

const asked = process.env.ROOFTALLY_TEST_DATABASE || undefined;

/** The kind of database that was asked for, if any. */
export function testDatabase(): DatabaseFlavour | undefined {
  if (asked === undefined || asked === 'mysql' || asked === 'mariadb') return asked;
  throw new Error(`ROOFTALLY_TEST_DATABASE is "${asked}"; it may be mysql or mariadb`);
}

/** Of the runs that go beside each other, each has its own servers (bin/test-lanes.mjs). */
const lane = process.env.ROOFTALLY_TEST_LANE || '1';

/** Files with something that failed, a hook included. */
const failedFiles = new Set<string>();

export async function mochaGlobalSetup(this: Runner): Promise<void> {
  this.on('fail', (failed: Runnable) => {
    const file = failed.file ?? failed.parent?.file;
    if (file !== undefined) failedFiles.add(relative(PROJECT_FOLDER, file));
  });
  running = await startStack({
    purpose: 'test',
    ...(lane === '1' ? {} : { instance: `lane-${lane}` }),
    fresh: true,
    databaseUrl: process.env.DATABASE_URL || undefined,
    redisUrl: process.env.REDIS_URL || undefined,
    searchPath: process.env.PATH,
    flavour: testDatabase(),
    log: (line) => console.log(`  ${line}`),
  });
  process.env.DATABASE_URL = running.databaseUrl;
  process.env.REDIS_URL = running.redisUrl;
  console.log(`  Tests run on ${describe(running)}`);
}

export async function mochaGlobalTeardown(this: Runner): Promise<void> {
  const { passes = 0, failures = 0, start } = this.stats ?? {};
  const ranOn = running ? describe(running) : 'nothing';
  await running?.stop();
  running = null;
  tellFigures({ passes, failures, durationMs: Date.now() - Number(start), servers: ranOn });
  console.log(`Tests ran on ${ranOn}`);
  for (const file of failedFiles) console.log(`Failed in ${file}`);
  console.log(`${passes} passed, ${failures} failed`);
  complainIfStillOpen();
}

function describe(stack: Stack): string {
  return `${stack.databaseVersion} (${stack.origin}) and ${stack.redisVersion}`;
}
