import { expect } from 'chai';
import { exceedsMoney, pushCode, totalsMismatches } from '../../src/domain/push-outcome.ts';

describe('what is said of a push as a whole', () => {
  const codes: [requested: number, accepted: number, code: string][] = [
    [0, 0, 'SKIPPED'],
    [3, 3, 'ACCEPTED'],
    [3, 2, 'PARTIALLY_ACCEPTED'],
    [3, 0, 'REJECTED'],
  ];
  for (const [requested, accepted, code] of codes) {
    it(`ING-5 ${accepted} of ${requested} rows: ${code}`, () => {
      expect(pushCode({ requested, accepted, refused: requested - accepted })).to.equal(code);
    });
  }

  const found = { count: 3, cents: 30_050n };
  it('ING-9 totals that add up, or are not sent, are no mismatch', () => {
    expect(totalsMismatches({ count: 3, amount: '300.50' }, found)).to.deep.equal([]);
    expect(totalsMismatches({ count: null, amount: null }, found)).to.deep.equal([]);
  });

  it('ING-9 each total that does not add up is told with both numbers', () => {
    expect(totalsMismatches({ count: 4, amount: '300.51' }, found)).to.deep.equal([
      { field: 'totalCount', stated: '4', found: '3' },
      { field: 'totalAmount', stated: '300.51', found: '300.50' },
    ]);
  });

  it('DEC-1 more than a column holds is noticed', () => {
    expect(exceedsMoney(999_999_999_999_999_999n)).to.equal(false);
    expect(exceedsMoney(1_000_000_000_000_000_000n)).to.equal(true);
  });
});
