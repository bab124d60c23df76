/** What tests measured: said when the run is over, and written down by the full run (`docs/test-full.md`). */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const figures: { readonly what: string; readonly figure: string }[] = [];

export function noteFigure(what: string, figure: string): void {
  figures.push({ what, figure });
}

export interface RunSummary {
  readonly passes: number;
  readonly failures: number;
  readonly durationMs: number;
  readonly servers: string;
}

export function tellFigures(run: RunSummary): void {
  for (const { what, figure } of figures) console.log(`Measured: ${what}: ${figure}`);
  const file = process.env.ROOFTALLY_TEST_REPORT;
  if (file !== undefined && file !== '') writeFileSync(file, reportOf(run));
}

function reportOf({ passes, failures, durationMs, servers }: RunSummary): string {
  const when = new Date().toISOString();
  return [
    '# The last full run of the tests',
    '',
    'Written by `npm run test:full`, which runs the tests that have a size at their full size.',
    '',
    `${when.slice(0, 10)}, ${when.slice(11, 16)} UTC: ${passes} passed, ${failures} failed, in ${(durationMs / 60_000).toFixed(1)} minutes.`,
    `${availableParallelism()} cores; ${servers}; Node ${process.versions.node}.`,
    '',
    '| measured | figure |',
    '|---|---|',
    ...figures.map(({ what, figure }) => `| ${what} | ${figure} |`),
    '',
  ].join('\n');
}
