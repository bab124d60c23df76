import { expect } from 'chai';
import fc from 'fast-check';
import { amount, maxOfZeroAnd, moneyText, sumOf } from '../../src/domain/money.ts';

describe('money', () => {
  it('DEC-1 is decimal: tenths of cents and sums that a binary float gets wrong', () => {
    expect(moneyText(amount('0.10').plus(amount('0.20')))).to.equal('0.30');
    expect(moneyText(amount('9999999999999999.99').minus(amount('0.01')))).to.equal('9999999999999999.98');
    expect(moneyText(amount('1.005').times(100))).to.equal('100.50');
  });

  it('DEC-1 a million of the largest amounts add up to the cent', () => {
    let sum = amount('0');
    for (let count = 0; count < 1_000; count++) sum = sum.plus(amount('9999999999999999.99').times(1_000));
    expect(moneyText(sum)).to.equal('9999999999999999990000.00');
  });

  it('DEC-1 DEC-6 a missing amount counts 0', () => {
    for (const missing of [null, undefined]) expect(moneyText(amount(missing))).to.equal('0.00');
    expect(moneyText(sumOf(['1.10', null, undefined, '2.20']))).to.equal('3.30');
    expect(moneyText(sumOf([]))).to.equal('0.00');
  });

  it('DEC-17 is written with two decimals and without an exponent, however large or small', () => {
    const texts = ['100', '100.0', '0.01', '1e21', '0.000001', '-3.5'].map((text) => moneyText(amount(text)));
    expect(texts).to.deep.equal(['100.00', '100.00', '0.01', '1000000000000000000000.00', '0.00', '-3.50']);
  });

  it('DEC-1 what is no amount is an error, never a silent 0', () => {
    for (const text of ['', 'abc', '1,00', '1.2.3']) expect(() => amount(text), text).to.throw();
  });

  it('ACC-8 what is less than nothing is nothing', () => {
    expect(['-0.01', '0.00', '0.01'].map((text) => moneyText(maxOfZeroAnd(amount(text))))).to.deep.equal([
      '0.00',
      '0.00',
      '0.01',
    ]);
  });

  it('DEC-1 sums do not depend on the order, and are exact', () => {
    const cents = fc.array(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), { maxLength: 60 });
    const text = (value: bigint) => `${value / 100n}.${String(value % 100n).padStart(2, '0')}`;
    fc.assert(
      fc.property(cents, (values) => {
        const expected = text(values.reduce((sum, value) => sum + value, 0n));
        expect(moneyText(sumOf(values.map(text)))).to.equal(expected);
        expect(moneyText(sumOf(values.map(text).toReversed()))).to.equal(expected);
      }),
    );
  });
});
