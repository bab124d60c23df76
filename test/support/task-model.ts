/**
 * The life of tasks in two slots, as the rules have it (ENG-1, ENG-5, ENG-8 to ENG-14), in plain memory: what the database
 * must look like after each step. Written apart from the engine, so that the two can disagree.
 */

export const RETRIES_MAX = 3;
const CRASHES_MAX = 3;

/** How the work of one task goes. */
export type Fate = 'succeeds' | 'fails' | 'refuses' | 'is busy' | 'gives up';

type Status = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED' | 'CANCELLED';

export interface ModelTask {
  readonly code: string;
  status: Status;
  stopped: boolean;
  retries: number;
  crashes: number;
  attempt: number;
  manual: boolean;
  busy: boolean;
  /** Its place in the order of due times; equal for those that became due in one statement. Null: due later. */
  due: number | null;
  error: string | null;
  /** A person asked it to stop while it ran. */
  stopRequested: boolean;
}

export interface ModelSlot {
  /** Its holder is gone where the lease is over. */
  state: 'free' | 'held' | 'lease over';
  fence: number;
  tasks: ModelTask[];
}

export class TaskModel {
  readonly tasks: ModelTask[] = [];
  readonly slots: readonly ModelSlot[] = [newSlot(), newSlot()];
  readonly effects: string[] = [];
  readonly halts: string[] = [];
  paused = false;
  #lastDue = 0;

  find(code: string): ModelTask | undefined {
    return this.tasks.find((task) => task.code === code);
  }

  slot(slotNo: number): ModelSlot {
    return this.slots[slotNo - 1]!;
  }

  /** An existing task is returned as it is (ENG-3). */
  accept(code: string): void {
    if (this.find(code) !== undefined) return;
    const fresh = {
      status: 'PENDING',
      stopped: false,
      retries: 0,
      crashes: 0,
      attempt: 0,
      manual: false,
    } as const;
    this.tasks.push({ code, ...fresh, busy: false, due: this.#now(), error: null, stopRequested: false });
  }

  /** Whoever takes a slot that was lost first gives its tasks back, each with a crash more (ENG-11). */
  take(slotNo: number): boolean {
    const slot = this.slot(slotNo);
    if (slot.state === 'held') return false;
    if (slot.state === 'lease over') this.#rescue(slot);
    Object.assign(slot, { state: 'held', fence: slot.fence + 1, tasks: [] });
    this.claim(slotNo);
    return true;
  }

  #rescue(slot: ModelSlot): void {
    const due = this.#now();
    for (const task of slot.tasks) {
      Object.assign(task, { status: 'PENDING', crashes: task.crashes + 1, due });
      if (task.crashes < CRASHES_MAX) continue;
      const retries = Math.max(task.retries, RETRIES_MAX);
      Object.assign(task, { status: 'FAILED', retries, manual: false, error: 'CRASHED' });
      this.halts.push(`${task.code} FAILED CRASHED`);
    }
  }

  /** Due tasks in their order, up to the first that has crashed before; that one alone where it stands first. */
  claim(slotNo: number): void {
    const due = this.tasks
      .filter((task) => !this.paused && isClaimable(task) && task.due !== null)
      .sort(byDue);
    const suspectAt = due.findIndex((task) => task.crashes > 0);
    const chosen = suspectAt === 0 ? due.slice(0, 1) : due.slice(0, suspectAt < 0 ? due.length : suspectAt);
    for (const task of chosen)
      Object.assign(task, { status: 'RUNNING', attempt: task.attempt + 1, error: null });
    this.slot(slotNo).tasks = chosen;
  }

  work(slotNo: number, fateOf: (task: ModelTask) => Fate): void {
    const slot = this.slot(slotNo);
    for (const task of slot.tasks) this.#end(task, fateOf(task));
    slot.tasks = [];
  }

  #end(task: ModelTask, fate: Fate): void {
    if (task.stopRequested) {
      Object.assign(task, { status: 'PENDING', stopped: true, stopRequested: false, busy: false });
      return;
    }
    if (fate === 'succeeds' || fate === 'gives up') this.effects.push(`${task.code}#${task.attempt}`);
    switch (fate) {
      case 'succeeds':
        Object.assign(task, { status: 'SUCCESS', manual: false, busy: false, crashes: 0 });
        return;
      case 'gives up':
        Object.assign(task, { status: 'CANCELLED', retries: RETRIES_MAX, manual: false, busy: false });
        task.error = 'GIVEN_UP';
        this.halts.push(`${task.code} CANCELLED GIVEN_UP`);
        return;
      case 'is busy':
        Object.assign(task, { status: 'PENDING', busy: true, due: null });
        return;
      default:
        this.#fail(task, fate === 'fails');
    }
  }

