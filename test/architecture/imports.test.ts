// The dependency linter is worth something only if it reads TypeScript and refuses: each rule is broken once
// here, in a small tree of its own.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const PROJECT = resolve(import.meta.dirname, '../..');
const CONFIGURATION = join(PROJECT, '.dependency-cruiser.cjs');
const LINTER = [
  '--import',
  join(PROJECT, 'bin/linter-typescript.mjs'),
  join(PROJECT, 'node_modules/.bin/depcruise'),
];

interface Report {
  modules: { source: string; dependencies: { resolved: string }[] }[];
  summary: { violations: { from: string; to: string; rule: { name: string } }[] };
}

/** File, what it imports, and the rule that must refuse this. */
const REFUSED: [file: string, imports: string, rule: string][] = [
  ['src/domain/money.ts', '../clock.ts', 'domain-imports-only-its-own'],
  ['src/domain/amount.ts', '../errors.ts', 'domain-imports-only-its-own'],
  ['queues/bill-station.ts', '../src/store/tasks.ts', 'queues-imports-only-its-own'],
  ['src/store/tasks.ts', '../leases/lease.ts', 'store-imports-only-its-own'],
  ['src/leases/lease.ts', '../../queues/route.ts', 'leases-imports-only-its-own'],
  ['src/tasks/claim.ts', '../payment/submit.ts', 'tasks-imports-only-its-own'],
  ['actors/station.ts', '../src/coverage/funnel.ts', 'actors-imports-only-its-own'],
  ['src/scheduler/scan.ts', '../../actors/diff.ts', 'scheduler-imports-only-its-own'],
  ['src/ingest/push.ts', '../control/pause.ts', 'ingest-imports-only-its-own'],
  ['src/control/pause.ts', '../console/page.ts', 'control-imports-only-its-own'],
  ['src/coverage/funnel.ts', '../../config/config.ts', 'coverage-imports-only-its-own'],
  ['src/payment/submit.ts', '../scheduler/retention.ts', 'payment-imports-only-its-own'],
  ['src/invariants/totals.ts', '../main.ts', 'invariants-imports-only-its-own'],
  ['src/http/problem.ts', '../ingest/push.ts', 'http-imports-only-its-own'],
  ['src/ingest/answer.ts', '../http/app.ts', 'ingest-imports-only-its-own'],
  ['src/http/admin-router.ts', '../main.ts', 'routes-imports-only-its-own'],
  ['src/odds/ends.ts', '../domain/money.ts', 'every-file-has-its-part'],
  ['src/console/page.ts', '../stack/ports.ts', 'console-imports-only-its-own'],
  ['src/cli/watch.ts', '../../test/support/rows.ts', 'cli-imports-only-its-own'],
  ['src/metrics/counters.ts', '../store/slots.ts', 'metrics-imports-only-its-own'],
  ['src/clock.ts', './errors.ts', 'clock-imports-only-its-own'],
  ['src/errors.ts', './metrics/names.ts', 'errors-imports-only-its-own'],
  ['src/stack/ports.ts', '../clock.ts', 'stack-imports-only-its-own'],
  ['config/config.ts', '../src/domain/stage.ts', 'config-imports-only-its-own'],
  ['config/mikro-orm.config.ts', '../src/tasks/engine.ts', 'orm-configuration-knows-the-store-alone'],
  ['actors/diff.ts', 'bullmq', 'few-know-bullmq'],
  ['src/console/board.ts', '@bull-board/api', 'few-know-bullmq'],
  ['src/payment/rows.ts', '@mikro-orm/core', 'few-know-mikro-orm'],
  ['src/store/one.ts', './two.ts', 'no-circles'],
  ['src/domain/odd.ts', 'mocha', 'production-needs-no-development-package'],
  ['src/domain/gone.ts', './nowhere.ts', 'nothing-unresolvable'],
];

