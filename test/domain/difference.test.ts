import { expect } from 'chai';
import fc from 'fast-check';
import { COMPARED, type Compared, compareSides, type SideAmounts } from '../../src/domain/difference.ts';

const side = (rest: Partial<SideAmounts> = {}): SideAmounts => ({
  settlement: '180.00',
  rent: '120.00',
  preRent: '100.00',
  freeze: '0.00',
  deduction: '10.00',
  ...rest,
});
const ZERO: SideAmounts = {
  settlement: '0.00',
  rent: '0.00',
  preRent: '0.00',
  freeze: '0.00',
  deduction: '0.00',
};

describe('the difference of both sides', () => {
  it('DIF-7 is partner minus platform, for each of the five amounts', () => {
    const { difference, partner, platform } = compareSides(
      side(),
      side({ settlement: '200.00', rent: '119.99', preRent: '100', freeze: '7.5', deduction: '0.00' }),
      '0.00',
    );
    expect(difference).to.deep.equal({
      settlement: '-20.00',
      rent: '0.01',
      preRent: '0.00',
      freeze: '-7.50',
      deduction: '10.00',
    });
    expect(partner.rent).to.equal('120.00');
    expect(platform.rent).to.equal('119.99');
  });

  for (const name of COMPARED) {
    const differing = (by: string) => side({ [name]: by } as Record<Compared, string>);
    const base = differing('50.00');
    const table: [theirs: string, tolerance: string, status: string][] = [
      ['50.00', '0.00', 'MATCHED'],
      ['50.01', '0.00', 'MISMATCHED'],
      ['49.99', '0.00', 'MISMATCHED'],
      ['50.05', '0.05', 'MATCHED'],
      ['49.95', '0.05', 'MATCHED'],
      ['50.06', '0.05', 'MISMATCHED'],
      ['49.94', '0.05', 'MISMATCHED'],
    ];
    it(`DIF-7 DEC-6 ${name} alone decides between MATCHED and MISMATCHED; the tolerance is inclusive, in both directions`, () => {
      for (const [theirs, tolerance, status] of table)
        expect(compareSides(differing(theirs), base, tolerance).status, `${theirs} ± ${tolerance}`).to.equal(
          status,
        );
    });
  }

  it('DEC-6 the tolerance is for each amount by itself, not for their sum', () => {
    const all = Object.fromEntries(COMPARED.map((name) => [name, '1.04'])) as SideAmounts;
    const ours = Object.fromEntries(COMPARED.map((name) => [name, '1.00'])) as SideAmounts;
    expect(compareSides(all, ours, '0.04').status).to.equal('MATCHED');
  });

  const sides: [what: string, SideAmounts | null, SideAmounts | null, status: string, ready: boolean][] = [
    ['both sides, equal', side(), side(), 'MATCHED', true],
    ['both sides, other', side(), side({ rent: '1.00' }), 'MISMATCHED', true],
    ['the partner’s side alone', side(), null, 'PARTNER_ONLY', false],
    ['the partner’s side alone, all 0', ZERO, null, 'PARTNER_ONLY', false],
    ['our side alone', null, side(), 'PLATFORM_ONLY', false],
    ['our side alone, all 0', null, ZERO, 'PLATFORM_ONLY', false],
    ['no side left', null, null, 'MATCHED', false],
  ];
  for (const [what, partner, platform, status, ready] of sides) {
    it(`DIF-7 DIF-9 DEC-7 ${what}: ${status}, ${ready ? 'ready' : 'not ready'}; a missing side counts 0`, () => {
      const compared = compareSides(partner, platform, '0.00');
      expect([compared.status, compared.bothSidesReady]).to.deep.equal([status, ready]);
      if (partner === null) expect(compared.partner).to.deep.equal(ZERO);
      if (platform === null) expect(compared.platform).to.deep.equal(ZERO);
    });
  }

  it('DEC-7 with no side left the row stays, all 0', () => {
    expect(compareSides(null, null, '0.00').difference).to.deep.equal(ZERO);
  });

  it('DIF-7 exact to the cent where a binary float is not', () => {
    const { difference, status } = compareSides(
      side({ rent: '9999999999999999.99' }),
      side({ rent: '9999999999999999.98' }),
      '0.00',
    );
    expect([difference.rent, status]).to.deep.equal(['0.01', 'MISMATCHED']);
  });

  it('DIF-7 swapping the sides turns the signs round and keeps MATCHED and MISMATCHED', () => {
    const amounts = fc.record(
      Object.fromEntries(
        COMPARED.map((name) => [
          name,
          fc.integer({ min: 0, max: 10 ** 9 }).map((cents) => (cents / 100).toFixed(2)),
        ]),
      ) as Record<Compared, fc.Arbitrary<string>>,
    );
    fc.assert(
      fc.property(
        amounts,
        amounts,
        fc.constantFrom('0.00', '0.05', '1000000.00'),
        (one, other, tolerance) => {
          const there = compareSides(one, other, tolerance);
          const back = compareSides(other, one, tolerance);
          expect(back.status).to.equal(there.status);
          for (const name of COMPARED)
            expect(Number(back.difference[name])).to.equal(0 - Number(there.difference[name]));
        },
      ),
    );
  });
});
