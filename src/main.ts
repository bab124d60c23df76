/**
 * The composition root: builds everything from the configuration, starts the roles that it is told, and stops in reverse.
 * Nothing else knows how the parts are wired; nothing here decides anything about bills.
 */
import type { Redis } from 'ioredis';
import { type Logger, pino } from 'pino';
import { accountActor, fullRefreshActor } from '../actors/account-shard.ts';
import { diffActor } from '../actors/diff.ts';
import { lockReleaseActor } from '../actors/lock-release.ts';
import { paymentSubmitActor } from '../actors/payment-submit.ts';
import { runActors } from '../actors/run.ts';
import { sessionCleanupActor } from '../actors/session-cleanup.ts';
import { snapshotActor } from '../actors/snapshot.ts';
import { stationActor } from '../actors/station.ts';
import type { Config } from '../config/config.ts';
import { mikroOrmOptions, SILENCE_MAX_MS } from '../config/mikro-orm.config.ts';
import { route, routeOf } from '../queues/route.ts';
import { Waker } from '../queues/wake.ts';
import { createControlRouter } from './control/router.ts';
import { createApp, type Mount } from './http/app.ts';
import { createOpsApp } from './http/ops-app.ts';
import { type HttpServer, listen } from './http/server.ts';
import { rules } from './invariants/all.ts';
import { inspect } from './invariants/inspect.ts';
import { checkRedis, openRedis } from './leases/redis.ts';
import { registerInspection } from './metrics/inspection.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { registerHistoryLength } from './metrics/retention.ts';
import { metricsHandler } from './metrics/scrape.ts';
import { findInvalidSessions } from './scheduler/find-invalid-sessions.ts';
import { forgetNonces } from './scheduler/forget-nonces.ts';
import { inspectRegularly } from './scheduler/inspect.ts';
import { keepSlots } from './scheduler/keep-slots.ts';
import { numberCompletions } from './scheduler/number-completions.ts';
import { removeOldRows } from './scheduler/remove-old-rows.ts';
import { scanDueWork } from './scheduler/scan-due-work.ts';
import { startScheduler } from './scheduler/scheduler.ts';
import { readHistoryLength } from './store/history-length.ts';
import { listLatestResults } from './store/inspections.ts';
import { closeStore, MIGRATION_CONNECTIONS, migrate, openStore } from './store/open-store.ts';
import { checkDatabase } from './store/schema-check.ts';
import { listStageFigures } from './store/task-figures.ts';
import type { Store } from './store/transaction.ts';
import type { Engine } from './tasks/engine.ts';
import type { HandlerRegistry, StageHandler } from './tasks/stage-handler.ts';

export type Role = 'api' | 'worker' | 'scheduler';

export interface StartOptions {
  readonly config: Config;
  readonly roles: readonly Role[];
}

export interface Running {
  /** Where this process listens, `http://127.0.0.1:8080`; every role has health and metrics. */
  readonly address: string;
  /** SIGTERM's work: nothing new, the current transactions, hand back, close in reverse order, within the time limit. */
  stop(): Promise<void>;
}

/** @throws ConfigError, Failure `DATABASE_NOT_READY`, `REDIS_NOT_READY`: each says what to do */
export async function startRooftally({ config, roles }: StartOptions): Promise<Running> {
  const undo: Undo[] = [];
  try {
    return await start(config, roles, undo);
  } catch (error) {
    await stopAll(undo, config.shutdownTimeoutMs);
    throw error;
  }
}

interface Undo {
  readonly what: string;
  readonly step: () => Promise<void>;
}

async function start(config: Config, roles: readonly Role[], undo: Undo[]): Promise<Running> {
  const log = pino({ name: 'rooftally', level: config.logLevel, base: { worker: config.workerName } });
  const stopping = new AbortController();
  const parts = await openParts(config, log, stopping.signal, undo);
  if (roles.includes('worker')) startWorkers(config, parts, undo);
  if (roles.includes('scheduler')) startScan(config, parts, log, undo);
  const server = await startHttp(config, roles, parts, log, undo);
  undo.push({ what: 'stop beginning new work', step: async () => stopping.abort() });
  log.info({ roles, address: server.url }, 'started');
  return { address: server.url, stop: () => stopAll(undo, config.shutdownTimeoutMs) };
}

