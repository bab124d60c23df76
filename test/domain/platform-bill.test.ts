import { expect } from 'chai';
import {
  effectOf,
  faultOfPlatformBill,
  type PlatformBillAmounts,
  type PlatformBillSeen,
  type PlatformBillWish,
} from '../../src/domain/platform-bill.ts';

const amounts: PlatformBillAmounts = {
  settlementAmount: '180.00',
  rent: '120.00',
  preRent: '100.00',
  freezeAmount: null,
  deductionAmount: '10.00',
};
const write: PlatformBillWish = { platformStationId: '7', billYearMonth: '2026-01', amounts };
const remove: PlatformBillWish = { ...write, amounts: null };
const free: PlatformBillSeen = {
  currentMonth: '2026-01',
  stationExists: true,
  stationMapped: true,
  accountCount: 1,
  locked: false,
  bill: { deleted: false, amounts: { ...amounts, rent: '1.00' } },
};
const same = { deleted: false, amounts };

describe('domain: a wish about a platform bill', () => {
  const faults: readonly [string, PlatformBillWish, Partial<PlatformBillSeen>, string | null][] = [
    ['DEC-15 a change', write, {}, null],
    ['DEC-15 a first bill, of a station without an account', write, { accountCount: 0, bill: null }, null],
    ['DEC-7 a deletion', remove, {}, null],
    ['DEC-2 a month that has not begun', write, { currentMonth: '2025-12' }, '422 MONTH_IN_FUTURE'],
    ['DEC-2 the current month', write, { currentMonth: '2026-01' }, null],
    [
      'DEC-3 no such station',
      write,
      { stationExists: false, stationMapped: false },
      '422 NO_SUCH_PLATFORM_STATION',
    ],
    ['DEC-3 not this partner’s', write, { stationMapped: false, accountCount: 2 }, '422 STATION_NOT_MAPPED'],
    [
      'DIF-11 two accounts, of which none is picked',
      write,
      { accountCount: 2, locked: true },
      '409 DUPLICATE_ACCOUNT',
    ],
    ['DEC-7 nothing to delete, and never was', remove, { bill: null, locked: true }, '404 NO_SUCH_BILL'],
    ['DEC-4 a change in a locked month', write, { locked: true }, '409 PAYMENT_LOCKED'],
    ['DEC-4 a creation in a locked month', write, { locked: true, bill: null }, '409 PAYMENT_LOCKED'],
    ['DEC-4 a deletion in a locked month', remove, { locked: true }, '409 PAYMENT_LOCKED'],
    ['DEC-4 DEC-15 the same again writes nothing, locked or not', write, { locked: true, bill: same }, null],
    [
      'DEC-4 DEC-15 so does deleting what is deleted',
      remove,
      { locked: true, bill: { ...same, deleted: true } },
      null,
    ],
  ];
  for (const [title, wish, seen, expected] of faults)
    it(title, () => {
      const fault = faultOfPlatformBill(wish, { ...free, ...seen });
      expect(fault === null ? null : `${fault.status} ${fault.code}`).to.equal(expected);
    });

  const zero = {
    settlementAmount: null,
    preRent: null,
    freezeAmount: null,
    deductionAmount: null,
    rent: '0.00',
  };
  const effects: readonly [string, PlatformBillWish, PlatformBillSeen['bill'], string][] = [
    ['DEC-25 a new bill resets', write, null, 'CREATED resets'],
    [
      'DEC-25 a new bill of nothing changes no compared amount',
      { ...write, amounts: zero },
      null,
      'CREATED stands',
    ],
    ['DEC-25 one that was deleted is created again', write, { ...same, deleted: true }, 'CREATED resets'],
    ['DEC-15 the same content is no change', write, same, 'UNCHANGED stands'],
    ['DEC-15 a deletion of what is deleted is none', remove, { ...same, deleted: true }, 'UNCHANGED stands'],
    ['DEC-25 a deletion always resets', remove, same, 'DELETED resets'],
    [
      'DEC-25 a deletion resets, even of a bill of nothing',
      remove,
      { deleted: false, amounts: zero },
      'DELETED resets',
    ],
    [
      'DEC-25 an amount that was missing and is 0 now changes the bill, not what is compared',
      { ...write, amounts: { ...amounts, freezeAmount: '0.00' } },
      same,
      'CHANGED stands',
    ],
    ...(['settlementAmount', 'rent', 'preRent', 'freezeAmount', 'deductionAmount'] as const).map(
      (name): [string, PlatformBillWish, PlatformBillSeen['bill'], string] => [
        `DEC-25 ${name} is compared`,
        { ...write, amounts: { ...amounts, [name]: '0.01' } },
        same,
        'CHANGED resets',
      ],
    ),
  ];
  for (const [title, wish, bill, expected] of effects)
    it(title, () => {
      const { outcome, resetsVerdict } = effectOf(wish, { bill });
      expect(`${outcome} ${resetsVerdict ? 'resets' : 'stands'}`).to.equal(expected);
    });
});
