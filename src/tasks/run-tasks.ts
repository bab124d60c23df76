/**
 * A manual run (ENG-4): by codes and business keys, or, without any, what is due. Marks the tasks manually due, wakes
 * their slots, and waits for their ends; what has not ended in time is reported as still waiting, not as failed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import type { StageName } from '../domain/stage.ts';
import { Activation, TaskStatus } from '../domain/task-status.ts';
import { Failure } from '../errors.ts';
import { type LostTask, listLostTasks } from '../store/held-tasks.ts';
import { listTasksById, type TaskRow } from '../store/tasks.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import {
  listDueTasks,
  listTasksBySelectors,
  lockTasksToRun,
  markManuallyDue,
} from '../store/waiting-tasks.ts';
import type { Engine } from './engine.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const WAIT_MAX_MS = 30_000;
const LOOK_EVERY_MS = 100;

export interface ManualRun {
  readonly stage: StageName;
  readonly maxTaskCount?: number;
  /** Trimmed, distinct; null where the caller gave none. Given but blank is refused. */
  readonly taskCodes: readonly string[] | null;
  readonly businessKeys: readonly string[] | null;
}

export type ManualOutcome = 'SUCCEEDED' | 'FAILED' | 'SKIPPED' | 'CANCELLED' | 'STILL_WAITING';

export interface ManualRunItem {
  readonly taskCode: string;
  readonly outcome: ManualOutcome;
  readonly reason: string | null;
}

export interface ManualRunResult {
  readonly selected: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
  readonly items: readonly ManualRunItem[];
}

/** @throws Failure `BLANK_SELECTOR` where selectors were given but say nothing: nothing runs then. */
export async function runTasks(
  engine: Engine,
  run: ManualRun,
  waitMaxMs = WAIT_MAX_MS,
): Promise<ManualRunResult> {
  const codes = cleanSelectors('taskCodes', run.taskCodes);
  const businessKeys = cleanSelectors('businessKeys', run.businessKeys);
  const limit = clampLimit(run.maxTaskCount);
  const bySelector = codes.length + businessKeys.length > 0;
  const selected = bySelector
    ? await listTasksBySelectors(engine.store, { codes, businessKeys, stage: run.stage, limit })
    : await listDueTasks(engine.store, run.stage, limit);
  const lost = await listLostTasks(
    engine.store,
    selected.filter((task) => task.status === TaskStatus.RUNNING).map((task) => task.id),
  );
  const skipped = new Map(selected.map((task) => [task.id, reasonToSkip(task, lost.has(task.id))]));
  const runnable = selected.filter((task) => skipped.get(task.id) === null);
  await markDue(
    engine,
    runnable.filter((task) => !lost.has(task.id)),
  );
  await wakeSlots(engine, runnable, lost);
  const ended = await waitForEnds(engine, runnable, lost, waitMaxMs);
  return summarise(selected.map((task) => itemOf(task, skipped.get(task.id) ?? null, ended.get(task.id))));
}

/** A partner is kicked once; a slot that died is woken itself, for whoever takes it rescues what it had (ENG-11). */
async function wakeSlots(
  engine: Engine,
  tasks: readonly TaskRow[],
  lost: ReadonlyMap<string, LostTask>,
): Promise<void> {
  const partners = new Set(tasks.filter((task) => !lost.has(task.id)).map((task) => task.partnerOrgId));
  for (const partnerOrgId of partners) engine.wake.kick(tasks[0]!.stage, partnerOrgId);
  const slots = new Map([...lost.values()].map((task) => [`${task.partnerOrgId}/${task.slotNo}`, task]));
  for (const { stage, partnerOrgId, slotNo, fence } of slots.values()) {
    // A wake that is refused is not the operator's trouble: the scan wakes slots that died as well.
    await engine.wake.wakeSlotAtFence({ stage, partnerOrgId, slotNo }, fence).catch(() => undefined);
  }
}

function cleanSelectors(name: string, given: readonly string[] | null): string[] {
  if (given === null) return [];
  const cleaned = [...new Set(given.map((text) => text.trim()).filter((text) => text !== ''))];
  if (cleaned.length > 0) return cleaned;
  throw new Failure('BLANK_SELECTOR', `${name} is given but blank; name at least one, or leave it out`, {
    retryable: false,
  });
}

