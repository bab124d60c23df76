import { expect } from 'chai';
import { meaningOfPayment, reversalOf } from '../../src/domain/payment-result.ts';

describe('domain: what a payment means for its order bill', () => {
  const cases: readonly [string, string, { amount: string; paid: string }, string][] = [
    ['DEC-13 in full', '110.00', { amount: '110.00', paid: '0.00' }, 'in-full 110.00'],
    ['DEC-13 in part', '0.01', { amount: '110.00', paid: '0.00' }, 'in-part 0.01'],
    ['DEC-13 the rest of it', '109.99', { amount: '110.00', paid: '0.01' }, 'in-full 110.00'],
    [
      'DEC-13 a cent more than the bill',
      '110.01',
      { amount: '110.00', paid: '0.00' },
      'refused MORE_THAN_THE_BILL',
    ],
    [
      'DEC-13 a cent more than the rest',
      '0.02',
      { amount: '110.00', paid: '109.99' },
      'refused MORE_THAN_THE_BILL',
    ],
    ['DEC-13 nothing', '0.00', { amount: '110.00', paid: '0.00' }, 'refused AMOUNT_NOT_POSITIVE'],
    ['DEC-13 less than nothing', '-1.00', { amount: '110.00', paid: '5.00' }, 'refused AMOUNT_NOT_POSITIVE'],
    ['DEC-13 sums that a binary float would miss', '0.20', { amount: '0.30', paid: '0.10' }, 'in-full 0.30'],
  ];
  for (const [title, now, bill, expected] of cases)
    it(title, () => {
      const meaning = meaningOfPayment(now, bill);
      expect(`${meaning.kind} ${meaning.kind === 'refused' ? meaning.code : meaning.paid}`).to.equal(
        expected,
      );
    });

  it('DEC-13 a reversal takes all of its payment back', () => {
    expect(reversalOf('110.00')).to.equal('-110.00');
  });
});
