/**
 * What an actor owes the engine: the business of one stage. The engine owes the actor: a locked slot, tasks that are
 * RUNNING under their attempt, one transaction a call, and a counted terminal write for every ending that it returns.
 */

import type { StageName } from '../domain/stage.ts';
import type { FinalResult } from '../domain/task-status.ts';
import type { Failure } from '../errors.ts';
import type { SlotRight } from '../store/slots.ts';
import type { TaskRow } from '../store/tasks.ts';
import type { Transaction } from '../store/transaction.ts';

/** A task that this process runs: RUNNING, under `runningAttempt`, in the held slot. */
export type ClaimedTask = TaskRow;

/** How a task's run ended; written by the engine in the work's own transaction. */
export type Ending =
  | {
      readonly kind: 'succeeded';
      readonly finalResult: Exclude<FinalResult, 'RUNNING'>;
      readonly result?: object;
      /** What was done, for people who read the task's message (LCK-24). */
      readonly summary?: string;
    }
  /** Succeeded unless it was asked for again meanwhile: then PENDING once more (SNP-2). */
  | { readonly kind: 'succeeded-unless-renewed'; readonly result?: object }
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** No failure: due again later; `busy` where another holds a lease or guard (ENG-13). */
  | {
      readonly kind: 'postponed';
      readonly dueInMs: number;
      readonly busy?: boolean;
      readonly error?: { readonly code: string; readonly message: string };
      readonly finalResult?: 'RUNNING';
    }
  /** This step is committed, the task has more of them. */
  | { readonly kind: 'continues' }
  | { readonly kind: 'cancelled'; readonly code: string; readonly message: string };

export type Endings = ReadonlyMap<string, Ending>;

/** What a task that will not go on by itself means for what waits for it (COV-2). */
export type Halt = 'FAILED' | 'CANCELLED' | 'REOPENED';

export interface StageHandler {
  readonly stage: StageName;
  /** Tasks of one batch with equal keys run one after another, in order, each in a transaction of its own (ENG-15). */
  serialKey?(task: ClaimedTask): string;
  /** Work before the first claim of a turn, in transactions of its own under the same right (STA-17). */
  prepare?(right: SlotRight): Promise<void>;
  /**
   * Does the tasks' work in `tx`, whose slot row is locked. Runs again as a whole after a conflict. Whatever it throws
   * rolls everything back; then the batch is halved until the culprit stands alone (ENG-15).
   * @returns an ending for each task.
   */
  work(tx: Transaction, tasks: readonly ClaimedTask[], right: SlotRight): Promise<Endings>;
  /** Around the transaction of `work`: leases that must be held before it begins and given back after it ended (ENG-18). */
  around?(
    tasks: readonly ClaimedTask[],
    run: (free: readonly ClaimedTask[]) => Promise<void>,
  ): Promise<readonly ClaimedTask[]>;
  /** How a failure of this one task ends, in the failure's own transaction; the engine's rule if absent (ENG-13). */
  onFailure?(tx: Transaction, task: ClaimedTask, failure: Failure): Promise<Ending>;
  /** The task stopped going on by itself, or goes on again; in the transaction that makes it so. */
  onHalt?(tx: Transaction, task: TaskRow, halt: Halt, reason: string): Promise<void>;
}

export type HandlerRegistry = ReadonlyMap<StageName, StageHandler>;
