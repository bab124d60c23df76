/**
 * An engine to test: on the real database, with a toy stage whose effects are rows. An effect's key is unique, so work
 * that is done twice cannot pass unseen. Two sessions in a forced order are two stores, a row that one of them holds,
 * and a look at who waits.
 */
import { randomBytes } from 'node:crypto';
import type { StageName } from '../../src/domain/stage.ts';
import { TaskStatus } from '../../src/domain/task-status.ts';
import { type Observer, silentObserver } from '../../src/metrics/observer.ts';
import type { SlotKey } from '../../src/store/slots.ts';
import type { Sql, SqlValue } from '../../src/store/sql.ts';
import type { TaskRow, TaskSeed } from '../../src/store/tasks.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import type { Engine, EngineLimits } from '../../src/tasks/engine.ts';
import type { Wake } from '../../src/tasks/kick.ts';
import { openTestStore, type TestStore } from './database.ts';
import type { Columns } from './factory.ts';
import { makeToyTables, ToyHandler } from './toy-handler.ts';

/** The stage of the toy: claims up to 50 tasks at a time. */
export const STAGE: StageName = 'bill-station';
export const PARTNER = '7';

/** Long enough that nothing of a test's own ends by the clock; tests that are about time say theirs. */
const LIMITS: EngineLimits = { slotLeaseMs: 30_000, sliceMs: 20_000, sliceContendedMs: 20_000 };

export function slotOf(slotNo = 1, partnerOrgId = PARTNER, stage: StageName = STAGE): SlotKey {
  return { stage, partnerOrgId, slotNo };
}

/** Remembers who was to be woken, and wakes nobody. */
export class RecordingWake implements Wake {
  readonly kicks: string[] = [];
  readonly slots: string[] = [];
  readonly atFence: string[] = [];

  kick(stage: StageName, partnerOrgId: string): void {
    this.kicks.push(`${stage}/${partnerOrgId}`);
  }

  async wakeSlot(slot: SlotKey): Promise<void> {
    this.slots.push(slotText(slot));
  }

  async wakeSlotAtFence(slot: SlotKey, fence: string): Promise<void> {
    this.atFence.push(`${slotText(slot)}@${fence}`);
  }
}

export function slotText(slot: SlotKey): string {
  return `${slot.stage}/${slot.partnerOrgId}/${slot.slotNo}`;
}

/** What the engine told, as `[what, …arguments]`. */
export class RecordingObserver {
  readonly events: (readonly [keyof Observer, ...unknown[]])[] = [];
  readonly observer: Observer = Object.fromEntries(
    (Object.keys(silentObserver) as (keyof Observer)[]).map((what) => [
      what,
      (...told: unknown[]) => this.events.push([what, ...told]),
    ]),
  ) as unknown as Observer;

  of(what: keyof Observer): unknown[][] {
    return this.events.filter(([name]) => name === what).map(([, ...told]) => told);
  }
}

export interface TestEngine {
  readonly engine: Engine;
  readonly toy: ToyHandler;
  readonly wake: RecordingWake;
  readonly observed: RecordingObserver;
  readonly stopping: AbortController;
}

export interface EngineParts {
  readonly worker?: string;
  readonly limits?: Partial<EngineLimits>;
  readonly stage?: StageName;
  readonly wake?: Wake;
}

/** A process as far as the engine is concerned: name, handler, wishes to stop, all its own. */
export function makeEngine(store: Store, parts: EngineParts = {}): TestEngine {
  const toy = new ToyHandler(parts.stage ?? STAGE);
  const wake = new RecordingWake();
  const observed = new RecordingObserver();
  const stopping = new AbortController();
  const engine: Engine = {
    store,
    wake: parts.wake ?? wake,
    handlers: new Map([[toy.stage, toy]]),
    observer: observed.observer,
    limits: { ...LIMITS, ...parts.limits },
    worker: parts.worker ?? 'worker-a',
    stopping: stopping.signal,
  };
  return { engine, toy, wake, observed, stopping };
}

/** The database of a test file, with the toy's tables. */
export async function openToyStore(): Promise<TestStore> {
  const testStore = await openTestStore();
  await makeToyTables(testStore.store);
  return testStore;
}

