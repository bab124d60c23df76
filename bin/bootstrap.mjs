// The first step of `npm run demo`, `npm test` and the like, on a bare clone too: installs what is missing, then
// starts the next step with a Node that runs TypeScript. Without dependencies, for Node 20 and later.

import { join } from 'node:path';
import { FOLLOWING_US, findNode, launch, PROGRAMS_FOLDER, PROJECT_FOLDER } from './launch.mjs';
import { ensurePackages, InstallError } from './packages.mjs';

const STEPS = {
  demo: ['src/cli/main.ts', 'demo'],
  bench: ['src/cli/main.ts', 'bench'],
  cli: ['src/cli/main.ts'],
  test: ['bin/run-tests.mjs'],
  'test-full': ['bin/run-tests.mjs', '--full'],
};

// Under npm our parent is npm, or the shell it uses. Started otherwise, a parent may well leave first.
if (process.env.npm_lifecycle_event) await import('./follow-parent.mjs');

async function main([name, ...args]) {
  const step = STEPS[name];
  if (!step) return fail(`there is no "${name ?? ''}"; known are ${Object.keys(STEPS).join(', ')}`);
  await ensurePackages();
  const node = findNode();
  if (!node) {
    return fail(
      `Node 24 or later is needed. This one is ${process.version}, and the one that comes with the packages\n` +
        `(${join(PROGRAMS_FOLDER, 'node')}) is missing or does not run here. Either npm was told to run no install\n` +
        'scripts (npm config get ignore-scripts), or install Node 24 yourself.',
    );
  }
  const [script, ...first] = step;
  return launch(node, [...FOLLOWING_US, join(PROJECT_FOLDER, script), ...first, ...args]);
}

function fail(message) {
  console.error(`\nrooftally: ${message}\n`);
  return 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = fail(error instanceof InstallError ? error.message : error.stack);
}
