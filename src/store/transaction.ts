/**
 * The one place that begins, commits, rolls back and retries.
 *
 * Isolation is READ COMMITTED everywhere: it is the session's level, set when a connection is made and asserted at
 * start, so a transaction costs no statement for it. Propagation is said by the function that is called:
 * `Store.transaction` is REQUIRES_NEW (an outermost transaction of its own), `Transaction.nested` is NESTED (a savepoint).
 * Conflicts (1213 deadlock, 1205 lock wait) run the whole outermost transaction again (ENG-13): a deadlock has
 * already thrown its savepoints away.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  DeadlockException,
  type EntityManager,
  LockWaitTimeoutException,
  type MikroORM,
  TransactionPropagation,
} from '@mikro-orm/mysql';
import { type Sql, SqlRunner, type SqlValue } from './sql.ts';

const CONFLICT_RETRIES_MAX = 5;
const CONFLICT_PAUSE_MS = 40;

export interface TransactionOptions {
  /** Said by every caller, so that a reader sees what it rests on. */
  readonly isolation: 'READ COMMITTED';
  readonly propagation: 'REQUIRES_NEW';
}

/** What every transaction of ours says of itself. */
export const NEW_READ_COMMITTED: TransactionOptions = {
  isolation: 'READ COMMITTED',
  propagation: 'REQUIRES_NEW',
};

type AfterCommit = () => void | Promise<void>;

/** What an outermost transaction and its savepoints share. */
interface Outermost {
  /** A deadlock has ended the transaction in the database, whatever its work made of the error. */
  lost: Error | null;
}

/** A running transaction: statements, callbacks for after the outermost commit, savepoints. */
export class Transaction extends SqlRunner implements Sql {
  readonly em: EntityManager;
  readonly #afterCommit: AfterCommit[];
  readonly #outermost: Outermost;

  constructor(em: EntityManager, afterCommit: AfterCommit[], outermost: Outermost = { lost: null }) {
    super(em);
    this.em = em;
    this.#afterCommit = afterCommit;
    this.#outermost = outermost;
  }

  /** After a deadlock the session would go on without a transaction, each statement committed by itself. */
  protected override async run(
    statement: string,
    values: readonly SqlValue[],
    answer: 'all' | 'run',
  ): Promise<unknown> {
    if (this.#outermost.lost !== null) throw this.#outermost.lost;
    try {
      return await super.run(statement, values, answer);
    } catch (error) {
      if (error instanceof DeadlockException) this.#outermost.lost = error;
      throw error;
    }
  }

  /** Runs after the *outermost* commit, never after a rollback; a failure there is nobody's failure (ENG-7). */
  afterCommit(callback: AfterCommit): void {
    this.#afterCommit.push(callback);
  }

  /** NESTED, READ COMMITTED: a savepoint. What it wanted done after the commit is forgotten if it rolls back. */
  async nested<T>(work: (inner: Transaction) => Promise<T>): Promise<T> {
    const callbacks: AfterCommit[] = [];
    const result = await this.em.transactional(
      async (em) => work(new Transaction(em, callbacks, this.#outermost)),
      {
        propagation: TransactionPropagation.NESTED,
        clear: true,
      },
    );
    this.#afterCommit.push(...callbacks);
    return result;
  }
}

export interface StoreHooks {
  /** Told of each conflict that made a transaction run again. */
  readonly onConflict?: (error: Error) => void;
  /** Told when something that should have followed a commit failed. */
  readonly onAfterCommitError?: (error: unknown) => void;
}

/** The database as the rest of the system sees it: statements outside transactions, and transactions. */
export class Store extends SqlRunner implements Sql {
  readonly orm: MikroORM;
  readonly #hooks: StoreHooks;

  constructor(orm: MikroORM, hooks: StoreHooks = {}) {
    super(orm.em.fork());
    this.orm = orm;
    this.#hooks = hooks;
  }

  /** An EntityManager of its own, for control rows. */
  get em(): EntityManager {
    return this.orm.em.fork();
  }

  /**
   * Runs `work` in an outermost transaction and, after its commit, what it asked for.
   * `work` may run up to six times; it must not have effects outside the database.
   */
  async transaction<T>(_options: TransactionOptions, work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const callbacks: AfterCommit[] = [];
      const outermost: Outermost = { lost: null };
      try {
        const result = await this.#runOnce(work, callbacks, outermost);
        await this.#runAfterCommit(callbacks);
        return result;
      } catch (thrown) {
        const error = outermost.lost ?? thrown;
        if (!isConflict(error) || attempt >= CONFLICT_RETRIES_MAX) throw error;
        this.#hooks.onConflict?.(error as Error);
        await pause(Math.random() * CONFLICT_PAUSE_MS * (attempt + 1));
      }
    }
  }

  #runOnce<T>(
    work: (tx: Transaction) => Promise<T>,
    callbacks: AfterCommit[],
    outermost: Outermost,
  ): Promise<T> {
    return this.orm.em.fork().transactional(
      async (em) => {
        const result = await work(new Transaction(em, callbacks, outermost));
        if (outermost.lost !== null) throw outermost.lost;
        return result;
      },
      { propagation: TransactionPropagation.REQUIRES_NEW, clear: true },
    );
  }

  async #runAfterCommit(callbacks: readonly AfterCommit[]): Promise<void> {
    for (const callback of callbacks) {
      try {
        await callback();
      } catch (error) {
        this.#hooks.onAfterCommitError?.(error);
      }
    }
  }
}

/** Deadlock or lock wait: nobody's failure, the transaction may simply run again (ENG-13). */
export function isConflict(error: unknown): boolean {
  return error instanceof DeadlockException || error instanceof LockWaitTimeoutException;
}

export function isLockWait(error: unknown): boolean {
  return error instanceof LockWaitTimeoutException;
}
