// What `npm test` does, in order; the first step that fails ends it.
//
// Arguments go to mocha, and then the checks before it are left out: `npm test -- --grep ENG-9` is for working
// on one thing. Without arguments everything runs.
//
// With `--full` (`npm run test:full`) it is what takes too long for that: the tests that have a size, at their full size.
// What they measured is written to docs/test-full.md.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, PROJECT_FOLDER } from './launch.mjs';
import { runInLanes } from './test-lanes.mjs';

/** Names of scripts in package.json, so that each can be run alone too. */
const CHECKS = [
  { heading: 'Types', script: 'types' },
  { heading: 'Lint', script: 'lint' },
  { heading: 'Who imports whom', script: 'lint:imports' },
  { heading: 'Rules and their tests', script: 'rules:check' },
];
const TESTS = { heading: 'Tests', script: 'mocha' };
/** Not in .mocharc.json: mocha would add it to the files that are named, instead of leaving it out. */
const ALL_TESTS = 'test/**/*.test.ts';
const FULL = '--full';
const FULL_TESTS = [
  'test/fairness/*.test.ts',
  'test/faults/*.test.ts',
  'test/ingest/formats.property.test.ts',
  'test/ingest/large-push.test.ts',
  'test/tasks/state-machine.test.ts',
  'test/chain/any-order.test.ts',
];
const FULL_REPORT = 'docs/test-full.md';

async function main(args) {
  if (args[0] === FULL) return runFull(args.slice(1));
  return runAll(args);
}

function runFull(mochaArgs) {
  process.env.ROOFTALLY_TEST_FULL = '1';
  // A part of it is not its result.
  if (mochaArgs.length === 0) process.env.ROOFTALLY_TEST_REPORT = FULL_REPORT;
  return runAll([...FULL_TESTS, ...mochaArgs]);
}

async function runAll(mochaArgs) {
  const scripts = JSON.parse(readFileSync(join(PROJECT_FOLDER, 'package.json'), 'utf8')).scripts;
  const steps = mochaArgs.length > 0 ? [TESTS] : [...CHECKS, TESTS];
  for (const { heading, script } of steps) {
    console.log(`\n── ${heading} (npm run ${script})`);
    const [program, ...args] = scripts[script].split(' ');
    const code =
      script === TESTS.script
        ? await runTests(program, mochaArgs)
        : await launch(program, args, { folder: PROJECT_FOLDER });
    if (code !== 0) {
      console.error(`\n── ${heading}: FAILED (code ${code}). Nothing after it was run.`);
      return code;
    }
  }
  return 0;
}

/** With addresses of servers that are there already, all runs on those, one test after the other. */
function runTests(mocha, mochaArgs) {
  const given = process.env.DATABASE_URL || process.env.REDIS_URL;
  if (mochaArgs.length === 0 && !given) return runInLanes(mocha);
  const files = namesFiles(mochaArgs) ? [] : [ALL_TESTS];
  return launch(mocha, [...mochaArgs, ...files], { folder: PROJECT_FOLDER });
}

function namesFiles(mochaArgs) {
  return mochaArgs.some((arg) => arg.endsWith('.test.ts') || existsSync(join(PROJECT_FOLDER, arg)));
}

process.exitCode = await main(process.argv.slice(2));