interface Parts {
  readonly store: Store;
  readonly redis: Redis;
  readonly waker: Waker;
  readonly metrics: Metrics;
  readonly engine: Engine;
}

/** On connections of its own, whose statements may take as long as a large table needs. */
async function migrateFirst({ databaseUrl }: Config, log: Logger): Promise<void> {
  const options = mikroOrmOptions({ databaseUrl, poolMax: MIGRATION_CONNECTIONS });
  const store = await openStore(options, {}, { patienceMs: DATABASE_PATIENCE_MS });
  try {
    for (const name of await migrate(store)) log.info({ migration: name }, 'migrated');
  } finally {
    await closeStore(store);
  }
}

/** Where everything starts at once, as long as Redis is waited for. */
const DATABASE_PATIENCE_MS = 15_000;

async function openParts(config: Config, log: Logger, stopping: AbortSignal, undo: Undo[]): Promise<Parts> {
  const trouble = (where: string, error: unknown, traceId?: string | null) =>
    log.warn({ err: error, where, ...(traceId == null ? {} : { traceId }) }, 'trouble');
  const redis = openRedis(config.redisUrl, (error) => trouble('redis', error));
  undo.push({ what: 'redis', step: async () => redis.disconnect() });
  await checkRedis(redis);

  let metrics: Metrics | null = null;
  await migrateFirst(config, log);
  const store = await openStore(
    mikroOrmOptions({
      databaseUrl: config.databaseUrl,
      poolMax: config.databasePoolMax,
      silenceMaxMs: SILENCE_MAX_MS,
    }),
    {
      onConflict: () => metrics?.observer.conflict(),
      onAfterCommitError: (error) => trouble('after a commit', error),
    },
  );
  undo.push({ what: 'database', step: () => closeStore(store) });
  await checkDatabase(store);

  metrics = createMetrics({ readOpenTasks: () => readOpenTasks(store), onTrouble: trouble });
  registerInspection(metrics.registry, { readFigures: () => readInspection(store), onTrouble: trouble });
  registerHistoryLength(metrics.registry, {
    readHistoryLength: () => readHistoryLength(store),
    onTrouble: trouble,
  });
  const { observer } = metrics;
  const waker = new Waker({
    connection: redis,
    prefix: config.redisPrefix,
    kickEnabled: config.tasks.kickEnabled,
    kickShare: config.tasks.kickShare,
    onKick: (stage, outcome) => observer.kicked(stage, outcome),
    onError: trouble,
  });
  undo.push({ what: 'queues', step: () => waker.close() });
  const engine: Engine = {
    store,
    wake: waker,
    handlers: buildActors(config, store, redis, waker),
    observer,
    limits: config.tasks,
    worker: config.workerName,
    stopping,
  };
  return { store, redis, waker, metrics, engine };
}

function buildActors(config: Config, store: Store, redis: Redis, kick: Waker): HandlerRegistry {
  const leases = { redis, prefix: config.redisPrefix, leaseMs: config.leases.stationLeaseMs };
  const actors: readonly StageHandler[] = [
    stationActor({ store, kick, leases }),
    diffActor({ store, kick }),
    accountActor({ kick, timeLimitMs: config.accounts.timeLimitMs }),
    fullRefreshActor({ kick, timeLimitMs: config.accounts.timeLimitMs }),
    snapshotActor(),
    paymentSubmitActor({ kick }),
    lockReleaseActor({ kick }),
    sessionCleanupActor(),
  ];
  return new Map(actors.map((actor) => [actor.stage, actor]));
}

function startWorkers(config: Config, { waker, engine }: Parts, undo: Undo[]): void {
  const connection = openRedis(
    config.redisUrl,
    (error) => engine.observer.trouble('redis of the workers', error),
    'blocking',
  );
  undo.push({ what: 'redis of the workers', step: async () => connection.disconnect() });
  const actors = runActors(engine, {
    connection,
    prefix: config.redisPrefix,
    stages: route.map((entry) => entry.stage),
    concurrency: config.tasks.actorConcurrency,
    jobLockMs: config.tasks.jobLockMs,
    isContended: (stage) => waker.isContended(stage).catch(() => false),
  });
  undo.push({ what: 'workers', step: () => actors.stop() });
}

