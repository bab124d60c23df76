import { foundOf } from '../store/invariants/found.ts';
import { listDeadSlots } from '../store/invariants/ownerless-rights.ts';
import type { InvariantRule } from './rule.ts';

export const slotWithoutOwner: InvariantRule = {
  code: 'SLOT_WITHOUT_OWNER',
  targetType: 'SLOT',
  title: 'A held slot has a living holder',
  looksFor: 'Slots whose lease has been over for a minute without anybody having taken them over',
  why: 'The partner works with fewer slots than it may, and the tasks of the dead holder wait',
  whatToDo:
    'See that a scheduler and a worker of this stage are running: the scan wakes such slots every second',
  find: async (reader) => foundOf(await listDeadSlots(reader)),
};
