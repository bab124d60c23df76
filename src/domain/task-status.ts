/** The life of a task, as stored (ENG-1). */
export const TaskStatus = { PENDING: 0, RUNNING: 1, SUCCESS: 2, FAILED: 3, CANCELLED: 4 } as const;
export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

export const Activation = { STOPPED: 0, ACTIVE: 1 } as const;

export type FinalResult = 'RUNNING' | 'FULL_SUCCESS' | 'PARTIAL_SUCCESS' | 'SPLIT';

const STATUS_NAMES = new Map<number, keyof typeof TaskStatus>(
  Object.entries(TaskStatus).map(([name, value]) => [value, name as keyof typeof TaskStatus]),
);

/** @throws Error for a number that is no status. */
export function taskStatusName(status: number): keyof typeof TaskStatus {
  const name = STATUS_NAMES.get(status);
  if (name === undefined) throw new Error(`${status} is no task status`);
  return name;
}
