import { listPartnerAccountsOff } from '../store/invariants/account-totals.ts';
import { walk } from '../store/invariants/key-ranges.ts';
import { PARTNER_ACCOUNTS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const partnerAccountTotals: InvariantRule = {
  code: 'PARTNER_ACCOUNT_TOTALS',
  targetType: 'PARTNER_ACCOUNT',
  title: 'A partner account is the sum of its bills',
  looksFor:
    'Partner accounts whose count, totals, cumulative deduction, payable, paid or months are not those of their bills',
  why: 'People and reports read the account, not its bills',
  whatToDo: 'Push any bill of the station again, or ask for a full refresh: both work the totals out anew',
  find: (reader) => walk(reader, PARTNER_ACCOUNTS, listPartnerAccountsOff),
};