/** What `acceptTasks` takes, for the toy. */
export function seedOf(taskCode: string, parts: Partial<TaskSeed> = {}): TaskSeed {
  return {
    stage: STAGE,
    taskType: 'TOY',
    taskCode,
    businessKey: `key of ${taskCode}`,
    data: {},
    partnerOrgId: PARTNER,
    pushId: '0',
    maxRetryCount: 8,
    ...parts,
  };
}

/** A task in any state, due a minute ago unless said otherwise: `due_in_s`, or `next_execute_time` itself. @returns its id */
export async function makeTask(sql: Sql, taskCode: string, columns: Columns = {}): Promise<string> {
  const [id] = await insertTasks(sql, [{ task_code: taskCode, due_in_s: -60, ...columns }]);
  return id!;
}

/** Many tasks, due in their order. @returns their ids */
export async function makeTasks(
  sql: Sql,
  codes: readonly string[],
  columns: Columns = {},
): Promise<string[]> {
  return insertTasks(
    sql,
    codes.map((code, index) => ({ task_code: code, due_in_s: -3_600 + index, ...columns })),
  );
}

async function insertTasks(sql: Sql, tasks: readonly Columns[]): Promise<string[]> {
  const rows = tasks.map(({ due_in_s, ...columns }) => ({
    task_type: 'TOY',
    business_key: `key of ${columns.task_code}`,
    task_data: '{}',
    max_retry_count: 8,
    stage: STAGE,
    partner_org_id: PARTNER,
    ...columns,
    next_execute_time: columns.next_execute_time ?? null,
    due_in_s: due_in_s ?? 0,
  }));
  const names = Object.keys(rows[0] ?? {}).filter(
    (name) => !['next_execute_time', 'due_in_s'].includes(name),
  );
  const tuple = `(${names.map(() => '?').join(', ')}, COALESCE(?, NOW(3) + INTERVAL ? SECOND))`;
  const values = rows.flatMap((row) => [
    ...names.map((name) => (row as Columns)[name]!),
    row.next_execute_time,
    row.due_in_s,
  ]);
  await sql.change(
    `INSERT INTO fi_async_task (${names.join(', ')}, next_execute_time) VALUES ${rows.map(() => tuple).join(', ')}`,
    values,
  );
  const codes = rows.map((row) => String((row as Columns).task_code));
  const made = await sql.many<{ id: string; code: string }>(
    'SELECT id, task_code code FROM fi_async_task WHERE task_code IN (?)',
    [codes],
  );
  const idOf = new Map(made.map((row) => [row.code, row.id]));
  return codes.map((code) => idOf.get(code)!);
}

/** @throws Error where there is no such task */
export async function readTask(
  sql: Sql,
  taskCode: string,
): Promise<TaskRow & { readonly claimable: number | null }> {
  return sql.one(
    `SELECT id, task_code taskCode, status, final_result finalResult, activation, retry_count retryCount,
            max_retry_count maxRetryCount, next_execute_time nextExecuteTime, running_attempt runningAttempt,
            request_generation requestGeneration, crash_count crashCount, stage, partner_org_id partnerOrgId,
            slot_no slotNo, slot_fence slotFence, worker, manually_due manuallyDue, busy_since busySince,
            error_code errorCode, error_message errorMessage, result, task_data taskData, claimable,
            finished_time finishedTime
       FROM fi_async_task WHERE task_code = ?`,
    [taskCode],
  );
}

export async function statusOf(sql: Sql, taskCode: string): Promise<keyof typeof TaskStatus> {
  const { status } = await readTask(sql, taskCode);
  return Object.entries(TaskStatus).find(([, value]) => value === status)![0] as keyof typeof TaskStatus;
}

/** Milliseconds from now, by the database's clock, until the task is due. */
export async function dueInMs(sql: Sql, taskCode: string): Promise<number> {
  const row = await sql.one<{ us: string }>(
    'SELECT TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), next_execute_time) us FROM fi_async_task WHERE task_code = ?',
    [taskCode],
  );
  return Number(row.us) / 1000;
}

export interface SlotRow {
  readonly holder: string | null;
  readonly fence: string;
  readonly taskIds: readonly string[] | null;
  readonly retired: number;
  /** Milliseconds left of the lease; null where nobody holds it. */
  readonly leaseMs: number | null;
}

