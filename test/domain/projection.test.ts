import { expect } from 'chai';
import fc from 'fast-check';
import { checkPreRent, type ProjectionBasis, project } from '../../src/domain/projection.ts';

/** 120.00 owed, 10.00 recovered, 5.00 withheld: 105.00 of it can be paid. */
const basis = (rest: Partial<ProjectionBasis> = {}): ProjectionBasis => ({
  rent: '120.00',
  deduction: '10.00',
  freeze: '5.00',
  paid: '0.00',
  partnerQueryStatus: 'VERIFIED',
  ...rest,
});

interface Row {
  readonly when: string;
  readonly given: ProjectionBasis | null;
  readonly enabled?: boolean;
  readonly expected: readonly [status: string, paid: string, payable: string];
}

const rows: readonly Row[] = [
  {
    when: 'the payment flow is disabled',
    given: basis(),
    enabled: false,
    expected: ['NOT_APPLICABLE', '0.00', '0.00'],
  },
  {
    when: 'the payment flow is disabled, whatever was paid before',
    given: basis({ paid: '20.00' }),
    enabled: false,
    expected: ['NOT_APPLICABLE', '20.00', '0.00'],
  },
  {
    when: 'verification says so',
    given: basis({ partnerQueryStatus: 'UNQUALIFIED' }),
    expected: ['UNQUALIFIED', '0.00', '0.00'],
  },
  {
    when: 'not verified since the last push',
    given: basis({ partnerQueryStatus: 'NOT_VERIFIED' }),
    expected: ['NOT_VERIFIED', '0.00', '0.00'],
  },
  {
    when: 'no verification was ever written',
    given: basis({ partnerQueryStatus: null }),
    expected: ['NOT_VERIFIED', '0.00', '0.00'],
  },
  { when: 'there is no partner bill', given: null, expected: ['NOT_VERIFIED', '0.00', '0.00'] },
  {
    when: 'all of it is paid',
    given: basis({ paid: '105.00' }),
    expected: ['PAID', '105.00', '0.00'],
  },
  {
    when: 'more is paid than is left of it',
    given: basis({ paid: '105.01' }),
    expected: ['PAID', '105.01', '0.00'],
  },
  {
    when: 'part of it is paid',
    given: basis({ paid: '0.01' }),
    expected: ['PARTIALLY_PAID', '0.01', '104.99'],
  },
  {
    when: 'nothing is left and nothing was paid',
    given: basis({ deduction: '115.00' }),
    expected: ['SETTLED', '0.00', '0.00'],
  },
  {
    when: 'more is recovered than is owed',
    given: basis({ deduction: '500.00' }),
    expected: ['SETTLED', '0.00', '0.00'],
  },
  { when: 'nothing is owed', given: basis({ rent: '0.00' }), expected: ['SETTLED', '0.00', '0.00'] },
  { when: 'something is left', given: basis(), expected: ['PAYABLE', '0.00', '105.00'] },
  {
    when: 'deduction and freeze were never sent',
    given: basis({ deduction: null, freeze: null }),
    expected: ['PAYABLE', '0.00', '120.00'],
  },
  {
    when: 'a payment was reversed in full',
    given: basis({ paid: '0.00' }),
    expected: ['PAYABLE', '0.00', '105.00'],
  },
];

describe('the projection of what is payable', () => {
  for (const { when, given, enabled = true, expected } of rows) {
    it(`ACC-8 ${expected[0]}, ${expected[2]} payable, ${expected[1]} paid: ${when}`, () => {
      const { paymentStatus, paidAmount, currentPayable } = project(given, enabled);
      expect([paymentStatus, paidAmount, currentPayable]).to.deep.equal(expected);
    });
  }

  /** Conditions that can meet, in the order of the table: what comes later must not matter. */
  const precedence: [status: string, change: Partial<ProjectionBasis>, enabled: boolean][] = [
    ['NOT_APPLICABLE', {}, false],
    ['UNQUALIFIED', { partnerQueryStatus: 'UNQUALIFIED' }, true],
    ['NOT_VERIFIED', { partnerQueryStatus: 'NOT_VERIFIED' }, true],
    ['PAID', { paid: '105.00' }, true],
    ['SETTLED', { freeze: '110.00' }, true],
  ];
  precedence.slice(0, -1).forEach(([status, own, enabled], first) => {
    const later = precedence.slice(first + 1);
    it(`ACC-8 DEC-20 ${status} comes before ${later.map(([name]) => name).join(', ')}`, () => {
      for (const [, more] of later)
        expect(project(basis({ ...more, ...own }), enabled).paymentStatus).to.equal(status);
    });
  });

  it('ACC-8 DEC-20 a disabled partner’s station-month without partner bill is NOT_APPLICABLE, not NOT_VERIFIED', () => {
    expect(project(null, false).paymentStatus).to.equal('NOT_APPLICABLE');
  });

  it('ACC-8 never more than is owed and never less than nothing; payable and paid of a verified bill make up what is due', () => {
    const cents = fc.integer({ min: 0, max: 10 ** 15 });
    const text = (value: number) => `${Math.floor(value / 100)}.${String(value % 100).padStart(2, '0')}`;
    fc.assert(
      fc.property(cents, cents, cents, cents, (rent, deduction, freeze, paid) => {
        const { currentPayable, paymentStatus } = project(
          basis({ rent: text(rent), deduction: text(deduction), freeze: text(freeze), paid: text(paid) }),
          true,
        );
        const due = rent - deduction - freeze - paid;
        expect(currentPayable).to.equal(text(Math.max(0, due)));
        expect(['PAYABLE', 'PARTIALLY_PAID'].includes(paymentStatus)).to.equal(due > 0);
      }),
    );
  });
});

describe('the pre-rent check', () => {
  const table: [what: string, deduction: string | null, preRent: string, result: string | null][] = [
    ['below the cumulative pre-rent', '99.99', '100.00', 'PASS'],
    ['equal to it', '100.00', '100.00', 'PASS'],
    ['a cent above it', '100.01', '100.00', 'FAIL'],
    ['nothing recovered, nothing advanced', '0.00', '0.00', 'PASS'],
    ['something recovered, nothing advanced', '0.01', '0.00', 'FAIL'],
    ['compared as numbers, not as text', '9.00', '10.00', 'PASS'],
    ['too large for a binary float', '9007199254740993.01', '9007199254740993.00', 'FAIL'],
    ['no batch deduction', null, '100.00', null],
  ];
  for (const [what, deduction, preRent, result] of table) {
    it(`ACC-8 ${what}: ${result ?? 'not checked'}`, () => {
      expect(checkPreRent(deduction, preRent)?.result ?? null).to.equal(result);
    });
  }

  it('ACC-8 a failed check names both numbers, a passed one has no reason', () => {
    const failed = checkPreRent('100.5', '100.00');
    expect(failed?.reason).to.include('100.50').and.to.include('100.00');
    expect(failed?.reason?.length, 'fits its column').to.be.at.most(255);
    expect(checkPreRent('1.00', '2.00')?.reason).to.equal(null);
  });
});