/** ENG-4: default 50, ≤ 0 is 50, at most 200. @throws Failure `BAD_LIMIT` for what is no whole number */
export function clampLimit(asked: number | undefined): number {
  if (asked !== undefined && !Number.isInteger(asked))
    throw new Failure('BAD_LIMIT', `maxTaskCount is ${asked}; give a whole number`, { retryable: false });
  return asked === undefined || asked <= 0 ? LIMIT_DEFAULT : Math.min(LIMIT_MAX, asked);
}

/** @param lost it runs in a slot whose holder is gone */
function reasonToSkip(task: TaskRow, lost: boolean): string | null {
  if (task.status === TaskStatus.SUCCESS) return 'It has succeeded already';
  if (task.status === TaskStatus.CANCELLED) return 'It was cancelled';
  if (task.status === TaskStatus.RUNNING && !lost)
    return `It is being worked on by ${task.worker ?? 'a worker'}`;
  if (task.activation === Activation.STOPPED) return 'It is stopped; resume it first';
  return null;
}

/**
 * A failed task that runs again reopens what had been halted with it (COV-4). By the rows as they are under their locks:
 * one that was stopped since it was chosen must stay halted, or nothing would ever run what was reopened.
 */
async function markDue(engine: Engine, chosen: readonly TaskRow[]): Promise<void> {
  if (chosen.length === 0) return;
  await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const tasks = await lockTasksToRun(
      tx,
      chosen.map((task) => task.id),
    );
    await markManuallyDue(
      tx,
      tasks.map((task) => task.id),
    );
    for (const task of tasks) {
      if (task.status !== TaskStatus.FAILED || task.retryCount < task.maxRetryCount) continue;
      await engine.handlers.get(task.stage)?.onHalt?.(tx, task, 'REOPENED', 'MANUAL_RUN');
    }
  });
}

/**
 * A run has ended when the task is no longer as it was marked: another attempt, and not running. A task that was lost
 * may also end in the attempt in which it was found: its holder had only been silent for long.
 */
async function waitForEnds(
  engine: Engine,
  tasks: readonly TaskRow[],
  lost: ReadonlyMap<string, LostTask>,
  waitMaxMs: number,
): Promise<ReadonlyMap<string, TaskRow>> {
  const before = new Map(tasks.map((task) => [task.id, task.runningAttempt - (lost.has(task.id) ? 1 : 0)]));
  const ended = new Map<string, TaskRow>();
  const deadlineMs = monotonicMs() + waitMaxMs;
  while (ended.size < tasks.length && monotonicMs() < deadlineMs && !engine.stopping.aborted) {
    const open = tasks.filter((task) => !ended.has(task.id)).map((task) => task.id);
    for (const now of await listTasksById(engine.store, open)) {
      if (now.runningAttempt > (before.get(now.id) ?? 0) && hasEnded(now)) ended.set(now.id, now);
    }
    if (ended.size < tasks.length) await pause(LOOK_EVERY_MS);
  }
  return ended;
}

/** A task that has gone back to wait (a busy guard, more steps to do) has not ended; an account's failure is only that. */
function hasEnded(task: TaskRow): boolean {
  return (
    task.status === TaskStatus.SUCCESS ||
    task.status === TaskStatus.FAILED ||
    task.status === TaskStatus.CANCELLED
  );
}

function itemOf(selected: TaskRow, skipped: string | null, ended: TaskRow | undefined): ManualRunItem {
  if (skipped !== null) return { taskCode: selected.taskCode, outcome: 'SKIPPED', reason: skipped };
  if (ended === undefined) return { taskCode: selected.taskCode, outcome: 'STILL_WAITING', reason: null };
  const outcome =
    ended.status === TaskStatus.SUCCESS
      ? 'SUCCEEDED'
      : ended.status === TaskStatus.CANCELLED
        ? 'CANCELLED'
        : 'FAILED';
  return { taskCode: ended.taskCode, outcome, reason: ended.errorMessage };
}

function summarise(items: readonly ManualRunItem[]): ManualRunResult {
  const count = (outcome: ManualOutcome) => items.filter((item) => item.outcome === outcome).length;
  return {
    selected: items.length,
    succeeded: count('SUCCEEDED'),
    failed: count('FAILED'),
    skipped: count('SKIPPED'),
    cancelled: count('CANCELLED'),
    items,
  };
}
