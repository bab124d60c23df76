import { expect } from 'chai';
import fc from 'fast-check';
import {
  AMOUNT_PATTERN,
  centsText,
  PRICE_PATTERN,
  RATIO_PATTERN,
  toCents,
  toDecimals,
} from '../../src/domain/as-written.ts';

describe('decimals as written', () => {
  const amounts: [text: string, normalised: string | null][] = [
    ['0', '0.00'],
    ['100', '100.00'],
    ['100.0', '100.00'],
    ['100.00', '100.00'],
    ['100.5', '100.50'],
    ['007.5', '7.50'],
    ['00', '0.00'],
    ['0.01', '0.01'],
    ['9999999999999999.99', '9999999999999999.99'],
    ['10000000000000000', null],
    ['12345678901234567', null],
    ['1.005', null],
    ['-1', null],
    ['-0', null],
    ['+1', null],
    ['1e2', null],
    ['1E2', null],
    ['1.', null],
    ['.5', null],
    [' 1', null],
    ['1 ', null],
    ['1\n', null],
    ['1,00', null],
    ['1_000', null],
    ['', null],
    ['NaN', null],
    ['Infinity', null],
    ['0x10', null],
    ['１００', null],
    ['٣', null],
  ];
  for (const [text, normalised] of amounts) {
    it(`DEC-17 amount ${JSON.stringify(text)} is ${normalised ?? 'refused'}`, () => {
      expect(AMOUNT_PATTERN.test(text) ? toDecimals(text, 2) : null).to.equal(normalised);
    });
  }

  const ratios: [string, boolean][] = [
    ['0', true],
    ['1', true],
    ['0.85', true],
    ['0.123456', true],
    ['1.000000', true],
    ['0.1234567', false],
    ['1.000001', false],
    ['2', false],
    ['00.5', false],
    ['-0.5', false],
    ['5e-1', false],
  ];
  for (const [text, right] of ratios) {
    it(`DEC-1 share ratio ${text} is ${right ? 'taken' : 'refused'}`, () => {
      expect(RATIO_PATTERN.test(text)).to.equal(right);
    });
  }

  it('DEC-1 a unit price has at most twelve digits and six decimals', () => {
    expect(PRICE_PATTERN.test('999999999999.999999')).to.equal(true);
    expect(PRICE_PATTERN.test('1000000000000')).to.equal(false);
    expect(PRICE_PATTERN.test('0.1234567')).to.equal(false);
  });

  it('DEC-17 cents and text are one another', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), (cents) => {
        expect(toCents(centsText(cents))).to.equal(cents);
      }),
    );
  });

  it('DEC-17 however an amount is written, it is the same content', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 0, max: 9 }), fc.nat({ max: 5 }), (whole, tenth, zeros) => {
        const padded = '0'.repeat(zeros) + whole;
        expect(toDecimals(`${padded}.${tenth}`, 2)).to.equal(toDecimals(`${whole}.${tenth}0`, 2));
      }),
    );
  });
});
