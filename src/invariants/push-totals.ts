import { walk } from '../store/invariants/key-ranges.ts';
import { listPushesOff } from '../store/invariants/push-totals.ts';
import { PUSHES_BY_ROWS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const pushTotals: InvariantRule = {
  code: 'PUSH_TOTALS',
  targetType: 'PUSH',
  title: 'A push adds up to its rows',
  looksFor:
    'Pushes whose requested, accepted or refused rows or money are not what their rows’ places add up to',
  why: 'The reply to the partner and the coverage that it is shown later contradict each other',
  whatToDo: 'Compare the receipts with the places of the push; report it as a fault of ours',
  find: (reader) => walk(reader, PUSHES_BY_ROWS, listPushesOff),
};
