/** Steps that a task may meet, done by the engine on the real database and by the model in memory; then both are compared. */
import { expect } from 'chai';
import fc from 'fast-check';
import { TaskStatus } from '../../src/domain/task-status.ts';
import { BusyError, Failure, FencedOutError } from '../../src/errors.ts';
import type { SlotRight } from '../../src/store/slots.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { acceptTasks } from '../../src/tasks/accept-tasks.ts';
import { claimTasks } from '../../src/tasks/claim-tasks.ts';
import { giveBack } from '../../src/tasks/give-back.ts';
import { runBatch } from '../../src/tasks/run-batch.ts';
import { lockSlotOrFence } from '../../src/tasks/run-round.ts';
import { runTasks } from '../../src/tasks/run-tasks.ts';
import type { ClaimedTask } from '../../src/tasks/stage-handler.ts';
import { cancelTask, resumeTask, stopTask } from '../../src/tasks/steer-task.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { endLease, PARTNER, STAGE, seedOf, slotOf, type TestEngine } from './engine.ts';
import { type Fate, type ModelTask, RETRIES_MAX, type TaskModel } from './task-model.ts';
import { effectKeys } from './toy-handler.ts';

/** What a worker believes to have. */
interface Hand {
  readonly right: SlotRight;
  readonly tasks: readonly ClaimedTask[];
}

export interface RealTasks {
  readonly store: Store;
  readonly made: TestEngine;
  /** By slot number; kept when the lease is over. */
  readonly hands: Map<number, Hand>;
  /** Of workers whose slots others have taken since. */
  readonly lost: Hand[];
}

type Act = (model: TaskModel, real: RealTasks) => Promise<void>;

class Step implements fc.AsyncCommand<TaskModel, RealTasks> {
  readonly #text: string;
  readonly #isPossible: (model: TaskModel) => boolean;
  readonly #act: Act;

  constructor(text: string, isPossible: (model: TaskModel) => boolean, act: Act) {
    this.#text = text;
    this.#isPossible = isPossible;
    this.#act = act;
  }

  check(model: TaskModel): boolean {
    return this.#isPossible(model);
  }

  async run(model: TaskModel, real: RealTasks): Promise<void> {
    await this.#act(model, real);
    await compare(model, real);
  }

  toString(): string {
    return this.#text;
  }
}

const CODES = ['a', 'b', 'c', 'd', 'e'];
const FATES: readonly Fate[] = ['succeeds', 'fails', 'refuses', 'is busy', 'gives up'];
const actor = 'operator-1';

const anyCode = fc.constantFrom(...CODES);
const anySlot = fc.constantFrom(1, 2);
/** Of each task by its code. */
const anyFates = fc.array(fc.constantFrom(...FATES, 'fails', 'succeeds'), {
  minLength: CODES.length,
  maxLength: CODES.length,
});

const accept = anyCode.map(
  (code) =>
    new Step(
      `accept ${code}`,
      () => true,
      async (model, { store }) => {
        model.accept(code);
        await store.transaction(NEW_READ_COMMITTED, (tx) =>
          acceptTasks(tx, [seedOf(code, { maxRetryCount: RETRIES_MAX })]),
        );
      },
    ),
);

const take = anySlot.map(
  (slotNo) =>
    new Step(
      `take slot ${slotNo}`,
      () => true,
      async (model, real) => {
        const before = real.hands.get(slotNo);
        const wasLost = model.slot(slotNo).state === 'lease over';
        const taken = await takeSlot(real.made.engine, slotOf(slotNo));
        expect(taken !== null, 'taken').to.equal(model.take(slotNo));
        if (taken === null) return;
        if (wasLost && before !== undefined) real.lost.push(before);
        real.hands.set(slotNo, { right: taken.right, tasks: taken.claim.tasks });
      },
    ),
);

const claim = anySlot.map(
  (slotNo) =>
    new Step(
      `claim in slot ${slotNo}`,
      (model) => model.slot(slotNo).state === 'held' && model.slot(slotNo).tasks.length === 0,
      async (model, real) => {
        const { engine } = real.made;
        const { right } = real.hands.get(slotNo)!;
        model.claim(slotNo);
        const { tasks } = await real.store.transaction(NEW_READ_COMMITTED, async (tx) => {
          await lockSlotOrFence(tx, right);
          return claimTasks(engine, tx, right, 50);
        });
        real.hands.set(slotNo, { right, tasks });
      },
    ),
);

