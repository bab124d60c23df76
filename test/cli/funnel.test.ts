import { expect } from 'chai';
import { bar, drawFunnel, progressLine } from '../../src/cli/funnel.ts';
import type { PushReport } from '../../src/cli/push-report.ts';
import { FUNNEL_STAGES } from '../../src/domain/place.ts';

/** A push of which so many rows reached each stage, in order, and whose every missing row is on its way. */
function reportOf(rows: readonly number[]): PushReport {
  return {
    pushId: '7',
    traceId: 't',
    state: 'IN_PROGRESS',
    asOf: '2026-11-30T10:42:07.000Z',
    stationOutcome: null,
    funnel: FUNNEL_STAGES.map((stage, index) => ({
      stage,
      rows: rows[index] ?? 0,
      amount: '0.00',
      dropped: [],
      pending: { rows: index === 0 ? 0 : (rows[index - 1] ?? 0) - (rows[index] ?? 0), amount: '0.00' },
    })),
    places: [],
  };
}

describe('the funnel as text', () => {
  const cases = [
    { part: 0, whole: 10, width: 4, drawn: '' },
    { part: 10, whole: 10, width: 4, drawn: '████' },
    { part: 5, whole: 10, width: 4, drawn: '██' },
    { part: 1, whole: 10_000, width: 4, drawn: '▏', why: 'whatever is not nothing shows' },
    { part: 9_999, whole: 10_000, width: 4, drawn: '███▉', why: 'what is not all is not drawn as all' },
    { part: 20, whole: 10, width: 4, drawn: '████', why: 'never longer than its width' },
    { part: 3, whole: 0, width: 4, drawn: '', why: 'nothing was sent' },
    { part: 3, whole: 10, width: 0, drawn: '', why: 'there is no room' },
  ];
  for (const { part, whole, width, drawn, why } of cases) {
    it(`draws ${part} of ${whole} in ${width} characters as "${drawn}"${why ? `: ${why}` : ''}`, () => {
      expect(bar(part, whole, width)).to.equal(drawn);
    });
  }

  const columns = [
    { label: 'QINGGENG', report: reportOf([719, 717, 716, 704, 600, 600, 100, 50]) },
    { label: 'HEGUANG', report: reportOf([481, 479, 479, 479, 0, 0, 0, 0]) },
    { label: 'NUANYAN', report: null },
  ];

  it('COV-1 has a line for each stage, in order, and one for what is under way', () => {
    const lines = drawFunnel(columns, 100);
    expect(lines.map((line) => line.slice(0, 17).trim())).to.deep.equal([
      '',
      'requested',
      'valid',
      'unlocked',
      'committed',
      'in difference',
      'payment-enabled',
      'refreshed',
      'snapshot current',
      'still under way',
    ]);
    expect(lines[4]).to.match(/committed .*█.*704.*█.*479$/);
    expect(lines.at(-1)).to.match(/still under way +669 +481$/);
  });

  for (const width of [100, 80, 60, 40, 20]) {
    it(`fits ${width} characters`, () => {
      const lines = drawFunnel(columns, width);
      expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(Math.max(width, 25));
    });
  }

  it('leaves the bars out before it leaves a push out', () => {
    const lines = drawFunnel(columns, 17 + 3 * 8);
    expect(lines[0]).to.contain('QINGG').and.to.contain('HEGUA').and.to.contain('NUANY');
    expect(lines.join('')).not.to.contain('█');
  });

  it('says the same in one line where there is no terminal', () => {
    expect(progressLine(columns[0]!)).to.equal(
      'QINGGENG: requested 719 > valid 717 > unlocked 716 > committed 704 > in difference 600 > ' +
        'payment-enabled 600 > refreshed 100 > snapshot current 50; 669 under way',
    );
    expect(progressLine(columns[2]!)).to.equal('NUANYAN: not sent yet');
  });
});
