/**
 * Running a claimed batch. Batches are speed only: whatever runs together leaves the database as one by one would
 * (ENG-15). So a batch is a series of rounds without two tasks of the same serial key; a round that breaks is halved
 * until the culprit stands alone; and every round is one transaction that first locks the slot (ENG-9), honours stop
 * requests (ENG-14), works, writes the endings, and, in the last round, claims the next batch (ENG-8).
 */
import { routeOf } from '../../queues/route.ts';
import { monotonicMs } from '../clock.ts';
import { BusyError, Failure, FencedOutError, toFailure } from '../errors.ts';
import { extendSlotIfHeld, lockSlotIfHeld, type SlotRight } from '../store/slots.ts';
import { listStopRequests, removeStopRequests } from '../store/stage-control.ts';
import { handBackIfRunning, lockRunningTasks, stopIfRunning } from '../store/tasks.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import { type Claim, claimTasks, NOTHING_CLAIMED } from './claim-tasks.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask, Ending, Endings, StageHandler } from './stage-handler.ts';
import { type EndCounts, writeEndings } from './write-endings.ts';

/** ENG-13: when work that found a lease or guard busy is due again. */
const BUSY_DUE_IN_MS = 500;

/** What the turn says about going on, asked at each boundary. */
export interface TurnLimits {
  /** No further batch is claimed and no further step begun: the slice is over, or the process stops. */
  isOver(): boolean;
}

interface Round {
  readonly tasks: readonly ClaimedTask[];
  /** The tasks of later rounds: still in hand, so still named in the slot row. */
  readonly later: readonly ClaimedTask[];
}

/** @returns the next batch, claimed in the same transaction that finished this one. @throws FencedOutError */
export async function runBatch(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  tasks: readonly ClaimedTask[],
  limits: TurnLimits,
): Promise<Claim> {
  const pending: (readonly ClaimedTask[])[] = roundsOf(handler, tasks);
  let next = NOTHING_CLAIMED;
  while (pending.length > 0) {
    const current = pending.shift()!;
    const round: Round = { tasks: current, later: pending.flat() };
    try {
      const outcome = await runRound(engine, handler, right, round, limits);
      next = outcome.next;
      if (outcome.continuing.length > 0) pending.unshift(outcome.continuing);
    } catch (error) {
      if (error instanceof FencedOutError) throw error;
      if (current.length > 1) {
        engine.observer.batchHalved(right.stage);
        pending.unshift(...halves(current));
      } else {
        const outcome = await recordFailure(engine, handler, right, current[0]!, error, round.later, limits);
        next = outcome.next;
        if (outcome.continuing.length > 0) pending.unshift(outcome.continuing);
      }
    }
  }
  return next;
}

interface RoundOutcome {
  readonly next: Claim;
  readonly continuing: readonly ClaimedTask[];
}

async function runRound(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  round: Round,
  limits: TurnLimits,
): Promise<RoundOutcome> {
  if (handler.around === undefined) return runTransaction(engine, handler, right, round, limits);
  let outcome: RoundOutcome | null = null;
  const busy = await handler.around(round.tasks, async (free) => {
    outcome = await runTransaction(
      engine,
      handler,
      right,
      { tasks: free, later: round.later },
      limits,
      except(round.tasks, free),
    );
  });
  if (outcome !== null) return outcome;
  return runTransaction(engine, handler, right, { tasks: [], later: round.later }, limits, busy);
}

/** One transaction of work. `busy` are tasks whose leases others hold: handed back in the same commit. */
async function runTransaction(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  round: Round,
  limits: TurnLimits,
  busy: readonly ClaimedTask[] = [],
): Promise<RoundOutcome> {
  const startedMs = monotonicMs();
  let counts: EndCounts = new Map();
  const outcome = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await lockSlotOrFence(tx, right);
    if (busy.length > 0) await handBackIfRunning(tx, busy, { dueInMs: BUSY_DUE_IN_MS, busy: true });
    const going = await honourStopRequests(tx, round.tasks);
    const over = limits.isOver();
    const endings = going.length === 0 ? new Map<string, Ending>() : await handler.work(tx, going, right);
    counts = await writeEndings(engine, tx, going, over ? withoutContinuing(endings) : endings);
    const continuing = over ? [] : going.filter((task) => endings.get(task.id)?.kind === 'continues');
    return { next: await goOn(engine, tx, right, [...continuing, ...round.later], over), continuing };
  });
  for (const [label, tasks] of counts)
    engine.observer.ended(right.stage, label, tasks, monotonicMs() - startedMs);
  return outcome;
}

async function lockSlotOrFence(tx: Transaction, right: SlotRight): Promise<void> {
  if (await lockSlotIfHeld(tx, right)) return;
  throw new FencedOutError(
    `slot ${right.slotNo} of partner ${right.partnerOrgId} at ${right.stage}, fence ${right.fence}`,
  );
}

