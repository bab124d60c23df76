import { listRowsNotConserved } from '../store/invariants/coverage-conserved.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { PUSHED_ROWS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const coverageConserved: InvariantRule = {
  code: 'COVERAGE_CONSERVED',
  targetType: 'PUSHED_ROW',
  title: 'Every pushed row is somewhere, with its money',
  looksFor: 'Pushed rows without a place, or with another rent in their place than was pushed',
  why: 'Rows or money would be missing from every funnel',
  whatToDo: 'Report it as a fault of ours; the receipt says what the partner was told',
  find: (reader) => walk(reader, PUSHED_ROWS, listRowsNotConserved),
};
