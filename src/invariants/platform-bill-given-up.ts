import { walk } from '../store/invariants/key-ranges.ts';
import { listPlatformBillsGivenUp } from '../store/invariants/ledger-sides.ts';
import { PLATFORM_BILLS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const platformBillGivenUp: InvariantRule = {
  code: 'PLATFORM_BILL_GIVEN_UP',
  targetType: 'PLATFORM_BILL',
  title: 'A bill of ours is in the difference ledger or on its way there',
  looksFor: 'Bills of ours without a difference whose message was cancelled',
  why: 'Nothing says that the partner has sent no bill for a month that we have one for',
  whatToDo: 'Change the bill by POST /admin/api/v1/platform-bills, which sends a new message, or delete it',
  find: (reader) => walk(reader, PLATFORM_BILLS, listPlatformBillsGivenUp),
};
