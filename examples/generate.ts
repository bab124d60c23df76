/**
 * Writes the example files again: `node examples/generate.ts`. The same code gives the same bytes; a test compares
 * them with what is checked in.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exampleFiles } from './generator/files.ts';

for (const [path, text] of exampleFiles()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`${path}  ${Buffer.byteLength(text)} bytes`);
}
