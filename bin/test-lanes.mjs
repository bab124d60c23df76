// The whole suite in two lanes: two mocha processes beside each other, each with a MySQL and a Redis of its own, since
// much of a test's time is waiting (for a lease to run out, for a process to start). What measures time or memory
// comes afterwards, alone. A file that failed beside the other lane runs once more by itself, and that is its verdict:
// what it says must not depend on who else keeps the machine busy, and a fault that only shows in company is told too.

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
const FAILED = /^Failed in (\S+)$/gm;
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
  if (results.some(({ code }) => code !== 0)) results.splice(0, LANES, ...(await runAgain(mocha, results)));
  console.log('\n── What is measured, alone');
  results.push(await startLane(mocha, alone, { lane: 1, quiet: false }).result);
  tellSum(results);
  return results.find(({ code }) => code !== 0)?.code ?? 0;
}

/** @returns the lanes without what failed in them, and the second run of that; the lanes as they are where none is named */
async function runAgain(mocha, lanes) {
  const files = lanes.flatMap(({ output }) => [...output.matchAll(FAILED)].map(([, file]) => file));
  if (files.length === 0) return lanes;
  console.log(`\n── Failed beside the other lane, once more by itself: ${files.join(', ')}`);
  const again = await startLane(mocha, files, { lane: 1, quiet: false }).result;
  return [...lanes.map((lane) => ({ ...lane, code: 0 })), again];
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

/** Of a lane whose failures ran again, its failures are those of that run. */
function tellSum(results) {
  const counts = results.map(({ output, code }) => ({ match: COUNTS.exec(output), code }));
  const passed = counts.reduce((total, { match }) => total + Number(match?.[1] ?? 0), 0);
  const failed = counts.reduce(
    (total, { match, code }) => total + (code === 0 ? 0 : Number(match?.[2] ?? 1)),
    0,
  );
  console.log(`\nAll of it: ${passed} passing, ${failed} failing`);
  console.log(`${passed} passed, ${failed} failed`);
}
