import { expect } from 'chai';
import { stationOutcome } from '../../src/domain/station-outcome.ts';

describe('the station outcome of a push', () => {
  const table: [what: string, total: number, first: number, succeeded: number, outcome: string | null][] = [
    ['an empty push', 0, 0, 0, 'SKIPPED'],
    ['all in their first attempt', 3, 3, 0, null],
    ['one still in its first attempt', 3, 1, 2, null],
    ['all succeeded', 3, 0, 3, 'SUCCESS'],
    ['some succeeded', 3, 0, 1, 'PARTIAL_SUCCESS'],
    ['none succeeded', 3, 0, 0, 'FAILED'],
  ];
  for (const [what, total, inFirstAttempt, succeeded, outcome] of table) {
    it(`STA-18 ${what}: ${outcome ?? 'empty'}`, () => {
      expect(stationOutcome({ total, inFirstAttempt, succeeded })).to.equal(outcome);
    });
  }
});
