/**
 * Loaded into a real process before its program (`node --import`): ends it with SIGKILL, or freezes it with SIGSTOP, when
 * it comes to one named point between two commits, and tells which points it came by. A point is the function that began
 * a transaction, the stage whose slot the transaction named, and whether its commit is still to come or was just made
 * (before anything that follows a commit); or the function that made a change which commits by itself, and `written`.
 *
 * The program itself has no switch for this and does not know of it.
 */
import { appendFileSync } from 'node:fs';
import { isStageName } from '../../src/domain/stage.ts';
import { SqlRunner } from '../../src/store/sql.ts';
import { Store, type Transaction, type TransactionOptions } from '../../src/store/transaction.ts';

const killAt = process.env.TEST_KILL_POINT ?? '';
const signal = process.env.TEST_KILL_SIGNAL === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL';
/** At which of the times that it comes there. */
const time = Number(process.env.TEST_KILL_TIME ?? '1');
let times = 0;
const pointsFile = process.env.TEST_POINTS_FILE ?? '';

const stageOf = new WeakMap<object, string>();

interface Runner {
  run(statement: string, values: readonly unknown[], answer: 'all' | 'run'): Promise<unknown>;
}
const runner = SqlRunner.prototype as unknown as Runner;
const runStatement = runner.run;
runner.run = async function (statement, values, answer) {
  if (this instanceof Store && answer === 'run') {
    const caller = callerOf(new Error().stack ?? '');
    const result = await runStatement.call(this, statement, values, answer);
    reach(`${caller} written`);
    return result;
  }
  const stage = values.find((value) => typeof value === 'string' && isStageName(value));
  if (stage !== undefined && !stageOf.has(this)) stageOf.set(this, String(stage));
  return runStatement.call(this, statement, values, answer);
};

function reach(point: string): void {
  if (pointsFile !== '') appendFileSync(pointsFile, `${point}\n`);
  if (point === killAt && ++times === time) process.kill(process.pid, signal);
}

const runTransaction = Store.prototype.transaction;
Store.prototype.transaction = function <T>(
  this: Store,
  options: TransactionOptions,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const caller = callerOf(new Error().stack ?? '');
  const come = (tx: object, moment: string) =>
    reach([caller, stageOf.get(tx), moment].filter((part) => part !== undefined).join(' '));
  return runTransaction.call(this, options, async (tx) => {
    // The first of what follows the commit: no kick has left yet.
    tx.afterCommit(() => come(tx, 'committed'));
    const result = await work(tx);
    come(tx, 'before commit');
    return result;
  }) as Promise<T>;
};

/** The innermost function of the program that asked for the transaction, or for the change. */
function callerOf(stack: string): string {
  const frames = stack
    .split('\n')
    .slice(1)
    .filter((frame) => !frame.includes('kill-point.ts') && !frame.includes('store/sql.ts'));
  return /at (?:async )?(?:[\w#.<>]*\.)?#?(\w+)/.exec(frames[0] ?? '')?.[1] ?? 'unknown';
}
