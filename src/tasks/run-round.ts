/**
 * One round of a batch: one transaction that first locks the slot (ENG-9), honours stop requests (ENG-14), does the
 * tasks' work or records how it broke (ENG-13), writes the endings (ENG-10), and, if nothing is left in hand, claims the
 * next batch (ENG-8).
 */
import { routeOf } from '../../queues/route.ts';
import { monotonicMs } from '../clock.ts';
import { FencedOutError } from '../errors.ts';
import { handBackIfRunning, stopIfRunning } from '../store/running-tasks.ts';
import { extendSlotIfHeld, lockSlotInHand, type SlotInHand, type SlotRight } from '../store/slots.ts';
import { listStopRequests, removeStopRequests } from '../store/stage-control.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../store/transaction.ts';
import { stopIfWaiting } from '../store/waiting-tasks.ts';
import { type BrokenWork, BUSY_DUE_IN_MS, endingsOfBrokenWork, tellTrouble } from './broken-work.ts';
import { type Claim, claimTasks, NOT_ASKED } from './claim-tasks.ts';
import type { Engine } from './engine.ts';
import type { ClaimedTask, Ending, Endings, StageHandler } from './stage-handler.ts';
import { countEnds, type EndCounts, writeEndings } from './write-endings.ts';

/** A slot in use: who works in it, by what right, and for how long. */
export interface Turn {
  readonly engine: Engine;
  readonly handler: StageHandler;
  readonly right: SlotRight;
  readonly limits: TurnLimits;
}

/** What the turn says about going on, asked at each boundary. */
export interface TurnLimits {
  /** No further batch is claimed and no further step begun: the slice is over, or the process stops. */
  isOver(): boolean;
}

/** Tasks that share a transaction. */
export interface Round {
  readonly tasks: readonly ClaimedTask[];
  /** Null: their work is to be done. Else it broke, with this one task, and that is to be written down. */
  readonly broken: BrokenWork | null;
}

export interface RoundOutcome {
  /** The next batch, claimed in the same transaction. */
  readonly next: Claim;
  /** Tasks with more steps to do. */
  readonly continuing: readonly ClaimedTask[];
}

/** How far a round came, for whoever has to find out what became of it. */
export interface Sight {
  /** The transaction was asked for; before that only leases were. */
  begun: boolean;
  /** The slot as it was found and locked. */
  slot: SlotInHand | null;
}

/** @param later the tasks of later rounds: still in hand, so still named in the slot. @throws FencedOutError */
export async function runRound(
  turn: Turn,
  round: Round,
  later: readonly ClaimedTask[],
  sight: Sight,
): Promise<RoundOutcome> {
  const { broken } = round;
  if (broken !== null) return recordBrokenWork(turn, round, broken, later, sight);
  if (turn.handler.around === undefined) return doWork(turn, round.tasks, [], later, sight);
  return doWorkInside(turn, turn.handler.around.bind(turn.handler), round.tasks, later, sight);
}

/** ENG-18: inside the leases. Tasks whose leases others hold go back in the same commit. */
async function doWorkInside(
  turn: Turn,
  around: NonNullable<StageHandler['around']>,
  tasks: readonly ClaimedTask[],
  later: readonly ClaimedTask[],
  sight: Sight,
): Promise<RoundOutcome> {
  const committed: RoundOutcome[] = [];
  try {
    await around(tasks, async (free) => {
      committed.push(await doWork(turn, free, except(tasks, free), later, sight));
    });
  } catch (error) {
    if (committed.length === 0) throw error;
    // The work is done; leases that could not be given back end by themselves.
    turn.engine.observer.trouble(`after work at ${turn.right.stage}`, error);
  }
  return committed[0] ?? doWork(turn, [], tasks, later, sight);
}

async function doWork(
  turn: Turn,
  free: readonly ClaimedTask[],
  busy: readonly ClaimedTask[],
  later: readonly ClaimedTask[],
  sight: Sight,
): Promise<RoundOutcome> {
  return commitRound(turn, sight, async (tx, counts) => {
    const asked = await honourStopRequests(tx, [...free, ...busy], counts);
    const waiting = busy.filter((task) => !asked.has(task.id));
    if (waiting.length > 0) {
      await handBackIfRunning(tx, waiting, { dueInMs: BUSY_DUE_IN_MS, busy: true });
      countEnds(counts, 'postponed', waiting.length);
    }
    const going = free.filter((task) => !asked.has(task.id));
    const endings: Endings = going.length === 0 ? new Map() : await turn.handler.work(tx, going, turn.right);
    return endRound(turn, tx, counts, { tasks: going, endings, later, over: turn.limits.isOver() });
  });
}

/**
 * The work has rolled back; what became of it is written in another transaction, by the same attempt (ENG-13). A task
 * of many steps may go on after it: with a smaller step, or past what was skipped (ACC-10). The slice's end does not
 * keep it from that, or a step too large for a slice would be begun anew in each.
 */
