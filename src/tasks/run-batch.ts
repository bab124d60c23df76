/**
 * Running a claimed batch. Batches are speed only: whatever runs together leaves the database as one by one would
 * (ENG-15). So a batch is a series of rounds without two tasks of the same serial key, each one transaction; a round that
 * breaks is halved until the culprit stands alone, and its failure is then recorded in a round of its own (ENG-13).
 *
 * An error does not say whether the commit was made: its answer may have been lost. The slot row says it, since each
 * commit moves its lease on and names what is in hand; so it is looked at before anything is done about the error.
 */
import { FencedOutError } from '../errors.ts';
import { listHeldTasks } from '../store/held-tasks.ts';
import { extendSlotIfHeld } from '../store/slots.ts';
import { NEW_READ_COMMITTED } from '../store/transaction.ts';
import { type Claim, NOT_ASKED } from './claim-tasks.ts';
import { lockSlotOrFence, type Round, runRound, type Sight, type Turn } from './run-round.ts';
import type { ClaimedTask, StageHandler } from './stage-handler.ts';

/**
 * @returns the next batch, claimed in the transaction that finished this one. What is in hand when the process stops is
 * left in the slot, for whoever gives it back.
 * @throws FencedOutError, or what keeps the database from being reached
 */
export async function runBatch(turn: Turn, tasks: readonly ClaimedTask[]): Promise<Claim> {
  let rounds = roundsOf(turn.handler, tasks);
  let next = NOT_ASKED;
  while (rounds.length > 0 && !turn.engine.stopping.aborted) {
    const [round, ...rest] = rounds as [Round, ...Round[]];
    const sight: Sight = { begun: false, slot: null };
    try {
      const outcome = await runRound(turn, round, tasksOf(rest), sight);
      next = outcome.next;
      rounds = outcome.continuing.length === 0 ? rest : [workOf(outcome.continuing), ...rest];
    } catch (error) {
      rounds = await afterError(turn, round, rest, sight, error);
    }
  }
  return next;
}

/** What is to be done instead of a round that broke. */
async function afterError(
  turn: Turn,
  round: Round,
  rest: readonly Round[],
  sight: Sight,
  error: unknown,
): Promise<Round[]> {
  const slotNeverSeen = sight.begun && sight.slot === null;
  if (error instanceof FencedOutError || slotNeverSeen) throw error;
  const committed = await findCommitted(turn, sight);
  if (committed === null) return [...nextTry(turn, round, error), ...rest];
  turn.engine.observer.trouble(`a commit at ${turn.right.stage}, whose answer was lost`, error);
  return roundsOf(turn.handler, committed);
}

/**
 * Null: nothing was committed. Else what is in hand since that commit. Either way the lease is moved on: lock waits and
 * rounds that are halved take time, and a slot that was lost to a mere wait would count as a crash (ENG-12).
 */
async function findCommitted({ engine, right }: Turn, sight: Sight): Promise<readonly ClaimedTask[] | null> {
  return engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const slot = await lockSlotOrFence(tx, right);
    await extendSlotIfHeld(tx, right, engine.limits.slotLeaseMs, slot.taskIds);
    if (sight.slot === null || sight.slot.leaseEnd === slot.leaseEnd) return null;
    return listHeldTasks(tx, { ids: slot.taskIds, slotNo: right.slotNo, fence: right.fence });
  });
}

/** Smaller, then alone and recorded, then put off; a fault that survives even that is not about these tasks. */
function nextTry({ engine, right }: Turn, { tasks, broken }: Round, error: unknown): Round[] {
  if (broken === null && tasks.length > 1) {
    engine.observer.batchHalved(right.stage);
    return halves(tasks).map(workOf);
  }
  if (broken === null) return [{ tasks, broken: { thrown: error, notRecorded: null } }];
  if (broken.notRecorded !== null) throw error;
  engine.observer.trouble(`recording a failure of ${tasks[0]?.taskCode ?? 'nothing'}`, error);
  return [{ tasks, broken: { thrown: broken.thrown, notRecorded: error } }];
}

/** Rounds in which no serial key occurs twice; order within a key is kept. */
function roundsOf(handler: StageHandler, tasks: readonly ClaimedTask[]): Round[] {
  const rounds: ClaimedTask[][] = [];
  const seen = new Map<string, number>();
  for (const task of tasks) {
    const key = handler.serialKey?.(task) ?? task.id;
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    const tasksOfRound = rounds[number] ?? [];
    rounds[number] = tasksOfRound;
    tasksOfRound.push(task);
  }
  return rounds.map(workOf);
}

function workOf(tasks: readonly ClaimedTask[]): Round {
  return { tasks, broken: null };
}

function tasksOf(rounds: readonly Round[]): ClaimedTask[] {
  return rounds.flatMap((round) => round.tasks);
}

function halves(tasks: readonly ClaimedTask[]): [ClaimedTask[], ClaimedTask[]] {
  const middle = Math.ceil(tasks.length / 2);
  return [tasks.slice(0, middle), tasks.slice(middle)];
}
