import { expect } from 'chai';
import type { Expectation } from '../../src/cli/demo/expectation.ts';
import { readExpectation } from '../../src/cli/demo/expectation.ts';
import { type Observed, verdict } from '../../src/cli/demo/verdict.ts';
import type { PlaceSum, PushReport } from '../../src/cli/push-report.ts';

const expectation: Expectation = readExpectation();

function reportOf(places: object): PushReport {
  const sums = Object.entries(places).map(([place, sum]) => ({ place, ...sum }) as PlaceSum);
  return {
    pushId: '1',
    traceId: 't',
    state: 'COMPLETE',
    asOf: '',
    stationOutcome: null,
    funnel: [],
    places: sums,
  };
}

/** A run that came out exactly as it must. */
function flawless(): Observed[] {
  return expectation.pushes.map((expected) => ({
    expected,
    fileTotals: expected.requested,
    reply: {
      pushId: '1',
      traceId: 't',
      code: 'PARTIALLY_ACCEPTED',
      counts: { requested: expected.requested.rows, accepted: expected.accepted.rows, refused: 0 },
      amounts: { requested: expected.requested.amount, accepted: expected.accepted.amount, refused: '0.00' },
      expiresAt: '',
      receipts: expected.refused.map((row) => ({
        ...row,
        rowId: null,
        receipt: 'REFUSED' as const,
        pointer: null,
        message: null,
      })),
    },
    before: reportOf(expected.places),
    afterRepair: reportOf(expected.placesAfterRepair),
  }));
}

/** The same run with the first push changed. */
function butFor(change: (push: Observed) => Partial<Observed>): Observed[] {
  return flawless().map((push, index) => (index === 0 ? { ...push, ...change(push) } : push));
}

describe("the demo's verdict", () => {
  it('has nothing to say where all came out as it must', () => {
    expect(verdict(flawless())).to.deep.equal([]);
  });

  const cases: { name: string; run: Observed[]; says: RegExp }[] = [
    {
      name: 'a file whose totals are not what was answered',
      run: butFor(() => ({ fileTotals: { rows: 719, amount: '1.00' } })),
      says: /1-qinggeng\.json: the reply says .* the file adds up to 719 rows, 1\.00 CNY/,
    },
    {
      name: 'a row that was accepted and must be refused',
      run: butFor(({ reply }) => ({ reply: { ...reply, receipts: reply.receipts.slice(1) } })),
      says: /row 167 was accepted, must be INVALID_FIELD/,
    },
    {
      name: 'rows at another place',
      run: butFor(({ expected }) => ({
        afterRepair: reportOf({ ...expected.placesAfterRepair, ...{ CURRENT: { rows: 1, amount: '1.00' } } }),
      })),
      says: /1-qinggeng\.json, after the repair: 1 rows, 1\.00 CNY at CURRENT, must be 703 rows/,
    },
    {
      name: 'a side road that nobody took',
      run: butFor(({ expected }) => ({
        before: reportOf({ ...expected.places, STATION_FAILED: { rows: 0, amount: '0.00' } }),
      })),
      says: /No row was at STATION_FAILED/,
    },
    {
      name: 'fewer than nine in ten rows CURRENT',
      run: butFor(() => ({ afterRepair: reportOf({ SKIPPED: { rows: 719, amount: '125592.60' } }) })),
      says: /Of 1208 accepted rows of payment-enabled partners only \d+ are CURRENT/,
    },
  ];
  for (const { name, run, says } of cases) {
    it(`names ${name}`, () => expect(verdict(run).join('\n')).to.match(says));
  }
});
