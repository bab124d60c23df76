import { expect } from 'chai';
import fc from 'fast-check';
import type { DifferenceStatus } from '../../src/domain/difference.ts';
import { type Summarised, summaryMoves } from '../../src/domain/summary-moves.ts';

const row = (rest: Partial<Summarised> = {}): Summarised => ({
  projectCompanyId: '1',
  shareMonth: '2026-01',
  status: 'MATCHED',
  partnerRent: '120.00',
  platformRent: '120.00',
  diffRent: '0.00',
  ...rest,
});
const nothing = {
  differences: 0,
  matched: 0,
  mismatched: 0,
  partnerOnly: 0,
  platformOnly: 0,
  partnerRent: '0.00',
  platformRent: '0.00',
  diffRent: '0.00',
};

describe('what a message moves in the monthly summaries', () => {
  const counted: [DifferenceStatus, keyof typeof nothing][] = [
    ['MATCHED', 'matched'],
    ['MISMATCHED', 'mismatched'],
    ['PARTNER_ONLY', 'partnerOnly'],
    ['PLATFORM_ONLY', 'platformOnly'],
  ];
  for (const [status, name] of counted) {
    it(`DIF-9 a new difference that is ${status} counts as one, and with its rents`, () => {
      expect(summaryMoves([], [row({ status, diffRent: '-3.50' })])).to.deep.equal([
        {
          ...nothing,
          projectCompanyId: '1',
          shareMonth: '2026-01',
          differences: 1,
          [name]: 1,
          partnerRent: '120.00',
          platformRent: '120.00',
          diffRent: '-3.50',
        },
      ]);
    });
  }

  it('DIF-9 a changed difference moves by new minus old, counts nothing twice', () => {
    const before = row({ status: 'PARTNER_ONLY', platformRent: '0.00', diffRent: '120.00' });
    const after = row({ status: 'MISMATCHED', partnerRent: '130.10', diffRent: '10.10' });
    expect(summaryMoves([before], [after])).to.deep.equal([
      {
        ...nothing,
        projectCompanyId: '1',
        shareMonth: '2026-01',
        partnerOnly: -1,
        mismatched: 1,
        partnerRent: '10.10',
        platformRent: '120.00',
        diffRent: '-109.90',
      },
    ]);
  });

  it('DIF-9 a difference that is written as it was moves nothing', () => {
    const [move] = summaryMoves([row()], [row()]);
    expect(move).to.deep.include(nothing);
  });

  it('DIF-9 a station that changed its project company leaves the old one and joins the new one', () => {
    const moves = summaryMoves([row({ projectCompanyId: '2' })], [row({ projectCompanyId: '1' })]);
    expect(moves.map((move) => [move.projectCompanyId, move.differences, move.partnerRent])).to.deep.equal([
      ['1', 1, '120.00'],
      ['2', -1, '-120.00'],
    ]);
  });

  it('DIF-9 ENG-17 one move for each company and month, ascending as numbers: the order of their locks', () => {
    const rows = ['10', '9', '10', '9007199254740993', '9007199254740992'].flatMap((projectCompanyId) =>
      ['2026-02', '2026-01'].map((shareMonth) => row({ projectCompanyId, shareMonth })),
    );
    expect(summaryMoves([], rows).map((move) => `${move.projectCompanyId} ${move.shareMonth}`)).to.deep.equal(
      [
        '9 2026-01',
        '9 2026-02',
        '10 2026-01',
        '10 2026-02',
        '9007199254740992 2026-01',
        '9007199254740992 2026-02',
        '9007199254740993 2026-01',
        '9007199254740993 2026-02',
      ],
    );
  });

  it('DIF-9 sums of cents are exact, however many', () => {
    const rows = Array.from({ length: 1_000 }, () =>
      row({ partnerRent: '0.10', platformRent: '0.20', diffRent: '-0.10' }),
    );
    expect(summaryMoves([], rows)[0]).to.include({
      partnerRent: '100.00',
      platformRent: '200.00',
      diffRent: '-100.00',
    });
  });

  it('DIF-9 moved step by step, the summaries are what the ledger’s last state adds up to', () => {
    const states = fc.array(
      fc.record({
        projectCompanyId: fc.constantFrom('1', '2'),
        shareMonth: fc.constantFrom('2026-01', '2026-02'),
        status: fc.constantFrom<DifferenceStatus>('MATCHED', 'MISMATCHED', 'PARTNER_ONLY', 'PLATFORM_ONLY'),
        partnerRent: fc.integer({ min: 0, max: 10_000 }).map((cents) => (cents / 100).toFixed(2)),
        platformRent: fc.constant('1.00'),
        diffRent: fc.constant('0.01'),
      }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(states, (history) => {
        const cents = new Map<string, number>();
        const count = new Map<string, number>();
        history.forEach((state, step) => {
          for (const move of summaryMoves(history.slice(0, step).slice(-1), [state])) {
            const key = `${move.projectCompanyId}/${move.shareMonth}`;
            cents.set(key, (cents.get(key) ?? 0) + Math.round(Number(move.partnerRent) * 100));
            count.set(key, (count.get(key) ?? 0) + move.differences);
          }
        });
        const last = history.at(-1)!;
        for (const [key, sum] of cents) {
          const isLast = key === `${last.projectCompanyId}/${last.shareMonth}`;
          expect(sum).to.equal(isLast ? Math.round(Number(last.partnerRent) * 100) : 0);
          expect(count.get(key)).to.equal(isLast ? 1 : 0);
        }
      }),
    );
  });
});
