import { walk } from '../store/invariants/key-ranges.ts';
import { listMisplacedRows } from '../store/invariants/misplaced-rows.ts';
import { PLACES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const placeDoesNotFit: InvariantRule = {
  code: 'PLACE_DOES_NOT_FIT',
  targetType: 'PUSHED_ROW',
  title: 'A row’s place fits what it became, and something moves it on',
  looksFor:
    'Pushed rows whose place contradicts the receipt, bill, difference or tasks that they name, or that wait for work that is not there',
  why: 'Coverage is counted from the places: one that is wrong tells a partner something that is not so',
  whatToDo:
    'Read the row’s trace. Where the work is gone, ask the partner to push the bill again; report it as a fault of ours',
  find: (reader) => walk(reader, PLACES, listMisplacedRows),
};
