import { listBillsWithoutDifference } from '../store/invariants/bills-without-difference.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { PARTNER_BILLS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const billWithoutDifference: InvariantRule = {
  code: 'BILL_WITHOUT_DIFFERENCE',
  targetType: 'PARTNER_BILL',
  title: 'A committed bill is in the difference ledger or on its way there',
  looksFor:
    'Partner bills without a difference, whose pushed row neither waits for one nor says why there is none',
  why: 'The bill was taken in and then lost: it is compared with nothing and never becomes payable',
  whatToDo: 'Ask the partner to push the bill again, and report the push and row as a fault of ours',
  find: (reader) => walk(reader, PARTNER_BILLS, listBillsWithoutDifference),
};
