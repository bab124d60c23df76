import { walk } from '../store/invariants/key-ranges.ts';
import { listLocksWithoutSubmit } from '../store/invariants/locks-without-submit.ts';
import { BILL_LOCKS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const lockWithoutSubmit: InvariantRule = {
  code: 'LOCK_WITHOUT_SUBMIT',
  targetType: 'BILL_LOCK',
  title: 'A live bill lock belongs to a live submit',
  looksFor:
    'Locks that are RESERVED or ACTIVE although their submit failed, was cancelled, voided or never existed, and no release of it is on its way',
  why: 'The partner cannot correct such a month and nobody can pay it, for as long as the lock lives',
  whatToDo:
    'Find out how the submit ended. If it is over, run its release task by hand, or accept one (COMPENSATION_RELEASE, with a written reason)',
  find: (reader) => walk(reader, BILL_LOCKS, listLocksWithoutSubmit),
};
