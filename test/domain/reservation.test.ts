import { expect } from 'chai';
import {
  type BillToReserve,
  isPassing,
  judgeReservation,
  type Reservation,
} from '../../src/domain/reservation.ts';

const ORDER = { paymentOrderId: '5', publishedVersion: '2' };

const payable: BillToReserve = {
  basis: { rent: '120.00', deduction: '10.00', freeze: null, paid: '0.00', partnerQueryStatus: 'VERIFIED' },
  paymentEnabled: true,
  preRentCheckResult: null,
  underWay: false,
  lock: null,
};
const based = (basis: Partial<NonNullable<BillToReserve['basis']>>): BillToReserve => ({
  ...payable,
  basis: { ...payable.basis!, ...basis },
});
const lockedAs = (paymentOrderId: string, dataVersion: string) => ({
  ...payable,
  lock: { lockId: '9', paymentOrderId, dataVersion },
});
const refused = (reason: string): Reservation => ({ kind: 'refuse', reason });

describe('domain: what may be reserved for payment', () => {
  const cases: readonly [string, BillToReserve, Reservation][] = [
    ['DEC-11 a payable bill, for what is payable now', payable, { kind: 'reserve', amount: '110.00' }],
    [
      'DEC-11 the remainder of one paid in part',
      based({ paid: '30.00' }),
      { kind: 'reserve', amount: '80.00' },
    ],
    ['DEC-11 not one that is gone', { ...payable, basis: null }, refused('BILL_GONE')],
    [
      'DEC-11 not one pushed again and not verified since',
      based({ partnerQueryStatus: 'NOT_VERIFIED' }),
      refused('NOT_VERIFIED'),
    ],
    ['DEC-11 not an unqualified one', based({ partnerQueryStatus: 'UNQUALIFIED' }), refused('UNQUALIFIED')],
    ['DEC-11 not a paid one', based({ paid: '110.00' }), refused('PAID')],
    ['DEC-11 not one of which nothing is payable', based({ freeze: '110.00' }), refused('SETTLED')],
    ['DEC-11 not of a disabled partner', { ...payable, paymentEnabled: false }, refused('NOT_APPLICABLE')],
    [
      'DEC-11 not one whose pre-rent check failed',
      { ...payable, preRentCheckResult: 'FAIL' },
      refused('PRE_RENT_FAILED'),
    ],
    [
      'DEC-11 one whose pre-rent check passed',
      { ...payable, preRentCheckResult: 'PASS' },
      { kind: 'reserve', amount: '110.00' },
    ],
    ['DEC-24 not one with work under way', { ...payable, underWay: true }, refused('WORK_UNDER_WAY')],
    ['PAY-3 not one of another order, which is named', lockedAs('6', '2'), refused('LOCKED_BY_ORDER:6')],
    ['PAY-3 one that its published version holds is kept', lockedAs('5', '2'), { kind: 'keep' }],
    ['PAY-3 one that a failed attempt still holds is waited for', lockedAs('5', '3'), { kind: 'wait' }],
    [
      'PAY-3 another order is named before anything else is said of it',
      { ...lockedAs('6', '1'), underWay: true },
      refused('LOCKED_BY_ORDER:6'),
    ],
    [
      'PAY-3 a kept one must be payable too',
      { ...lockedAs('5', '2'), underWay: true },
      refused('WORK_UNDER_WAY'),
    ],
  ];
  for (const [title, bill, expected] of cases)
    it(title, () => {
      expect(judgeReservation(bill, ORDER)).to.deep.equal(expected);
    });

  it('PAY-3 the reason that names another order fits its column', () => {
    const owner = '18446744073709551615';
    const verdict = judgeReservation(lockedAs(owner, '1'), ORDER);
    expect(verdict.kind === 'refuse' && verdict.reason.length).to.be.at.most(40);
  });

  it('DEC-11 only work under way goes by itself', () => {
    expect(['WORK_UNDER_WAY', 'PAID', 'LOCKED_BY_ORDER:6'].map(isPassing)).to.deep.equal([
      true,
      false,
      false,
    ]);
  });
});