/** @returns the tasks that nobody asked to stop. */
async function honourStopRequests(
  tx: Transaction,
  tasks: readonly ClaimedTask[],
): Promise<readonly ClaimedTask[]> {
  const asked = await listStopRequests(
    tx,
    tasks.map((task) => task.id),
  );
  if (asked.size === 0) return tasks;
  const stopped = tasks.filter((task) => asked.has(task.id));
  await stopIfRunning(tx, stopped);
  await removeStopRequests(tx, [...asked]);
  return tasks.filter((task) => !asked.has(task.id));
}

/** At the end of a slice a task with more steps goes back, due at once; that counts nothing (ENG-11). */
function withoutContinuing(endings: Endings): Endings {
  const handBack: Ending = { kind: 'postponed', dueInMs: 0, finalResult: 'RUNNING' };
  return new Map([...endings].map(([id, ending]) => [id, ending.kind === 'continues' ? handBack : ending]));
}

/**
 * The work has rolled back; what became of it is written in another transaction, by the same attempt (ENG-13). A task of
 * many steps may go on after it: with a smaller step, or past what was skipped (ACC-10).
 */
async function recordFailure(
  engine: Engine,
  handler: StageHandler,
  right: SlotRight,
  task: ClaimedTask,
  thrown: unknown,
  later: readonly ClaimedTask[],
  limits: TurnLimits,
): Promise<RoundOutcome> {
  const startedMs = monotonicMs();
  let counts: EndCounts = new Map();
  const outcome = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    await lockSlotOrFence(tx, right);
    const over = limits.isOver();
    const endings = await endingsOfFailure(handler, tx, task, thrown);
    counts = await writeEndings(
      engine,
      tx,
      endings.size === 0 ? [] : [task],
      over ? withoutContinuing(endings) : endings,
    );
    const continuing = over || endings.get(task.id)?.kind !== 'continues' ? [] : [task];
    return { next: await goOn(engine, tx, right, [...continuing, ...later], over), continuing };
  });
  tellTrouble(engine, task, thrown);
  for (const [label, tasks] of counts)
    engine.observer.ended(right.stage, label, tasks, monotonicMs() - startedMs);
  return outcome;
}

/** The transaction's last writes: what is still in hand stays named in the slot; else the next batch is claimed. */
async function goOn(
  engine: Engine,
  tx: Transaction,
  right: SlotRight,
  inHand: readonly ClaimedTask[],
  over: boolean,
): Promise<Claim> {
  if (inHand.length === 0 && !over) return claimTasks(engine, tx, right, routeOf(right.stage).claimSizeMax);
  await extendSlotIfHeld(
    tx,
    right,
    engine.limits.slotLeaseMs,
    inHand.map((task) => task.id),
  );
  return NOTHING_CLAIMED;
}

/** Where the commit was made but its answer was lost, the task is finished already and there is no failure to record. */
async function endingsOfFailure(
  handler: StageHandler,
  tx: Transaction,
  task: ClaimedTask,
  thrown: unknown,
): Promise<Endings> {
  const stillRunning = await lockRunningTasks(tx, [task]);
  return stillRunning.length === 0
    ? new Map()
    : new Map([[task.id, await endingOf(handler, tx, task, thrown)]]);
}

/** What the business knows (a locked month, a busy guard) is in the task row; only the unexpected is reported. */
function tellTrouble(engine: Engine, task: ClaimedTask, thrown: unknown): void {
  if (thrown instanceof BusyError || (thrown instanceof Failure && thrown.reach !== 'platform')) return;
  engine.observer.trouble(`${task.stage} ${task.taskCode}`, thrown);
}

async function endingOf(
  handler: StageHandler,
  tx: Transaction,
  task: ClaimedTask,
  thrown: unknown,
): Promise<Ending> {
  if (thrown instanceof BusyError) return { kind: 'postponed', dueInMs: BUSY_DUE_IN_MS, busy: true };
  const failure = toFailure(thrown);
  return handler.onFailure === undefined ? { kind: 'failed', failure } : handler.onFailure(tx, task, failure);
}

/** Rounds in which no serial key occurs twice; order within a key is kept. */
function roundsOf(handler: StageHandler, tasks: readonly ClaimedTask[]): ClaimedTask[][] {
  const rounds: ClaimedTask[][] = [];
  const seen = new Map<string, number>();
  for (const task of tasks) {
    const key = handler.serialKey?.(task) ?? task.id;
    const round = seen.get(key) ?? 0;
    seen.set(key, round + 1);
    const tasksOfRound = rounds[round] ?? [];
    rounds[round] = tasksOfRound;
    tasksOfRound.push(task);
  }
  return rounds;
}

function halves(tasks: readonly ClaimedTask[]): [ClaimedTask[], ClaimedTask[]] {
  const middle = Math.ceil(tasks.length / 2);
  return [tasks.slice(0, middle), tasks.slice(middle)];
}

function except(tasks: readonly ClaimedTask[], others: readonly ClaimedTask[]): ClaimedTask[] {
  const ids = new Set(others.map((task) => task.id));
  return tasks.filter((task) => !ids.has(task.id));
}
