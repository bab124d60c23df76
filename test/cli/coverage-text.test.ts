import { expect } from 'chai';
import { coverageText } from '../../src/cli/coverage-text.ts';
import { grouped, shanghaiTime } from '../../src/cli/figures.ts';
import { PLACE_ORDER, PLACE_WORDS } from '../../src/cli/place-words.ts';
import type { PushReport } from '../../src/cli/push-report.ts';
import { notesOf, type RowTrace } from '../../src/cli/read-notes.ts';
import { Place } from '../../src/domain/place.ts';

const REPORT: PushReport = {
  pushId: '7',
  traceId: 't',
  state: 'COMPLETE_WITH_EXCEPTIONS',
  asOf: '2026-11-30T18:42:07.000Z',
  stationOutcome: 'PARTIAL_SUCCESS',
  funnel: [{ stage: 'requested', rows: 12_000, amount: '1440000.00', dropped: [], pending: NOTHING() }],
  places: [
    { place: 'STATION_FAILED', rows: 1, amount: '120.00' },
    { place: 'CURRENT', rows: 11_988, amount: '1438560.00' },
    { place: 'SUPERSEDED', rows: 11, amount: '1320.00' },
    { place: 'SKIPPED', rows: 0, amount: '0.00' },
  ],
};

function NOTHING() {
  return { rows: 0, amount: '0.00' };
}

function trace(fields: Partial<RowTrace>): RowTrace {
  return {
    index: 4,
    partnerStationNo: 'QG1-0001',
    billYearMonth: '2026-10',
    place: 'STATION_FAILED',
    reason: 'PAYMENT_LOCKED',
    message: 'A payment occupies 2026-09',
    taskCode: 'T',
    supersededByPushId: null,
    ...fields,
  };
}

describe('coverage in words', () => {
  const lines = coverageText(REPORT, [
    { place: 'SUPERSEDED', rows: 11, where: '', why: 'by push 8' },
    { place: 'STATION_FAILED', rows: 1, where: 'row 4, QG1-0001 2026-10', why: 'A payment occupies 2026-09' },
  ]);

  it('COV-0 says how much of how much, in rows and in money, and as of when', () => {
    expect(lines[0]).to.contain('as of 2026-12-01 02:42:07 (Shanghai)');
    expect(lines[1]).to.equal('current: 11,988 of 12,000 rows, 1,438,560.00 of 1,440,000.00 CNY');
  });

  it('COV-2 has a line for each place that holds rows, what is done first, each with its reasons below', () => {
    expect(lines.slice(2).map((line) => line.trim())).to.deep.equal([
      `11,988 rows 1,438,560.00 CNY  ${PLACE_WORDS.CURRENT} (CURRENT)`,
      `11 rows     1,320.00 CNY  ${PLACE_WORDS.SUPERSEDED} (SUPERSEDED)`,
      '- 11 rows: by push 8',
      `1 row        120.00 CNY  ${PLACE_WORDS.STATION_FAILED} (STATION_FAILED)`,
      '- row 4, QG1-0001 2026-10: A payment occupies 2026-09',
    ]);
  });

  it('knows words and an order for every place there is', () => {
    expect([...PLACE_ORDER].sort()).to.deep.equal(Object.keys(Place).sort());
    expect(Object.keys(PLACE_WORDS).sort()).to.deep.equal(Object.keys(Place).sort());
  });

  it('COV-4 never claims that anything was paid', () => {
    expect(Object.values(PLACE_WORDS).join(' ')).not.to.match(/\b(was|were|is|are) paid\b/i);
  });

  it('COV-3 puts rows together that have the same to say', () => {
    const traces = [
      trace({ index: 1 }),
      trace({ index: 2, billYearMonth: '2026-09' }),
      trace({ index: 3, place: 'SUPERSEDED', reason: null, message: null, supersededByPushId: '8' }),
    ];
    expect(notesOf(traces)).to.deep.equal([
      {
        place: 'STATION_FAILED',
        rows: 2,
        where: '2 bills of QG1-0001',
        why: 'A payment occupies 2026-09 (PAYMENT_LOCKED)',
      },
      { place: 'SUPERSEDED', rows: 1, where: 'row 3, QG1-0001 2026-10', why: 'by push 8' },
    ]);
  });
});

describe('figures', () => {
  for (const [given, written] of [
    ['0', '0'],
    ['999', '999'],
    ['1000', '1,000'],
    ['1234567.80', '1,234,567.80'],
    ['-1234.5', '-1,234.5'],
  ] as const) {
    it(`writes ${given} as ${written}`, () => expect(grouped(given)).to.equal(written));
  }

  it("writes instants in Shanghai's time", () => {
    expect(shanghaiTime('2026-10-31T16:00:00.000Z')).to.equal('2026-11-01 00:00:00');
  });
});
