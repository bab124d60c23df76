import { listDifferencesWithoutTask } from '../store/invariants/differences-without-task.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { DIFFERENCES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const differenceWithoutTask: InvariantRule = {
  code: 'DIFFERENCE_WITHOUT_TASK',
  targetType: 'DIFFERENCE',
  title: 'A difference of a partner in the payment flow has its account refresh',
  looksFor: 'Differences of payment-enabled partners that no account task names',
  why: 'What is payable is worked out by that task alone; without it the difference stays as it first came',
  whatToDo:
    'Ask for a full refresh of the partner (POST /admin/api/v1/full-refreshes), and report it as a fault of ours',
  find: (reader) => walk(reader, DIFFERENCES, listDifferencesWithoutTask),
};
