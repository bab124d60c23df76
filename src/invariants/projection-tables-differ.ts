import { walk } from '../store/invariants/key-ranges.ts';
import { listProjectionsApart } from '../store/invariants/projections-off.ts';
import { DIFFERENCES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const projectionTablesDiffer: InvariantRule = {
  code: 'PROJECTION_TABLES_DIFFER',
  targetType: 'DIFFERENCE',
  title: 'Both bills and their difference say the same of payment',
  looksFor:
    'Differences whose status, paid or payable amount is not that of their partner bill or our own bill',
  why: 'The three are written together; where they differ, one of them was written by something else',
  whatToDo:
    'Ask for a full refresh of the partner, and find out what wrote the odd one (the operation audit may know)',
  find: (reader) => walk(reader, DIFFERENCES, listProjectionsApart),
};
