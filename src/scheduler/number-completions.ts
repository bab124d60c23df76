/**
 * Numbers the completions of pushes (COV-4): a push that nothing is under way of gets its next number, with what it had come
 * to. The state itself stays what the rows' places say; this only writes down that, and when, it was so.
 *
 * Starts from the open pushes alone. Of each it remembers one row that was under way; while that row is, nothing else of
 * the push is read. Only where no row is left is the whole push added up, under the open push's row, so that two
 * schedulers number nothing twice, and a retry that comes at the same time opens it anew.
 */
import { type Completion, completionOf } from '../domain/completion.ts';
import { insertCompletion } from '../store/completions.ts';
import { readPlaces } from '../store/coverage.ts';
import {
  closePush,
  findWaitingRow,
  listOpenPushes,
  lockOpenPush,
  rememberWaitingRow,
} from '../store/open-pushes.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import type { SchedulerJob } from './scheduler.ts';

/** Looked at in one statement, and in one run; the next run goes on behind them. */
const LOOKED_AT_MAX = 1_000;
/** Read further than their remembered row in one run. */
const READ_MAX = 50;
const BEFORE_ALL = '0';

export interface ToldCompletion extends Completion {
  readonly pushId: string;
  readonly number: number;
}

export interface CompletionOptions {
  readonly everyMs: number;
  /** Told after the commit, so that a success told is a success. */
  readonly onCompleted: (completion: ToldCompletion) => void;
}

export function numberCompletions({ everyMs, onCompleted }: CompletionOptions): SchedulerJob {
  let after = BEFORE_ALL;
  return {
    name: 'number-completions',
    everyMs,
    runOnce: async ({ store }) => {
      const open = await listOpenPushes(store, after, LOOKED_AT_MAX);
      const moved = open.filter((push) => !push.waits);
      for (const push of moved.slice(0, READ_MAX))
        await lookAtPush(store, push.pushId, push.waitsForRow, onCompleted);
      after = nextStart(open, moved);
    },
  };
}

/** Behind what was done; from the start again where that was all. */
function nextStart(open: readonly { pushId: string }[], moved: readonly { pushId: string }[]): string {
  if (moved.length > READ_MAX) return moved[READ_MAX - 1]!.pushId;
  return open.length === LOOKED_AT_MAX ? open.at(-1)!.pushId : BEFORE_ALL;
}

async function lookAtPush(
  store: Store,
  pushId: string,
  fromRow: number,
  onCompleted: CompletionOptions['onCompleted'],
): Promise<void> {
  const waiting = await findWaitingRow(store, pushId, fromRow);
  if (waiting !== null) return rememberWaitingRow(store, pushId, waiting);
  await store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const completed = await completePush(tx, pushId);
    if (completed !== null) tx.afterCommit(() => onCompleted(completed));
  });
}

/** @returns null where it is judged by another, or is under way */
export async function completePush(tx: Transaction, pushId: string): Promise<ToldCompletion | null> {
  if (!(await lockOpenPush(tx, pushId))) return null;
  const { groups } = await readPlaces(tx, pushId);
  const completion = completionOf(groups);
  if (completion === null) {
    // A row before the remembered one goes on again.
    await rememberWaitingRow(tx, pushId, (await findWaitingRow(tx, pushId, 0)) ?? 0);
    return null;
  }
  const number = await insertCompletion(tx, pushId, completion);
  await closePush(tx, pushId);
  return { pushId, number, ...completion };
}
