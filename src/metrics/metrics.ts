/** The metrics of one process, named `rooftally_*` (prom-client). An observer for the engine, and a registry to scrape. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Observer } from './observer.ts';
import { retentionObserver } from './retention.ts';

const WAIT_BUCKETS_S = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const RUN_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 300];
const NS_PER_S = 1e9;

export interface OpenTaskFigures {
  readonly stage: string;
  readonly taskType: string;
  readonly status: 'WAITING' | 'RUNNING' | 'FAILED';
  readonly count: number;
  /** Of WAITING: how long the oldest due task has been due. */
  readonly oldestS?: number;
}

/** Asked at each scrape; what it costs is bounded by the slot table and two indexes. */
export type ReadOpenTasks = () => Promise<readonly OpenTaskFigures[]>;

export interface Metrics {
  readonly registry: Registry;
  readonly observer: Observer;
}

export interface MetricsOptions {
  readonly readOpenTasks: ReadOpenTasks;
  readonly onTrouble: Observer['trouble'];
}

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerEventLoopLag(registry);
  registerOpenTasks(registry, options);
  return { registry, observer: createObserver(registry, options.onTrouble) };
}

function registerEventLoopLag(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  new Gauge({
    name: 'rooftally_event_loop_lag_seconds',
    help: '99th percentile of the event loop delay since the last scrape',
    registers: [registry],
    collect() {
      this.set(Number.isNaN(delay.mean) ? 0 : delay.percentile(99) / NS_PER_S);
      delay.reset();
    },
  });
}

function registerOpenTasks(registry: Registry, { readOpenTasks, onTrouble }: MetricsOptions): void {
  const read = oncePerScrape(() =>
    readOpenTasks().catch((error: unknown) => {
      onTrouble('metrics: counting tasks', error);
      return [];
    }),
  );
  new Gauge({
    name: 'rooftally_task_oldest_waiting_seconds',
    help: 'How long the oldest due task of a stage has been due',
    labelNames: ['stage'],
    registers: [registry],
    async collect() {
      const figures = await read();
      this.reset();
      for (const { stage, status, oldestS } of figures)
        if (status === 'WAITING') this.set({ stage }, oldestS ?? 0);
    },
  });
  new Gauge({
    name: 'rooftally_tasks',
    help: 'Tasks that have not ended, by type and status; FAILED have no automatic retry left',
    labelNames: ['stage', 'type', 'status'],
    registers: [registry],
    async collect() {
      const figures = await read();
      this.reset();
      for (const { stage, taskType, status, count } of figures)
        this.set({ stage, type: taskType, status }, count);
    },
  });
}

/** A scrape asks all gauges at once; those that ask while an answer is on its way share it. */
function oncePerScrape<T>(read: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null;
  return () => {
    asked ??= read().finally(() => {
      asked = null;
    });
    return asked;
  };
}

function createObserver(registry: Registry, onTrouble: MetricsOptions['onTrouble']): Observer {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `rooftally_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `rooftally_${name}`, help, labelNames: ['stage'], buckets, registers: [registry] });

  const claimed = counter('task_claims_total', 'Tasks claimed', ['stage']);
  const claimsLost = counter('slot_claims_lost_total', 'Wakes that found their slot taken', ['stage']);
  const ends = counter('task_ends_total', 'Ends of runs, by how they ended', ['stage', 'end']);
  const fenced = counter('fenced_writes_total', 'Transactions refused because the slot was lost', ['stage']);
  const rescued = counter('task_rescues_total', 'Tasks given back because their slot was lost', ['stage']);
  const halved = counter('batches_halved_total', 'Batches halved to find what broke them', ['stage']);
  const conflicts = counter(
    'transaction_conflicts_total',
    'Transactions run again after a deadlock or lock wait',
    [],
  );
  const kicks = counter('kicks_total', 'Wakes after a commit', ['stage', 'outcome']);
  const found = counter('scan_finds_total', 'Slots woken by the scan', []);
  const dead = counter('scan_dead_slots_total', 'Dead slots found by the scan', []);
  const completions = counter(
    'push_completions_total',
    'Pushes found complete, again or for the first time',
    ['state'],
  );
  const scans = new Histogram({
    name: 'rooftally_scan_seconds',
    help: 'Time of a scan for due work',
    buckets: RUN_BUCKETS_S,
    registers: [registry],
  });
  const waits = histogram('task_wait_seconds', 'From due to claimed', WAIT_BUCKETS_S);
  const runs = histogram('task_run_seconds', 'Time of the transaction in which tasks ended', RUN_BUCKETS_S);

  return {
    claimed(stage, tasks, waitedMs) {
      claimed.inc({ stage }, tasks);
      for (const ms of waitedMs) waits.observe({ stage }, Math.max(0, ms) / 1000);
    },
    claimLost: (stage) => claimsLost.inc({ stage }),
    ended(stage, end, tasks, runMs) {
      ends.inc({ stage, end }, tasks);
      runs.observe({ stage }, runMs / 1000);
    },
    fenced: (stage) => fenced.inc({ stage }),
    rescued: (stage, tasks) => rescued.inc({ stage }, tasks),
    batchHalved: (stage) => halved.inc({ stage }),
    conflict: () => conflicts.inc(),
    kicked: (stage, outcome) => kicks.inc({ stage, outcome }),
    scanned(woken, deadSlots, tookMs) {
      found.inc(woken);
      dead.inc(deadSlots);
      scans.observe(tookMs / 1000);
    },
    completed: (state) => completions.inc({ state }),
    ...retentionObserver(registry),
    trouble: onTrouble,
  };
}