async function recordBrokenWork(
  turn: Turn,
  { tasks }: Round,
  broken: BrokenWork,
  later: readonly ClaimedTask[],
  sight: Sight,
): Promise<RoundOutcome> {
  const { engine } = turn;
  const outcome = await commitRound(turn, sight, async (tx, counts) => {
    const endings = await endingsOfBrokenWork(turn.handler, tx, tasks, broken);
    const goesOn = [...endings.values()].some((ending) => ending.kind === 'continues');
    const over = goesOn ? engine.stopping.aborted : turn.limits.isOver();
    const ended = await endRound(turn, tx, counts, { tasks, endings, later, over });
    if (ended.continuing.length === 0) await stopIfAsked(tx, tasks);
    return ended;
  });
  tellTrouble(engine, tasks, broken.thrown);
  return outcome;
}

/** The transaction around a round, and what is told of it once it has committed. */
async function commitRound(
  { engine, right }: Turn,
  sight: Sight,
  work: (tx: Transaction, counts: EndCounts) => Promise<RoundOutcome>,
): Promise<RoundOutcome> {
  const startedMs = monotonicMs();
  let counts: EndCounts = new Map();
  sight.begun = true;
  const outcome = await engine.store.transaction(NEW_READ_COMMITTED, async (tx) => {
    counts = new Map();
    sight.slot = await lockSlotOrFence(tx, right);
    return work(tx, counts);
  });
  for (const [label, tasks] of counts)
    engine.observer.ended(right.stage, label, tasks, monotonicMs() - startedMs);
  return outcome;
}

/** @throws FencedOutError where the slot is another's by now, or its lease is over */
export async function lockSlotOrFence(tx: Transaction, right: SlotRight): Promise<SlotInHand> {
  const slot = await lockSlotInHand(tx, right);
  if (slot !== null) return slot;
  throw new FencedOutError(
    `slot ${right.slotNo} of partner ${right.partnerOrgId} at ${right.stage}, fence ${right.fence}`,
  );
}

/** The terminal writes, then the transaction's last one: what stays in hand is named in the slot, or more is claimed. */
async function endRound(
  { engine, right }: Turn,
  tx: Transaction,
  counts: EndCounts,
  end: {
    readonly tasks: readonly ClaimedTask[];
    readonly endings: Endings;
    readonly later: readonly ClaimedTask[];
    readonly over: boolean;
  },
): Promise<RoundOutcome> {
  const { tasks, over } = end;
  const endings = over ? withoutContinuing(end.endings) : end.endings;
  await writeEndings(engine, tx, tasks, endings, counts);
  const continuing = tasks.filter((task) => endings.get(task.id)?.kind === 'continues');
  const inHand = [...continuing, ...end.later];
  if (inHand.length === 0 && !over)
    return { next: await claimTasks(engine, tx, right, routeOf(right.stage).claimSizeMax), continuing };
  await extendSlotIfHeld(
    tx,
    right,
    engine.limits.slotLeaseMs,
    inHand.map((task) => task.id),
  );
  return { next: NOT_ASKED, continuing };
}

/** At the end of a slice a task with more steps goes back, due at once; that counts nothing (ENG-11). */
function withoutContinuing(endings: Endings): Endings {
  const handBack: Ending = { kind: 'postponed', dueInMs: 0, finalResult: 'RUNNING' };
  return new Map([...endings].map(([id, ending]) => [id, ending.kind === 'continues' ? handBack : ending]));
}

/** Before the work: whoever was asked to stop does. @returns their ids */
async function honourStopRequests(
  tx: Transaction,
  tasks: readonly ClaimedTask[],
  counts: EndCounts,
): Promise<ReadonlySet<string>> {
  const asked = await listStopRequests(
    tx,
    tasks.map((task) => task.id),
  );
  if (asked.size === 0) return asked;
  await stopIfRunning(
    tx,
    tasks.filter((task) => asked.has(task.id)),
  );
  await removeStopRequests(tx, [...asked]);
  countEnds(counts, 'stopped', asked.size);
  return asked;
}

/** After a recorded failure: it stands as recorded, and is not tried again until it is resumed. */
async function stopIfAsked(tx: Transaction, tasks: readonly ClaimedTask[]): Promise<void> {
  const asked = await listStopRequests(
    tx,
    tasks.map((task) => task.id),
  );
  for (const id of asked) await stopIfWaiting(tx, id);
  await removeStopRequests(tx, [...asked]);
}

function except(tasks: readonly ClaimedTask[], others: readonly ClaimedTask[]): ClaimedTask[] {
  const ids = new Set(others.map((task) => task.id));
  return tasks.filter((task) => !ids.has(task.id));
}