export async function readSlot(sql: Sql, slot: SlotKey): Promise<SlotRow | null> {
  const row = await sql.maybeOne<Omit<SlotRow, 'leaseMs'> & { leaseUs: string | null }>(
    `SELECT holder, fence, task_ids taskIds, retired, TIMESTAMPDIFF(MICROSECOND, SYSDATE(3), lease_end) leaseUs
       FROM stage_slot WHERE stage = ? AND partner_org_id = ? AND slot_no = ?`,
    [slot.stage, slot.partnerOrgId, slot.slotNo],
  );
  if (row === null) return null;
  const { leaseUs, ...rest } = row;
  return { ...rest, leaseMs: leaseUs === null ? null : Number(leaseUs) / 1000 };
}

/** Slots 1…count of a partner, free. */
export async function makeSlots(
  sql: Sql,
  count = 4,
  partnerOrgId = PARTNER,
  stage: StageName = STAGE,
): Promise<void> {
  for (let slotNo = 1; slotNo <= count; slotNo++)
    await sql.change('INSERT INTO stage_slot (stage, partner_org_id, slot_no) VALUES (?, ?, ?)', [
      stage,
      partnerOrgId,
      slotNo,
    ]);
}

/** What a holder's death looks like once its lease is over. `now` ends it at this very instant. */
export async function endLease(sql: Sql, slot: SlotKey, when: 'now' | 'past' = 'past'): Promise<void> {
  await sql.changeExactly(
    1,
    'ending a lease',
    `UPDATE stage_slot SET lease_end = SYSDATE(3) - INTERVAL ${when === 'now' ? 0 : 1} SECOND
      WHERE stage = ? AND partner_org_id = ? AND slot_no = ?`,
    [slot.stage, slot.partnerOrgId, slot.slotNo],
  );
}

export interface HeldRows {
  release(): Promise<void>;
}

/** Runs a locking statement in a transaction of that session and keeps it open until released. */
export async function holdRows(
  store: Store,
  statement: string,
  values: readonly SqlValue[] = [],
): Promise<HeldRows> {
  const held = signal();
  const wanted = signal();
  const done = store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await tx.many(statement, values);
    held.give();
    await wanted.given;
  });
  await Promise.race([held.given, done]);
  return {
    release: async () => {
      wanted.give();
      await done;
    },
  };
}

/** Holds the rows of a slot, as a holder in its transaction does. */
export function holdSlot(store: Store, slot: SlotKey): Promise<HeldRows> {
  return holdRows(
    store,
    'SELECT slot_no FROM stage_slot WHERE stage = ? AND partner_org_id = ? AND slot_no = ? FOR UPDATE',
    [slot.stage, slot.partnerOrgId, slot.slotNo],
  );
}

/** InnoDB renews what it tells of its transactions only when it was not asked for 100 ms. */
const LOOK_FOR_WAITS_EVERY_MS = 110;

/**
 * Until so many sessions of this database wait for a row that another holds. The server answers from a picture that it
 * renews only after nobody has looked for a moment: without that moment, the waits of the test before would be seen.
 */
export async function untilWaiting(sql: Sql, sessions = 1): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, LOOK_FOR_WAITS_EVERY_MS));
  const anySessionWaits = async () => {
    const row = await sql.one<{ waiting: number }>(
      `SELECT COUNT(*) waiting FROM information_schema.innodb_trx t
         JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
        WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`,
    );
    return Number(row.waiting) >= sessions;
  };
  await eventually(`${sessions} sessions wait for a lock`, anySessionWaits, {
    everyMs: LOOK_FOR_WAITS_EVERY_MS,
  });
}

/** A thing that happens once, and can be waited for. */
export interface Signal<T = void> {
  readonly given: Promise<T>;
  give(value: T): void;
}

export function signal<T = void>(): Signal<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { given: promise, give: resolve };
}

const DEADLINE_MS = 30_000;
const LOOK_EVERY_MS = 10;

/** Waits for a state, not for a time. @throws Error that names what did not come true */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  { deadlineMs = DEADLINE_MS, everyMs = LOOK_EVERY_MS } = {},
): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (performance.now() >= endMs) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

export function randomName(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString('hex')}`;
}