/** With the slice over nothing is claimed; else the next batch is, in the same transaction. */
const work = fc.tuple(anySlot, anyFates, fc.boolean()).map(([slotNo, fates, goesOn]) => {
  const fateOf = (code: string) => fates[CODES.indexOf(code)]!;
  return new Step(
    `work in slot ${slotNo}: ${CODES.map((code) => `${code} ${fateOf(code)}`).join(', ')}${goesOn ? '; go on' : ''}`,
    (model) => model.slot(slotNo).state === 'held' && model.slot(slotNo).tasks.length > 0,
    async (model, real) => {
      const hand = real.hands.get(slotNo)!;
      // What is due later is put off by the test itself, after the step; so a step that goes on must leave nothing of it.
      const claims = goesOn && hand.tasks.every((task) => fateOf(task.taskCode) === 'succeeds');
      model.work(slotNo, (task) => fateOf(task.code));
      if (claims) model.claim(slotNo);
      const next = await runHand(real, hand, fateOf, !claims);
      real.hands.set(slotNo, { right: hand.right, tasks: next });
    },
  );
});

async function runHand(
  { made }: RealTasks,
  { right, tasks }: Hand,
  fateOf: (code: string) => Fate,
  over: boolean,
): Promise<readonly ClaimedTask[]> {
  const { engine, toy } = made;
  toy.effectKey = (task) => `${task.taskCode}#${task.runningAttempt}`;
  toy.always(async (_tx, task) => {
    const fate = fateOf(task.taskCode);
    if (fate === 'fails') throw new Failure('BROKE', 'It broke');
    if (fate === 'refuses') throw new Failure('REFUSED', 'It never will', { retryable: false });
    if (fate === 'is busy') throw new BusyError('something');
    if (fate === 'gives up') return { kind: 'cancelled', code: 'GIVEN_UP', message: 'It gave up' };
  });
  const turn = { engine, handler: toy, right, limits: { isOver: () => over } };
  return (await runBatch(turn, tasks)).tasks;
}

/** ENG-9: whoever lost the slot, to the clock or to another, writes nothing. */
const workWithoutRight = fc.tuple(anySlot, fc.boolean()).map(
  ([slotNo, givesBack]) =>
    new Step(
      `${givesBack ? 'give back' : 'work'} without a right, in slot ${slotNo}`,
      (model) => model.slot(slotNo).state === 'lease over',
      async (_model, real) => {
        const hands = givesBack ? real.lost : [real.hands.get(slotNo)!, ...real.lost];
        for (const hand of hands) {
          if (!givesBack && hand.tasks.length === 0) continue;
          const done = givesBack
            ? giveBack(real.made.engine, hand.right)
            : runHand(real, hand, () => 'succeeds', true);
          const thrown = await done.then(
            () => null,
            (error: unknown) => error,
          );
          expect(thrown).to.be.instanceOf(FencedOutError);
        }
      },
    ),
);

/** Also after the lease, as long as nobody has taken the slot: whoever can give it back has not crashed. */
const giveSlotBack = anySlot.map(
  (slotNo) =>
    new Step(
      `give slot ${slotNo} back`,
      (model) => model.slot(slotNo).state !== 'free',
      async (model, real) => {
        model.giveBack(slotNo);
        await giveBack(real.made.engine, real.hands.get(slotNo)!.right);
        real.hands.delete(slotNo);
      },
    ),
);

const loseSlot = anySlot.map(
  (slotNo) =>
    new Step(
      `the lease of slot ${slotNo} ends`,
      (model) => model.slot(slotNo).state === 'held',
      async (model, real) => {
        model.slot(slotNo).state = 'lease over';
        await endLease(real.store, slotOf(slotNo), 'now');
      },
    ),
);

const timePasses = fc.constant(
  new Step(
    'time passes',
    (model) => model.tasks.some((task) => task.due === null),
    async (model, { store }) => {
      model.timePasses();
      await fixDueTimes(store, model);
    },
  ),
);

function steer(
  name: string,
  inModel: (model: TaskModel, task: ModelTask) => string,
  inReal: (real: RealTasks, taskCode: string) => Promise<{ kind: string }>,
) {
  return anyCode.map(
    (code) =>
      new Step(
        `${name} ${code}`,
        (model) => model.find(code) !== undefined,
        async (model, real) => {
          const expected = inModel(model, model.find(code)!);
          expect((await inReal(real, code)).kind, `${name} ${code}`).to.equal(expected);
        },
      ),
  );
}

const stop = steer(
  'stop',
  (model, task) => model.stop(task),
  ({ made }, taskCode) => stopTask(made.engine, { taskCode, actor }),
);
const resume = steer(
  'resume',
  (model, task) => model.resume(task),
  ({ made }, taskCode) => resumeTask(made.engine, { taskCode, actor }),
);
const cancel = steer(
  'cancel',
  (model, task) => model.cancel(task),
  ({ made }, taskCode) => cancelTask(made.engine, { taskCode, actor, reason: 'no longer wanted' }),
);

