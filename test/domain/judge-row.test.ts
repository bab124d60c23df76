import { expect } from 'chai';
import {
  judgeRow,
  type MappedStation,
  type RowToJudge,
  type Surroundings,
} from '../../src/domain/judge-row.ts';
import { placeOfRefusal, REFUSAL_REASONS } from '../../src/domain/refusal.ts';

const ROW: RowToJudge = {
  stationNo: 'S-1',
  partnerStationId: 'SID1',
  month: '2026-05',
  stationPointer: '/stations/0',
  billPointer: '/stations/0/bills/3',
};
const MAPPING: MappedStation = {
  partnerStationId: 'SID1',
  platformStationId: '7',
  activeFromMonth: '2026-01',
  activeToMonth: '2026-06',
};
const GOOD: Surroundings = { mapping: MAPPING, acceptedBefore: null, lock: 'FREE' };

const judge = (row: Partial<RowToJudge>, around: Partial<Surroundings>) =>
  judgeRow({ ...ROW, ...row }, { ...GOOD, ...around });

describe('the verdict on a row', () => {
  it('ING-5 a known station, its first bill of a free month: accepted', () => {
    expect(judge({}, {})).to.equal(null);
  });

  // Each has the faults of all that follow, too: the first one decides.
  const precedence: [
    reason: string,
    pointer: string,
    row: Partial<RowToJudge>,
    around: Partial<Surroundings>,
  ][] = [
    [
      'INVALID_FIELD',
      '/stations/0/partnerStationId',
      { partnerStationId: 'OTHER', month: '2025-12' },
      { acceptedBefore: '/stations/0/bills/0', lock: 'LOCKED' },
    ],
    [
      'UNKNOWN_STATION',
      '/stations/0/partnerStationNo',
      { partnerStationId: 'OTHER' },
      { mapping: null, acceptedBefore: '/stations/0/bills/0', lock: 'LOCKED' },
    ],
    [
      'UNKNOWN_STATION',
      '/stations/0/bills/3/billYearMonth',
      { month: '2025-12' },
      { acceptedBefore: '/stations/0/bills/0', lock: 'LOCKED' },
    ],
    [
      'DUPLICATE_IN_PUSH',
      '/stations/0/bills/3',
      {},
      { acceptedBefore: '/stations/0/bills/0', lock: 'LOCKED' },
    ],
    ['PAYMENT_LOCKED', '/stations/0/bills/3', {}, { lock: 'LOCKED' }],
    ['PAYMENT_CHECK_UNAVAILABLE', '/stations/0/bills/3', {}, { lock: 'UNKNOWN' }],
  ];
  for (const [reason, pointer, row, around] of precedence) {
    it(`DEC-16 ${reason} at ${pointer}, whatever else is wrong`, () => {
      expect(judge(row, around)).to.include({ reason, pointer });
    });
  }

  it('DEC-3 a station without an id of the partner is taken by its number', () => {
    expect(judge({ partnerStationId: null }, {})).to.equal(null);
  });

  it('DEC-3 both ends of the period belong to it, and it may be open', () => {
    expect(judge({ month: '2026-01' }, {})).to.equal(null);
    expect(judge({ month: '2026-06' }, {})).to.equal(null);
    expect(judge({ month: '2026-07' }, {})?.reason).to.equal('UNKNOWN_STATION');
    expect(judge({ month: '2026-07' }, { mapping: { ...MAPPING, activeToMonth: null } })).to.equal(null);
  });

  it('DEC-3 ING-4 without a platform station no payment can hold the month', () => {
    expect(judge({}, { mapping: { ...MAPPING, platformStationId: null }, lock: 'UNKNOWN' })).to.equal(null);
  });

  it('ING-3 a duplicate is told which row was taken', () => {
    expect(judge({}, { acceptedBefore: '/stations/0/bills/0' })?.message).to.contain('/stations/0/bills/0');
  });

  it('DEC-16 COV-1 the lock check leaves at unlocked, everything else at valid', () => {
    const left = REFUSAL_REASONS.map((reason) => placeOfRefusal(reason).leftAt);
    expect(left).to.deep.equal(['valid', 'valid', 'valid', 'unlocked', 'unlocked']);
  });
});
