/**
 * A stage whose business is one row per task, for tests of the engine. What else a task does is said by its script, in
 * this process by its code, in another process by its data: `{"do": "kill"}`.
 */
import type { StageName } from '../../src/domain/stage.ts';
import type { Failure } from '../../src/errors.ts';
import type { SlotRight } from '../../src/store/slots.ts';
import type { Sql } from '../../src/store/sql.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { ClaimedTask, Ending, Endings, Halt, StageHandler } from '../../src/tasks/stage-handler.ts';

/** Runs after the task's effect was written; what it returns is the task's ending, a success if nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a script that only does something returns nothing
export type Script = (tx: Transaction, task: ClaimedTask, right: SlotRight) => Promise<Ending | void>;

const SUCCEEDED: Ending = { kind: 'succeeded', finalResult: 'FULL_SUCCESS' };

/** `effect_key` is the task's code, so that a second effect of the same task is refused by the database. */
export async function makeToyTables(sql: Sql): Promise<void> {
  await sql.change(
    `CREATE TABLE toy_effect (
       id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
       effect_key varchar(200) NOT NULL UNIQUE,
       running_attempt int NOT NULL, worker varchar(80) NOT NULL, slot_no int NOT NULL, fence bigint unsigned NOT NULL,
       written_at datetime(6) NOT NULL
     ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  );
}

export async function writeEffect(
  sql: Sql,
  effectKey: string,
  task: ClaimedTask,
  right: SlotRight,
): Promise<void> {
  await sql.insert(
    `INSERT INTO toy_effect (effect_key, running_attempt, worker, slot_no, fence, written_at)
     VALUES (?, ?, ?, ?, ?, SYSDATE(6))`,
    [effectKey, task.runningAttempt, right.holder, right.slotNo, right.fence],
  );
}

export interface ToyEffect {
  readonly effectKey: string;
  readonly runningAttempt: number;
  readonly worker: string;
  readonly slotNo: number;
  readonly fence: string;
}

/** In the order in which they were written. */
export async function listEffects(sql: Sql): Promise<ToyEffect[]> {
  return sql.many(
    `SELECT effect_key effectKey, running_attempt runningAttempt, worker, slot_no slotNo, fence
       FROM toy_effect ORDER BY id`,
  );
}

export async function effectKeys(sql: Sql): Promise<string[]> {
  return (await listEffects(sql)).map((effect) => effect.effectKey);
}

export class ToyHandler implements StageHandler {
  readonly stage: StageName;
  /** The codes of each call of `work`, those that were rolled back too. */
  readonly calls: string[][] = [];
  readonly halts: string[] = [];
  readonly #scripts = new Map<string, Script>();
  #always: Script | null = null;

  // Parts that a test sets where it is about them.
  serialKey?: NonNullable<StageHandler['serialKey']>;
  prepare?: NonNullable<StageHandler['prepare']>;
  around?: NonNullable<StageHandler['around']>;
  onFailure?: (tx: Transaction, task: ClaimedTask, failure: Failure) => Promise<Ending>;
  /** What names a run's effect; the task's code, so that a second effect is a double. */
  effectKey: (task: ClaimedTask) => string = (task) => task.taskCode;
  haltWith: ((tx: Transaction, task: TaskRow, halt: Halt, reason: string) => Promise<void>) | null = null;

  constructor(stage: StageName) {
    this.stage = stage;
  }

  script(taskCode: string, script: Script): void {
    this.#scripts.set(taskCode, script);
  }

  /** For tasks without a script of their own. */
  always(script: Script): void {
    this.#always = script;
  }

  async work(tx: Transaction, tasks: readonly ClaimedTask[], right: SlotRight): Promise<Endings> {
    this.calls.push(tasks.map((task) => task.taskCode));
    const endings = new Map<string, Ending>();
    for (const task of tasks) {
      const script = this.#scripts.get(task.taskCode) ?? this.#always;
      await writeEffect(tx, this.effectKey(task), task, right);
      endings.set(task.id, (await script?.(tx, task, right)) ?? SUCCEEDED);
    }
    return endings;
  }

  async onHalt(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void> {
    this.halts.push(`${task.taskCode} ${halt} ${reason}`);
    await this.haltWith?.(tx, task, halt, reason);
  }
}