function startScan(config: Config, { engine, store }: Parts, log: Logger, undo: Undo[]): void {
  const { scanIntervalMs, leaderLeaseMs, inspectIntervalMs } = config.scheduler;
  const inspection = inspectRegularly(inspectIntervalMs, (signal) =>
    inspect(store, rules, { trigger: 'SCHEDULE', signal }),
  );
  undo.push({ what: 'inspection', step: () => inspection.settled() });
  const completions = numberCompletions({
    everyMs: scanIntervalMs,
    onCompleted: (completion) => {
      engine.observer.completed(completion.state);
      log.info(completion, 'push complete');
    },
  });
  const retention = removeOldRows({ ...config.retention, leaseMs: RETENTION_LEASE_MS });
  undo.push({ what: 'retention', step: () => retention.settled() });
  const scheduler = startScheduler(engine, {
    leaseMs: leaderLeaseMs,
    jobs: [
      keepSlots(),
      scanDueWork(scanIntervalMs),
      completions,
      findInvalidSessions(),
      forgetNonces(),
      inspection,
      ...(config.retention.enabled ? [retention] : []),
    ],
  });
  undo.push({ what: 'scheduler', step: () => scheduler.stop() });
}

/** Far longer than a piece takes; a process that died is followed by another after it. */
const RETENTION_LEASE_MS = 30_000;

async function startHttp(
  config: Config,
  roles: readonly Role[],
  parts: Parts,
  log: Logger,
  undo: Undo[],
): Promise<HttpServer> {
  const { store, redis, waker, metrics } = parts;
  const scrape: Mount = { path: '/metrics', handler: metricsHandler(metrics.registry) };
  const app = roles.includes('api')
    ? createApp({
        log,
        store,
        redis,
        kick: waker,
        limits: config.ingest,
        signing: config.signing,
        mounts: [scrape, controlPlane(config, parts)],
      })
    : createOpsApp({ log, store, redis, mounts: [scrape] });
  const server = await listen(app, {
    host: config.http.host,
    port: config.http.port,
    requestTimeoutMs: config.ingest.receiveTimeoutMs + REQUEST_GRACE_MS,
  });
  undo.push({ what: 'http', step: () => server.close() });
  return server;
}

function controlPlane(config: Config, { engine, waker, redis }: Parts): Mount {
  const handler = createControlRouter({
    engine,
    adminToken: config.http.adminToken,
    secretKeys: config.signing.secretKeys,
    boardQueues: waker.queues,
    leases: { redis, prefix: config.redisPrefix },
    inspection: {
      rules,
      inspectByHand: () => inspect(engine.store, rules, { trigger: 'HAND', signal: engine.stopping }),
    },
  });
  return { path: '/admin', handler };
}

/** A request may take as long as its body is given, and then some for the answer. */
const REQUEST_GRACE_MS = 60_000;

async function readInspection(store: Store) {
  const results = await listLatestResults(store);
  return results.map(({ code, findingCount, outcome }) => ({
    rule: code,
    findings: findingCount,
    broken: outcome === 'BROKEN',
  }));
}

async function readOpenTasks(store: Store) {
  const figures = await listStageFigures(store);
  return figures.flatMap(({ stage, waiting, running, failed, oldestS }) => {
    const { taskType } = routeOf(stage);
    return [
      {
        stage,
        taskType,
        status: 'WAITING' as const,
        count: Number(waiting),
        oldestS: Math.max(0, Number(oldestS ?? 0)),
      },
      { stage, taskType, status: 'RUNNING' as const, count: Number(running) },
      { stage, taskType, status: 'FAILED' as const, count: Number(failed) },
    ];
  });
}

/** In reverse order; a step that fails or takes too long does not keep the others from being taken. */
async function stopAll(undo: Undo[], timeoutMs: number): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (const { step } of undo.splice(0).reverse()) {
    const leftMs = Math.max(100, deadlineMs - performance.now());
    await Promise.race([step().catch(() => undefined), after(leftMs)]);
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
