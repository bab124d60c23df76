import { walk } from '../store/invariants/key-ranges.ts';
import { listTasksWithoutSlot } from '../store/invariants/ownerless-rights.ts';
import { TASKS_BY_PUSH } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const runningWithoutSlot: InvariantRule = {
  code: 'RUNNING_WITHOUT_SLOT',
  targetType: 'TASK',
  title: 'A running task is in a held slot',
  looksFor: 'Tasks that are RUNNING under a slot and fence that nobody holds',
  why: 'A rescue starts from the slot; such a task is never found and never ends',
  whatToDo:
    'Report it as a fault of ours; until it is mended, push the bills again so that a new task does the work',
  find: (reader) => walk(reader, TASKS_BY_PUSH, listTasksWithoutSlot),
};
