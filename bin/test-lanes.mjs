// The whole suite in two lanes: two mocha processes beside each other, each with a MySQL and a Redis of its own, since
// much of a test's time is waiting (for a lease to run out, for a process to start). What measures time or memory
// comes afterwards, alone.

import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { forwardSignals, PROGRAMS_FOLDER, PROJECT_FOLDER } from './launch.mjs';

const ALL_TESTS = 'test/**/*.test.ts';
const ALONE = ['test/fairness/', 'test/lock-release/large.test.ts', 'test/ingest/large-push.test.ts'];
const LANES = 2;
/** What a byte of test takes, compared with others: real processes and servers take longer than they read. */
const WEIGHTS = [
  ['test/faults/', 30],
  ['test/chain/', 4],
  ['test/stack/', 4],
  ['test/start/', 4],
];
/** The stack's own line in a run's output: its packages are unpacked by then, so the next lane finds them. */
const STARTED = 'Tests run on';
const COUNTS = /^(\d+) passed, (\d+) failed$/m;

/** @returns the exit code: that of the first lane that failed */
export async function runInLanes(mocha) {
  const files = globSync(ALL_TESTS, { cwd: PROJECT_FOLDER }).toSorted();
  const alone = files.filter((file) => ALONE.some((start) => file.startsWith(start)));
  const lanes = deal(files.filter((file) => !alone.includes(file)));
  const first = startLane(mocha, lanes[0], { lane: 1, quiet: false });
  await first.started;
  const second = startLane(mocha, lanes[1], { lane: 2, quiet: true });
  const results = [await first.result, await second.result];
  console.log(`\n── The other lane\n${results[1].output}`);
  console.log('\n── What is measured, alone');
  results.push(await startLane(mocha, alone, { lane: 1, quiet: false }).result);
  tellSum(results);
  return results.find(({ code }) => code !== 0)?.code ?? 0;
}

/** The heaviest first, each to the lane that has least. */
function deal(files) {
  const lanes = Array.from({ length: LANES }, () => ({ weight: 0, files: [] }));
  const weighed = files.map((file) => ({ file, weight: weightOf(file) }));
  for (const { file, weight } of weighed.toSorted((a, b) => b.weight - a.weight)) {
    const lightest = lanes.reduce((least, lane) => (lane.weight < least.weight ? lane : least));
    lightest.files.push(file);
    lightest.weight += weight;
  }
  return lanes.map((lane) => lane.files.toSorted());
}

function weightOf(file) {
  const factor = WEIGHTS.find(([start]) => file.startsWith(start))?.[1] ?? 1;
  return statSync(join(PROJECT_FOLDER, file)).size * factor;
}

function startLane(mocha, files, { lane, quiet }) {
  const child = spawn(mocha, files, {
    cwd: PROJECT_FOLDER,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: [PROGRAMS_FOLDER, process.env.PATH].filter(Boolean).join(delimiter),
      ROOFTALLY_TEST_LANE: String(lane),
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
    },
  });
  const stopForwarding = forwardSignals(child);
  let output = '';
  let tellStarted = () => {};
  const started = new Promise((resolve) => {
    tellStarted = resolve;
  });
  const listen = (target) => (chunk) => {
    output += chunk;
    if (output.includes(STARTED)) tellStarted();
    if (!quiet) target.write(chunk);
  };
  child.stdout.on('data', listen(process.stdout));
  child.stderr.on('data', listen(process.stderr));
  const result = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      stopForwarding();
      tellStarted();
      resolve({ code: code ?? 1, output });
    });
  });
  return { started, result };
}

function tellSum(results) {
  const counts = results.map(({ output }) => COUNTS.exec(output));
  const sum = (group) => counts.reduce((total, match) => total + Number(match?.[group] ?? 0), 0);
  console.log(`\nAll of it: ${sum(1)} passing, ${sum(2)} failing`);
  console.log(`${sum(1)} passed, ${sum(2)} failed`);
}
