#!/usr/bin/env node
// The `rooftally` command. It installs nothing: without packages it says how to get them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FOLLOWING_US, findNode, launch, PROJECT_FOLDER } from './launch.mjs';

const MAIN = join(PROJECT_FOLDER, 'src/cli/main.ts');

const node = findNode();
if (!existsSync(join(PROJECT_FOLDER, 'node_modules'))) {
  console.error(`rooftally: its packages are not installed; run "npm ci" in ${PROJECT_FOLDER}`);
  process.exitCode = 1;
} else if (!node) {
  console.error(`rooftally: Node 24 or later is needed, this is ${process.version}`);
  process.exitCode = 1;
} else {
  process.exitCode = await launch(node, [...FOLLOWING_US, MAIN, ...process.argv.slice(2)]);
}