  #fail(task: ModelTask, retryable: boolean): void {
    const retries = retryable ? task.retries + 1 : Math.max(task.retries + 1, RETRIES_MAX);
    const error = retryable ? 'BROKE' : 'REFUSED';
    Object.assign(task, { status: 'FAILED', retries, manual: false, busy: false, due: null, error });
    if (retries >= RETRIES_MAX) this.halts.push(`${task.code} FAILED ${error}`);
  }

  /** A graceful hand-back counts nothing (ENG-11). */
  giveBack(slotNo: number): void {
    const slot = this.slot(slotNo);
    const due = this.#now();
    for (const task of slot.tasks) Object.assign(task, { status: 'PENDING', due });
    Object.assign(slot, { state: 'free', tasks: [] });
  }

  timePasses(): void {
    for (const task of this.tasks) if (task.due === null) task.due = this.#now();
  }

  stop(task: ModelTask): 'done' | 'requested' | 'refused' {
    if (hasEnded(task)) return 'refused';
    if (task.status === 'RUNNING') task.stopRequested = true;
    else task.stopped = true;
    return task.status === 'RUNNING' ? 'requested' : 'done';
  }

  resume(task: ModelTask): 'done' | 'refused' {
    const wasStopped = task.stopped && !hasEnded(task) && task.status !== 'RUNNING';
    if (!wasStopped && !task.stopRequested) return 'refused';
    if (wasStopped) Object.assign(task, { stopped: false, due: this.#now() });
    task.stopRequested = false;
    return 'done';
  }

  cancel(task: ModelTask): 'done' | 'refused' {
    if (hasEnded(task) || task.status === 'RUNNING') return 'refused';
    const error = 'CANCELLED';
    Object.assign(task, { status: 'CANCELLED', retries: RETRIES_MAX, stopRequested: false, error });
    this.halts.push(`${task.code} CANCELLED CANCELLED`);
    return 'done';
  }

  /** @returns whether it will run: neither ended nor stopped, and not in living hands */
  runByHand(tasks: readonly ModelTask[]): boolean[] {
    const due = this.#now();
    return tasks.map((task) => {
      if (task.status === 'RUNNING') return this.#isLost(task);
      if (hasEnded(task) || task.stopped) return false;
      if (task.status === 'FAILED' && task.retries >= RETRIES_MAX)
        this.halts.push(`${task.code} REOPENED MANUAL_RUN`);
      Object.assign(task, { manual: true, due });
      return true;
    });
  }

  #isLost(task: ModelTask): boolean {
    return this.slots.some((slot) => slot.state === 'lease over' && slot.tasks.includes(task));
  }

  #now(): number {
    return ++this.#lastDue;
  }
}

function newSlot(): ModelSlot {
  return { state: 'free', fence: 0, tasks: [] };
}

function hasEnded(task: ModelTask): boolean {
  return task.status === 'SUCCESS' || task.status === 'CANCELLED';
}

function isClaimable(task: ModelTask): boolean {
  const waits = task.status === 'PENDING' || task.status === 'FAILED';
  return waits && !task.stopped && (task.retries < RETRIES_MAX || task.manual);
}

/** ENG-8: by due time, then retries, then id; tasks are kept in the order of their ids. */
function byDue(left: ModelTask, right: ModelTask): number {
  return left.due! - right.due! || left.retries - right.retries;
}
