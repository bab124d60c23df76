import { expect } from 'chai';
import { faultOfReadBack, type ReadDifference, type WrittenDifference } from '../../src/domain/read-back.ts';

const january: WrittenDifference = {
  partnerOrgId: '3',
  stationId: '70',
  shareMonth: '2026-01',
  partnerBillId: '11',
  platformBillId: '21',
  partnerAccountId: '31',
};
const february: WrittenDifference = { ...january, shareMonth: '2026-02', platformBillId: null };
const stored = (row: WrittenDifference, change: Partial<ReadDifference> = {}): ReadDifference => ({
  id: row === january ? '1' : '2',
  ...row,
  ...change,
});

describe('domain: differences read back', () => {
  const cases: readonly [string, readonly WrittenDifference[], readonly ReadDifference[], string | null][] = [
    ['as they were written, in any order', [january, february], [stored(february), stored(january)], null],
    [
      'the station-month of another station beside it',
      [january],
      [stored({ ...january, stationId: '71' }), stored(january)],
      null,
    ],
    ['a month that is blank, on the way in', [{ ...january, shareMonth: '' }], [], 'BLANK_KEY 70/'],
    ['a month that is none', [{ ...january, shareMonth: '2026-13' }], [], 'BLANK_KEY 70/2026-13'],
    ['no platform station', [{ ...january, stationId: '0' }], [], 'BLANK_KEY 0/2026-01'],
    ['a platform station that is no number', [{ ...january, stationId: '' }], [], 'BLANK_KEY /2026-01'],
    ['no partner', [{ ...january, partnerOrgId: '0' }], [], 'BLANK_KEY 70/2026-01'],
    [
      'a blank key on the way out',
      [january],
      [stored(january), stored(february, { shareMonth: '' })],
      'BLANK_KEY 70/',
    ],
    ['a station-month twice on the way in', [january, january], [stored(january)], 'NAMED_TWICE 70/2026-01'],
    [
      'a station-month twice on the way out',
      [january],
      [stored(january), stored(january, { id: '9' })],
      'READ_TWICE 70/2026-01',
    ],
    ['one that is not there', [january, february], [stored(january)], 'MISSING 70/2026-02'],
    ['none at all', [january], [], 'MISSING 70/2026-01'],
    ['an id that is none', [january], [stored(january, { id: '0' })], 'NO_ID 70/2026-01'],
    ['another organisation', [january], [stored(january, { partnerOrgId: '4' })], 'OTHER 70/2026-01'],
    ['another partner bill', [january], [stored(january, { partnerBillId: '12' })], 'OTHER 70/2026-01'],
    ['no partner bill', [january], [stored(january, { partnerBillId: null })], 'OTHER 70/2026-01'],
    ['another platform bill', [january], [stored(january, { platformBillId: '22' })], 'OTHER 70/2026-01'],
    [
      'a platform bill where none was written',
      [february],
      [stored(february, { platformBillId: '22' })],
      'OTHER 70/2026-02',
    ],
    ['another partner account', [january], [stored(january, { partnerAccountId: '32' })], 'OTHER 70/2026-01'],
    [
      'a misfit behind one that fits',
      [january, february],
      [stored(january), stored(february, { id: '0' })],
      'NO_ID 70/2026-02',
    ],
  ];
  for (const [what, written, found, expected] of cases)
    it(`DIF-8 DIF-10 ${what}: ${expected ?? 'fits'}`, () => {
      const fault = faultOfReadBack(written, found);
      expect(fault === null ? null : `${fault.code} ${fault.key}`).to.equal(expected);
    });
});
