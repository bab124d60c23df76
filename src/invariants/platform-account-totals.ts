import { listPlatformAccountsOff } from '../store/invariants/account-totals.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { PLATFORM_ACCOUNTS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const platformAccountTotals: InvariantRule = {
  code: 'PLATFORM_ACCOUNT_TOTALS',
  targetType: 'PLATFORM_ACCOUNT',
  title: 'An account of ours is the sum of its bills',
  looksFor:
    'Platform accounts whose totals are not those of their bills, with no refresh of the account on its way',
  why: 'People and reports read the account, not its bills',
  whatToDo: 'Ask for a full refresh of the partner: it works the totals out anew',
  find: (reader) => walk(reader, PLATFORM_ACCOUNTS, listPlatformAccountsOff),
};
