import { listDoubleLocks } from '../store/invariants/double-locks.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { BILL_LOCKS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const twoLocksForOneMonth: InvariantRule = {
  code: 'TWO_LOCKS_FOR_ONE_MONTH',
  targetType: 'BILL_LOCK',
  title: 'A station-month is occupied once',
  looksFor: 'Two live locks for one platform station and month',
  why: 'Two submits may pay the same bill',
  whatToDo:
    'Hold back both payments. See which submit is the right one, and release the lock of the other (COMPENSATION_RELEASE)',
  find: (reader) => walk(reader, BILL_LOCKS, listDoubleLocks),
};
