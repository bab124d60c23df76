import { expect } from 'chai';
import { type BillToVerify, faultOfVerdict, type VerdictWish } from '../../src/domain/verification.ts';

const wish: VerdictWish = {
  partnerBillId: '1',
  acceptNo: '7',
  partnerQueryStatus: 'VERIFIED',
  reason: null,
};
const bill: BillToVerify = {
  acceptNo: '7',
  paymentFlow: 'ENABLED',
  platformChangeDue: false,
  difference: { acceptNo: '7', status: 'MATCHED', bothSidesReady: true },
};
const differing = { ...bill, difference: { ...bill.difference!, status: 'MISMATCHED' } };
const unqualified = { ...wish, partnerQueryStatus: 'UNQUALIFIED' as const };

describe('domain: verdicts on bills, every refusal in its order', () => {
  const cases: readonly [string, VerdictWish, BillToVerify | null, string | null][] = [
    ['DEC-8 both sides match', wish, bill, null],
    ['DEC-8 no such bill', wish, null, '404 NO_SUCH_BILL'],
    [
      'DEC-8 pushed again since, whatever else is wrong',
      wish,
      { ...differing, acceptNo: '8', difference: null },
      '409 PUSHED_AGAIN',
    ],
    [
      'DEC-25 no difference',
      wish,
      { ...bill, difference: null, paymentFlow: 'DISABLED' },
      '409 NO_DIFFERENCE',
    ],
    [
      'DEC-25 of a disabled partner',
      wish,
      { ...differing, paymentFlow: 'DISABLED' },
      '409 PAYMENT_NOT_ENABLED',
    ],
    [
      'DEC-25 of a partner whose payment flow is not decided',
      wish,
      { ...bill, paymentFlow: null },
      '409 PAYMENT_NOT_ENABLED',
    ],
    [
      'DEC-8 the difference speaks of an earlier push',
      wish,
      { ...bill, difference: { ...bill.difference!, acceptNo: '6' } },
      '409 DIFFERENCE_BEHIND',
    ],
    [
      'DEC-25 our own bill has changed, and the difference does not say so yet, whatever the reason',
      { ...wish, reason: 'checked on site' },
      { ...bill, platformChangeDue: true },
      '409 DIFFERENCE_BEHIND',
    ],
    ['DEC-25 mismatched, without a reason', wish, differing, '422 REASON_NEEDED'],
    ['DEC-25 mismatched, with a reason', { ...wish, reason: 'checked on site' }, differing, null],
    [
      'DEC-25 one side alone within tolerance',
      wish,
      { ...bill, difference: { ...bill.difference!, bothSidesReady: false } },
      '422 REASON_NEEDED',
    ],
    ['DEC-8 unqualified says why', unqualified, bill, '422 REASON_NEEDED'],
    ['DEC-8 unqualified with its reason', { ...unqualified, reason: 'wrong roof' }, bill, null],
  ];
  for (const [title, asked, seen, expected] of cases)
    it(title, () => {
      const fault = faultOfVerdict(asked, seen);
      expect(fault === null ? null : `${fault.status} ${fault.code}`).to.equal(expected);
    });
});
