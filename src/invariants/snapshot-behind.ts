import { walk } from '../store/invariants/key-ranges.ts';
import { listSnapshotsBehind } from '../store/invariants/snapshots-behind.ts';
import { SNAPSHOTS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const snapshotBehind: InvariantRule = {
  code: 'SNAPSHOT_BEHIND',
  targetType: 'SNAPSHOT',
  title: 'The read model is as new as its difference',
  looksFor:
    'Snapshots with an older financial version or another projection than their difference, with no refresh on its way',
  why: 'Bills are chosen for payment from the snapshots',
  whatToDo: 'Ask for the snapshots of the partner and month again (POST /admin/api/v1/snapshots)',
  find: (reader) => walk(reader, SNAPSHOTS, listSnapshotsBehind),
};
