import { expect } from 'chai';
import { eventMonth, isMonth, shanghaiMonth } from '../../src/domain/month.ts';

const MARCH = Date.UTC(2026, 2, 15);
const APRIL = Date.UTC(2026, 3, 15);

describe('months', () => {
  it('DEC-2 a month is YYYY-MM with a month that exists', () => {
    for (const text of ['2026-01', '2026-12', '1999-09']) expect(isMonth(text), text).to.equal(true);
    for (const text of [
      '2026-00',
      '2026-13',
      '2026-1',
      '26-01',
      '2026/01',
      '2026-01 ',
      '2026-011',
      '',
      '２０２６-01',
    ])
      expect(isMonth(text), text).to.equal(false);
  });

  it('DEC-2 a month ends at midnight in Shanghai, eight hours before UTC’s, in summer as in winter', () => {
    for (const month of [0, 6]) {
      const midnight = Date.UTC(2026, month, 31, 16);
      expect(shanghaiMonth(midnight - 1)).to.equal(`2026-0${month + 1}`);
      expect(shanghaiMonth(midnight)).to.equal(`2026-0${month + 2}`);
    }
    expect(shanghaiMonth(Date.UTC(2026, 11, 31, 16)), 'and a year').to.equal('2027-01');
  });

  const order: [what: string, candidates: Parameters<typeof eventMonth>[0], month: string | null][] = [
    ['the first candidate, if it is valid', [MARCH, APRIL], '2026-03'],
    ['as text too', [String(MARCH), APRIL], '2026-03'],
    ['the second, if the first is missing', [null, APRIL], '2026-04'],
    ['the third, if the others are invalid', [0, '3801234567890123456', APRIL], '2026-04'],
    ['none, if all are missing', [null, undefined, ''], null],
    ['none, if there are no candidates', [], null],
  ];
  for (const [what, candidates, month] of order) {
    it(`DIF-3 ${what}`, () => {
      expect(eventMonth(candidates)).to.equal(month);
    });
  }

  const bounds: [what: string, candidate: string | number, month: string | null][] = [
    ['the first instant of 2000', Date.UTC(2000, 0, 1), '2000-01'],
    ['the millisecond before it', Date.UTC(2000, 0, 1) - 1, null],
    ['the last of 2099 in UTC, which is 2100 in Shanghai', Date.UTC(2100, 0, 1) - 1, '2100-01'],
    ['the first instant of 2100', Date.UTC(2100, 0, 1), null],
    ['seconds instead of milliseconds', Math.floor(MARCH / 1000), null],
    ['microseconds', `${MARCH}000`, null],
    ['zero', '0', null],
    ['a negative number', String(-MARCH), null],
    ['half a millisecond', `${MARCH}.5`, null],
    ['words', 'yesterday', null],
    ['a date', '2026-03-15', null],
    ['not a number', Number.NaN, null],
    ['for ever', Number.POSITIVE_INFINITY, null],
  ];
  for (const [what, candidate, month] of bounds) {
    it(`DIF-3 ${what} is ${month ?? 'not valid'}`, () => {
      expect(eventMonth([candidate])).to.equal(month);
    });
  }

  it('DIF-3 never "now"', () => {
    expect(eventMonth([undefined, null, '', 'now'])).to.equal(null);
  });
});