const ALLOWED: [file: string, imports: string][] = [
  ['src/domain/stage.ts', './partner.ts'],
  ['queues/wake.ts', 'bullmq'],
  ['actors/run.ts', 'bullmq'],
  ['src/control/board.ts', '@bull-board/api'],
  ['src/ingest/receive.ts', '../http/problem.ts'],
  ['src/http/partner-router.ts', '../ingest/receive.ts'],
  ['src/store/rows.ts', '@mikro-orm/core'],
  ['config/mikro-orm.config.ts', '../src/store/tasks.ts'],
  ['actors/snapshot.ts', '../src/tasks/engine.ts'],
  ['src/console/home.ts', '../coverage/rows.ts'],
  ['src/cli/demo.ts', '../stack/start.ts'],
  ['src/main.ts', '../actors/run.ts'],
  ['src/tasks/turn.ts', '../metrics/observer.ts'],
];

const PACKAGES = {
  dependencies: ['bullmq', '@bull-board/api', '@mikro-orm/core'],
  devDependencies: ['mocha'],
};

describe('architecture: the dependency linter', () => {
  let tree: string;
  let report: Report;

  before(async () => {
    tree = mkdtempSync(join(tmpdir(), 'rooftally-imports-'));
    plantPackages(tree);
    plantFiles(tree, [...REFUSED, ...ALLOWED, ['src/store/two.ts', './one.ts']]);
    report = await lint(tree);
  });

  after(() => rmSync(tree, { recursive: true, force: true }));

  for (const [file, imports, rule] of REFUSED) {
    it(`refuses that ${file} imports ${imports}`, () => {
      const rules = report.summary.violations.filter((one) => one.from === file).map((one) => one.rule.name);
      expect(rules).to.include(rule);
    });
  }

  for (const [file, imports] of ALLOWED) {
    it(`allows that ${file} imports ${imports}`, () => {
      const target = imports.startsWith('.')
        ? join(dirname(file), imports)
        : `node_modules/${imports}/index.js`;
      expect(
        report.modules.find((one) => one.source === file)?.dependencies.map((one) => one.resolved),
      ).to.include(target);
      expect(report.summary.violations.filter((one) => one.from === file && one.to === target)).to.deep.equal(
        [],
      );
    });
  }

  it('does not mind folders that are not there yet', async () => {
    const small = mkdtempSync(join(tmpdir(), 'rooftally-imports-'));
    try {
      plantFiles(small, [['src/domain/stage.ts', './partner.ts']]);
      expect((await lint(small)).summary.violations).to.deep.equal([]);
    } finally {
      rmSync(small, { recursive: true, force: true });
    }
  });
});

async function lint(folder: string): Promise<Report> {
  const args = ['--config', CONFIGURATION, '--output-type', 'json', '.'];
  const { stdout } = await promisify(execFile)(process.execPath, [...LINTER, ...args], {
    cwd: folder,
    maxBuffer: 32 * 1024 * 1024,
  }).catch((failed: { stdout: string }) => failed);
  return JSON.parse(stdout) as Report;
}

/** Half of the files import values and half types: both count. */
function plantFiles(root: string, files: readonly (readonly string[])[]): void {
  const sources = new Map<string, string[]>();
  const add = (file: string, line: string | null) =>
    sources.set(file, [...(sources.get(file) ?? []), ...(line ? [line] : [])]);
  for (const [index, [file = '', imports = '']] of files.entries()) {
    add(file, index % 2 ? `import type { Thing } from '${imports}';` : `import { thing } from '${imports}';`);
    if (imports.startsWith('.') && !imports.includes('nowhere')) add(join(dirname(file), imports), null);
  }
  for (const [file, lines] of sources) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(
      join(root, file),
      [...lines, 'export const thing = 1;', 'export type Thing = number;', ''].join('\n'),
    );
  }
}

function plantPackages(root: string): void {
  const versions = (names: string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));
  const manifest = {
    name: 'planted',
    type: 'module',
    dependencies: versions(PACKAGES.dependencies),
    devDependencies: versions(PACKAGES.devDependencies),
  };
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
  for (const name of [...PACKAGES.dependencies, ...PACKAGES.devDependencies]) {
    const folder = join(root, 'node_modules', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
    writeFileSync(join(folder, 'index.js'), 'export const thing = 1;\n');
  }
}
