/**
 * Removes what nothing can re-create or quote any more (RET-1), in small pieces, each a transaction of its own.
 *
 * The plan says what comes next; `runPiece` alone decides whether it is begun: in its transaction it keeps the lead of
 * this job (so that two processes never both remove) and looks whether somebody holds the job. A process that dies
 * between two pieces leaves a push that is retired and has fewer rows; the next run goes on there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { type KeepReason, RETENTION_JOB } from '../domain/retention.ts';
import { isJobPaused } from '../store/job-control.ts';
import { keepLead, stepDown, tryLead } from '../store/leaders.ts';
import {
  AGED_STAGES,
  AGED_TABLES,
  type ExpiredPush,
  endPushRemoval,
  findKeepReason,
  listExpiredPushes,
  type Position,
  PUSH_REMOVALS,
  type Removal,
  removeAged,
  removeAgedTasks,
  retirePush,
} from '../store/retention.ts';
import type { Sql } from '../store/sql.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import type { Engine } from '../tasks/engine.ts';
import type { SchedulerJob } from './scheduler.ts';

const PUSHES_READ_AT_ONCE = 50;
/** Looked at in one run; the next run goes on behind them. */
const PUSHES_PER_RUN_MAX = 1_000;
const NOTHING: Removal = { removed: {}, more: false };
const BEFORE_ALL: Position = { expiresAt: '1970-01-01 00:00:00.000', pushId: '0' };

export interface RetentionOptions {
  readonly everyMs: number;
  /** Of the lead; a piece must be far shorter. */
  readonly leaseMs: number;
  /** Days that a push is kept after its identity has expired. */
  readonly graceDays: number;
  /** Days that the operation audit, the accounts' log and refreshes without a push are kept. */
  readonly auditDays: number;
  /** Rows of one table in one piece. */
  readonly pieceRows: number;
  /** Between two pieces, so that claims and purge keep up. */
  readonly pauseMs: number;
}

/** DONE: nothing more may go now. */
export type RetentionEnd = 'DONE' | 'PAUSED' | 'STOPPING' | 'LED_BY_ANOTHER';

/** One transaction's work. */
type Piece = (sql: Sql) => Promise<Removal>;
type Plan = AsyncGenerator<Piece, void, Removal>;

export interface RetentionJob extends SchedulerJob {
  /** Until the run that is under way has ended. */
  settled(): Promise<void>;
}

/** The leader begins a run and does not wait for it: the scan for due work goes on meanwhile. */
export function removeOldRows(options: RetentionOptions): RetentionJob {
  let running: Promise<void> | null = null;
  let after = BEFORE_ALL;
  const begin = async (engine: Engine): Promise<void> => {
    try {
      const run = await runRetention(engine, options, after);
      after = run.next;
    } catch (error) {
      if (!engine.stopping.aborted) engine.observer.trouble('scheduler: retention', error);
    } finally {
      running = null;
    }
  };
  return {
    name: 'remove-old-rows',
    everyMs: options.everyMs,
    runOnce: async (engine) => {
      running ??= begin(engine);
    },
    settled: async () => {
      await running;
    },
  };
}

export interface RetentionRun {
  readonly end: RetentionEnd;
  readonly kept: ReadonlyMap<KeepReason, number>;
  /** Where the next run begins. */
  readonly next: Position;
}

export async function runRetention(
  engine: Engine,
  options: RetentionOptions,
  after: Position = BEFORE_ALL,
): Promise<RetentionRun> {
  const { store, worker, observer } = engine;
  const run = { kept: new Map<KeepReason, number>(), next: after };
  if (!(await tryLead(store, RETENTION_JOB, worker, options.leaseMs)))
    return { ...run, end: 'LED_BY_ANOTHER' };
  try {
    const end = await carryOut(engine, options, planOf(store, options, run));
    observer.retentionRan(end, run.kept);
    return { ...run, end };
  } finally {
    await stepDown(store, RETENTION_JOB, worker);
  }
}

async function carryOut(engine: Engine, options: RetentionOptions, plan: Plan): Promise<RetentionEnd> {
  let next = await plan.next();
  while (next.done !== true) {
    const outcome = await runPiece(engine, options, next.value);
    if (typeof outcome === 'string') return outcome;
    await pause(options.pauseMs, undefined, { signal: engine.stopping }).catch(() => undefined);
    next = await plan.next(outcome);
  }
  return 'DONE';
}

async function runPiece(
  engine: Engine,
  { leaseMs }: RetentionOptions,
  piece: Piece,
): Promise<Removal | Exclude<RetentionEnd, 'DONE'>> {
  if (engine.stopping.aborted) return 'STOPPING';
  const startedMs = monotonicMs();
  const outcome = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    if (!(await keepLead(tx, RETENTION_JOB, engine.worker, leaseMs))) return 'LED_BY_ANOTHER';
    if (await isJobPaused(tx, RETENTION_JOB)) return 'PAUSED';
    return piece(tx);
  });
  if (typeof outcome !== 'string') engine.observer.removed(outcome.removed, monotonicMs() - startedMs);
  return outcome;
}

/** Pushes first, in the order in which they expired; then what goes by age alone. */
async function* planOf(
  store: Store,
  options: RetentionOptions,
  run: { kept: Map<KeepReason, number>; next: Position },
): Plan {
  for (let looked = 0; looked < PUSHES_PER_RUN_MAX; looked += PUSHES_READ_AT_ONCE) {
    const { graceDays } = options;
    const pushes = await listExpiredPushes(store, { graceDays, after: run.next, limit: PUSHES_READ_AT_ONCE });
    for (const push of pushes) {
      yield* pushPlan(push, options, run.kept);
      run.next = push;
    }
    if (pushes.length < PUSHES_READ_AT_ONCE) run.next = BEFORE_ALL;
    if (run.next === BEFORE_ALL) break;
  }
  for (const table of AGED_TABLES)
    yield* repeat((sql) => removeAged(sql, table, options.auditDays, options.pieceRows));
  for (const stage of AGED_STAGES)
    yield* repeat((sql) => removeAgedTasks(sql, stage, options.auditDays, options.pieceRows));
}

async function* pushPlan(push: ExpiredPush, options: RetentionOptions, kept: Map<KeepReason, number>): Plan {
  if (!push.retired) {
    const judged: { reason: KeepReason | null } = { reason: null };
    yield async (sql) => {
      judged.reason = await findKeepReason(sql, push.pushId);
      if (judged.reason === null) await retirePush(sql, push);
      return NOTHING;
    };
    if (judged.reason !== null) {
      kept.set(judged.reason, (kept.get(judged.reason) ?? 0) + 1);
      return;
    }
  }
  for (const remove of PUSH_REMOVALS) yield* repeat((sql) => remove(sql, push.pushId, options.pieceRows));
  yield async (sql) => {
    await endPushRemoval(sql, push.pushId);
    return NOTHING;
  };
}

async function* repeat(piece: Piece): Plan {
  let last: Removal;
  do last = yield piece;
  while (last.more);
}
