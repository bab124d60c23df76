// Who may import whom. Read by `npm run lint:imports`; test/architecture proves that it really refuses.
//
// It is run with bin/linter-typescript.mjs, without which it could not read TypeScript.

const parts = {
  domain: '^src/domain/',
  queues: '^queues/',
  store: '^src/store/',
  leases: '^src/leases/',
  tasks: '^src/tasks/',
  actors: '^actors/',
  scheduler: '^src/scheduler/',
  // What any endpoint uses; the application and its routers put the endpoints together.
  http: '^src/http/(?!.*(app|router)\\.ts$)',
  routes: '^src/http/.*(app|router)\\.ts$',
  ingest: '^src/ingest/',
  control: '^src/control/',
  coverage: '^src/coverage/',
  payment: '^src/payment/',
  invariants: '^src/invariants/',
  console: '^src/console/',
  cli: '^src/cli/',
  metrics: '^src/metrics/',
  errors: '^src/errors\\.ts$',
  clock: '^src/clock\\.ts$',
  stack: '^src/stack/',
  config: '^config/',
  main: '^src/main\\.ts$',
  bench: '^bench/',
};

const open = ['metrics', 'errors', 'clock'];
const engine = ['domain', 'queues', 'store', 'leases', 'tasks', ...open];
const business = ['actors', 'scheduler', 'ingest', 'control', 'coverage', 'payment', 'invariants'];

/** Each part may import itself and what stands here, nothing else of ours. */
const mayImport = {
  domain: [],
  queues: ['domain', ...open],
  store: ['domain', ...open],
  leases: ['domain', ...open],
  tasks: ['domain', 'queues', 'store', 'leases', ...open],
  http: ['domain', 'store', ...open],
  ...Object.fromEntries(business.map((part) => [part, [...engine, 'http']])),
  // What the payment submit and its releases are is said once, for whoever asks: a task, an operator, a scan.
  actors: [...engine, 'http', 'payment'],
  control: [...engine, 'http', 'payment'],
  scheduler: [...engine, 'http', 'payment'],
  console: [...engine, 'http', ...business],
  routes: [...engine, 'http', ...business, 'console'],
  cli: [...engine, 'http', ...business, 'routes', 'console', 'stack', 'config', 'main', 'bench'],
  bench: [...engine, 'config', 'main'],
  metrics: ['domain', 'queues', 'errors', 'clock'],
  errors: ['domain'],
  clock: [],
  stack: [],
  config: [],
};

const layers = Object.entries(mayImport).map(([part, others]) => ({
  name: `${part}-imports-only-its-own`,
  severity: 'error',
  comment: `${part} may import ${others.join(', ') || 'nothing of ours'}.`,
  from: {
    path: parts[part],
    // The ORM's configuration names the entities and migrations.
    ...(part === 'config' ? { pathNot: '^config/mikro-orm\\.config\\.ts$' } : {}),
  },
  to: {
    path: '^(src|queues|actors|config|test|bench|bin)/',
    pathNot: [part, ...others].map((name) => parts[name]),
  },
}));

/** Only these files know these packages. */
const knowledge = [
  {
    package: 'bullmq',
    path: '^node_modules/(bullmq|@bull-board)/',
    knownBy: ['^actors/run\\.ts$', '^queues/wake\\.ts$', '^src/main\\.ts$', '^src/control/board\\.ts$'],
  },
  {
    package: 'mikro-orm',
    path: '^node_modules/(@mikro-orm|mysql2|kysely)/',
    knownBy: ['^src/store/', '^config/mikro-orm\\.config\\.ts$'],
  },
].map((rule) => ({
  name: `few-know-${rule.package}`,
  severity: 'error',
  from: { path: '^(src|queues|actors|config)/', pathNot: rule.knownBy },
  to: { path: rule.path },
}));

module.exports = {
  forbidden: [
    ...layers,
    ...knowledge,
    {
      name: 'orm-configuration-knows-the-store-alone',
      severity: 'error',
      from: { path: '^config/mikro-orm\\.config\\.ts$' },
      to: { path: '^(src|queues|actors|test)/', pathNot: parts.store },
    },
    {
      name: 'every-file-has-its-part',
      severity: 'error',
      comment: 'A new folder needs a line in `parts` and one in `mayImport` above.',
      from: { path: '^(src|queues|actors|config)/', pathNot: Object.values(parts) },
      to: {},
    },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'production-needs-no-development-package',
      severity: 'error',
      from: { path: '^(src|queues|actors|config)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: '^node_modules/' },
    exclude: { path: '^(\\.stack|\\.git|coverage)/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'require', 'default', 'types'],
    },
  },
};
