/** Whether coverage came out as the example says it must; each difference is a sentence. Pure. */
import { moneyText, sumOf } from '../../domain/money.ts';
import type { PlaceName } from '../../domain/place.ts';
import type { PushReply, PushReport, RowsAndAmount } from '../push-report.ts';
import type { ExpectedPush, Places } from './expectation.ts';

/** COV-2: each of these must occur among the example's rows, before the repair. */
const SIDE_ROADS: readonly PlaceName[] = [
  ...(['INVALID', 'LOCKED', 'STATION_FAILED', 'STALE', 'SUPERSEDED'] as const),
  ...(['DIFF_FAILED', 'PAYMENT_DISABLED', 'SKIPPED', 'NO_SNAPSHOT', 'CURRENT'] as const),
];
const CURRENT_SHARE_MIN = 0.9;

export interface Observed {
  readonly expected: ExpectedPush;
  readonly fileTotals: RowsAndAmount;
  readonly reply: PushReply;
  readonly before: PushReport;
  readonly afterRepair: PushReport;
}

/** @returns nothing where all is as it must be */
export function verdict(pushes: readonly Observed[]): string[] {
  return [
    ...pushes.flatMap(totalFaults),
    ...pushes.flatMap(refusalFaults),
    ...pushes.flatMap((push) => [
      ...placeFaults(push, 'before the repair', push.before, push.expected.places),
      ...placeFaults(push, 'after the repair', push.afterRepair, push.expected.placesAfterRepair),
    ]),
    ...sideRoadFaults(pushes),
    ...currentShareFaults(pushes),
  ];
}

/** What the file adds up to, what was answered, and what coverage counts are one and the same number. */
function totalFaults({ expected, fileTotals, reply, before, afterRepair }: Observed): string[] {
  const said: [string, RowsAndAmount][] = [
    ['expected.json', expected.requested],
    ['the reply', { rows: reply.counts.requested, amount: reply.amounts.requested }],
    ['coverage before the repair', sumOfPlaces(before)],
    ['coverage after the repair', sumOfPlaces(afterRepair)],
  ];
  return said
    .filter(([, sum]) => !isSame(sum, fileTotals))
    .map(
      ([who, sum]) => `${expected.file}: ${who} says ${text(sum)}, the file adds up to ${text(fileTotals)}`,
    );
}

function refusalFaults({ expected, reply }: Observed): string[] {
  const refused = reply.receipts.filter((receipt) => receipt.receipt === 'REFUSED');
  const found = new Map(refused.map((receipt) => [receipt.index, receipt.reason]));
  const wanted = new Map(expected.refused.map((row) => [row.index, row.reason]));
  const indexes = [...new Set([...wanted.keys(), ...found.keys()])].sort((a, b) => a - b);
  return indexes
    .filter((index) => wanted.get(index) !== found.get(index))
    .map(
      (index) =>
        `${expected.file}: row ${index} was ${found.get(index) ?? 'accepted'}, must be ${wanted.get(index) ?? 'accepted'}`,
    );
}

function placeFaults(push: Observed, when: string, report: PushReport, wanted: Places): string[] {
  const found = new Map(report.places.filter(({ rows }) => rows > 0).map((sum) => [sum.place, sum]));
  const names = new Set([...(Object.keys(wanted) as PlaceName[]), ...found.keys()]);
  return [...names]
    .filter((place) => !isSame(found.get(place) ?? NOTHING, wanted[place] ?? NOTHING))
    .map((place) => {
      const [is, must] = [found.get(place) ?? NOTHING, wanted[place] ?? NOTHING];
      return `${push.expected.file}, ${when}: ${text(is)} at ${place}, must be ${text(must)}`;
    });
}

function sideRoadFaults(pushes: readonly Observed[]): string[] {
  const occurred = new Set(
    pushes.flatMap(({ before }) => before.places.filter(({ rows }) => rows > 0).map(({ place }) => place)),
  );
  return SIDE_ROADS.filter((place) => !occurred.has(place)).map((place) => `No row was at ${place}`);
}

function currentShareFaults(pushes: readonly Observed[]): string[] {
  const enabled = pushes.filter(({ expected }) => expected.paymentFlow === 'ENABLED');
  const accepted = sum(enabled.map(({ reply }) => reply.counts.accepted));
  const current = sum(enabled.map(({ afterRepair }) => rowsAtCurrent(afterRepair)));
  if (accepted > 0 && current >= accepted * CURRENT_SHARE_MIN) return [];
  return [`Of ${accepted} accepted rows of payment-enabled partners only ${current} are CURRENT`];
}

function rowsAtCurrent(report: PushReport): number {
  return report.places.find(({ place }) => place === 'CURRENT')?.rows ?? 0;
}

const NOTHING: RowsAndAmount = { rows: 0, amount: '0.00' };

function sumOfPlaces(report: PushReport): RowsAndAmount {
  return {
    rows: sum(report.places.map(({ rows }) => rows)),
    amount: moneyText(sumOf(report.places.map(({ amount }) => amount))),
  };
}

function isSame(left: RowsAndAmount, right: RowsAndAmount): boolean {
  return left.rows === right.rows && sumOf([left.amount]).equals(sumOf([right.amount]));
}

function text(sum: RowsAndAmount): string {
  return `${sum.rows} rows, ${sum.amount} CNY`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
