import { walk } from '../store/invariants/key-ranges.ts';
import { listProjectionsOff } from '../store/invariants/projections-off.ts';
import { DIFFERENCES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const projectionNotFacts: InvariantRule = {
  code: 'PROJECTION_NOT_FACTS',
  targetType: 'DIFFERENCE',
  title: 'Status, paid and payable follow from bill and payments',
  looksFor:
    'Differences whose status, paid or payable amount is another than bill, verification, payment flow and payments say, with no refresh on its way',
  why: 'Payment chooses by these values: too much is offered for payment, or too little',
  whatToDo: 'Ask for a full refresh of the partner; if the finding stays, report it as a fault of ours',
  find: (reader) => walk(reader, DIFFERENCES, listProjectionsOff),
};
