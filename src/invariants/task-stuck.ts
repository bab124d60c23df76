import { foundOf } from '../store/invariants/found.ts';
import { listStuckTasks } from '../store/invariants/stuck-tasks.ts';
import type { InvariantRule } from './rule.ts';

export const taskStuck: InvariantRule = {
  code: 'TASK_STUCK',
  targetType: 'TASK',
  title: 'Work that is claimed gets somewhere',
  looksFor:
    'Tasks that were claimed five times without an end or a recorded step, or that have waited five minutes for what another holds',
  why: 'They use up a slot of their partner again and again, and what waits for them waits in vain',
  whatToDo:
    'Read the error of the task. Stop it if it does harm; mend the cause and run it by hand, or cancel it',
  find: async (reader) => foundOf(await listStuckTasks(reader)),
};
