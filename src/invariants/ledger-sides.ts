import { walk } from '../store/invariants/key-ranges.ts';
import { listLedgerSidesOff } from '../store/invariants/ledger-sides.ts';
import { DIFFERENCES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const ledgerSides: InvariantRule = {
  code: 'LEDGER_SIDES',
  targetType: 'DIFFERENCE',
  title: 'A difference says of both sides what their bills say',
  looksFor:
    'Differences with another bill, amount or order number than the bills have now, or that are not partner − platform, while no message is under way',
  why: 'What is matched, and what may be verified and paid, is judged by amounts that are not true any more',
  whatToDo:
    'If the message of a changed bill of ours was cancelled, change the bill again or ask the partner to push the month again; else report it as a fault of ours',
  find: (reader) => walk(reader, DIFFERENCES, listLedgerSidesOff),
};
