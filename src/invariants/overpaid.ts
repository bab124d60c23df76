import { walk } from '../store/invariants/key-ranges.ts';
import { listOverpaidBills } from '../store/invariants/overpaid-bills.ts';
import { PAID_BILLS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const overpaid: InvariantRule = {
  code: 'OVERPAID',
  targetType: 'PARTNER_BILL',
  title: 'No bill is paid beyond its worth',
  looksFor: 'Partner bills whose rent less deduction and freeze is below what has been paid of them',
  why: 'A paid month stays correctable, so a correction can leave a household with more than it is owed',
  whatToDo: 'Agree with the partner on a recovery, or reverse the payment; nothing is taken back by itself',
  find: (reader) => walk(reader, PAID_BILLS, listOverpaidBills),
};
