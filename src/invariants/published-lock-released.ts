import { walk } from '../store/invariants/key-ranges.ts';
import { BILL_LOCKS } from '../store/invariants/walked-keys.ts';
import { listWronglyReleasedLocks } from '../store/invariants/wrongly-released-locks.ts';
import type { InvariantRule } from './rule.ts';

export const publishedLockReleased: InvariantRule = {
  code: 'PUBLISHED_LOCK_RELEASED',
  targetType: 'BILL_LOCK',
  title: 'No failure frees what was published',
  looksFor:
    'Locks of a published version that were released with the reason of a failed, cancelled or rejected submit',
  why: 'The bill is being paid by the published version, and another submit can choose it again',
  whatToDo:
    'Hold back any later submit of this station-month, see whether it was paid twice, and report it as a fault of ours',
  find: (reader) => walk(reader, BILL_LOCKS, listWronglyReleasedLocks),
};