const runByHand = fc.uniqueArray(anyCode, { minLength: 1 }).map(
  (codes) =>
    new Step(
      `run by hand ${codes.join(', ')}`,
      () => true,
      async (model, real) => {
        const tasks = model.tasks.filter((task) => codes.includes(task.code));
        const expected = model.runByHand(tasks);
        const run = { stage: STAGE, taskCodes: codes, businessKeys: null };
        const { items } = await runTasks(real.made.engine, run, 0);
        expect(items.map((item) => [item.taskCode, item.outcome])).to.deep.equal(
          tasks.map((task, at) => [task.code, expected[at] ? 'STILL_WAITING' : 'SKIPPED']),
        );
      },
    ),
);

const pause = fc.boolean().map(
  (paused) =>
    new Step(
      paused ? 'pause the stage' : 'resume the stage',
      (model) => model.paused !== paused,
      async (model, { store }) => {
        model.paused = paused;
        await setStagePaused(store, STAGE, paused, actor);
      },
    ),
);

export const taskSteps: fc.Arbitrary<fc.AsyncCommand<TaskModel, RealTasks>>[] = [
  accept,
  accept,
  take,
  take,
  claim,
  work,
  work,
  work,
  workWithoutRight,
  giveSlotBack,
  loseSlot,
  loseSlot,
  timePasses,
  stop,
  resume,
  cancel,
  runByHand,
  pause,
];

async function compare(model: TaskModel, { store, made }: RealTasks): Promise<void> {
  const tasks = await readTasks(store);
  expect(tasks.map(({ due, ...task }) => task)).to.deep.equal(model.tasks.map(({ due, ...task }) => task));
  for (const [at, task] of model.tasks.entries()) {
    const due = tasks[at]!.due;
    if (task.status !== 'PENDING' && task.status !== 'FAILED') continue;
    expect(due, `whether ${task.code} is due`).to.equal(task.due === null ? 'later' : 'now');
  }
  expect(await readSlots(store)).to.deep.equal(
    model.slots.map(({ state, fence, tasks: held }) => ({
      state,
      fence,
      tasks: held.map(({ code }) => code),
    })),
  );
  expect(await effectKeys(store)).to.deep.equal(model.effects);
  expect(made.toy.halts).to.deep.equal(model.halts);
  await fixDueTimes(store, model);
}

async function readTasks(store: Store): Promise<(Omit<ModelTask, 'due'> & { due: 'now' | 'later' })[]> {
  const rows = await store.many<Record<string, never>>(
    `SELECT task_code code, status, activation, retry_count retries, crash_count crashes, running_attempt attempt,
            manually_due manual, busy_since IS NOT NULL busy, error_code error,
            next_execute_time > update_time later, r.task_id IS NOT NULL stopRequested
       FROM fi_async_task t LEFT JOIN task_stop_request r ON r.task_id = t.id ORDER BY t.id`,
  );
  const nameOf = (status: number) => Object.entries(TaskStatus).find(([, value]) => value === status)![0];
  return rows.map((row) => ({
    code: row.code!,
    status: nameOf(Number(row.status)) as ModelTask['status'],
    stopped: Number(row.activation) === 0,
    retries: Number(row.retries),
    crashes: Number(row.crashes),
    attempt: Number(row.attempt),
    manual: Number(row.manual) === 1,
    busy: Number(row.busy) === 1,
    error: row.error!,
    stopRequested: Number(row.stopRequested) === 1,
    due: Number(row.later) === 1 ? 'later' : 'now',
  }));
}

async function readSlots(store: Store) {
  const rows = await store.many<{
    holder: string | null;
    leaseOver: string;
    fence: string;
    taskIds: string[] | null;
  }>(
    `SELECT holder, COALESCE(lease_end <= SYSDATE(3), 0) leaseOver, fence, task_ids taskIds FROM stage_slot
      WHERE stage = ? AND partner_org_id = ? ORDER BY slot_no`,
    [STAGE, PARTNER],
  );
  const codes = await store.many<{ id: string; code: string }>(
    'SELECT id, task_code code FROM fi_async_task',
  );
  const codeOf = new Map(codes.map(({ id, code }) => [id, code]));
  return rows.map((row) => ({
    state: row.holder === null ? 'free' : Number(row.leaseOver) === 1 ? 'lease over' : 'held',
    fence: Number(row.fence),
    tasks: (row.taskIds ?? []).map((id) => codeOf.get(id)),
  }));
}

/** Time stands still between steps: due times are those of the model's order, in the past or far away. */
async function fixDueTimes(store: Store, model: TaskModel): Promise<void> {
  for (const task of model.tasks)
    await store.change(
      `UPDATE fi_async_task SET next_execute_time = IF(? IS NULL, update_time + INTERVAL 1 YEAR, '2001-01-01' + INTERVAL ? SECOND)
        WHERE task_code = ?`,
      [task.due, task.due, task.code],
    );
}
