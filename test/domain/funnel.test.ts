import { expect } from 'chai';
import fc from 'fast-check';
import { funnelOf, type PlaceGroup, placesOf, stateOf } from '../../src/domain/funnel.ts';
import { FUNNEL_STAGES, PLACE_MEANINGS, Place, type PlaceName } from '../../src/domain/place.ts';

const group = (place: PlaceName, rest: Partial<PlaceGroup> = {}): PlaceGroup => ({
  place: Place[place],
  leftAt: null,
  reason: null,
  rows: 1,
  amount: '10.00',
  ...rest,
});

/** The stage at which a row of this place is missing, and whether it is still coming. */
const whereabouts: [PlaceName, leftAt: string | null, missingAt: string | null, coming: boolean][] = [
  ['INVALID', 'valid', 'valid', false],
  ['LOCKED', 'unlocked', 'unlocked', false],
  ['STATION_PENDING', null, 'committed', true],
  ['STATION_FAILED', 'committed', 'committed', false],
  ['STALE', 'committed', 'committed', false],
  ['SUPERSEDED', 'inDifference', 'inDifference', false],
  ['SUPERSEDED', 'refreshed', 'refreshed', false],
  ['SUPERSEDED', 'snapshotCurrent', 'snapshotCurrent', false],
  ['DIFF_PENDING', null, 'inDifference', true],
  ['DIFF_FAILED', 'inDifference', 'inDifference', false],
  ['PAYMENT_DISABLED', 'paymentEnabled', 'paymentEnabled', false],
  ['ACCOUNT_PENDING', null, 'refreshed', true],
  ['ACCOUNT_FAILED', 'refreshed', 'refreshed', false],
  ['SKIPPED', 'refreshed', 'refreshed', false],
  ['SNAPSHOT_PENDING', null, 'snapshotCurrent', true],
  ['SNAPSHOT_FAILED', 'snapshotCurrent', 'snapshotCurrent', false],
  ['NO_SNAPSHOT', 'snapshotCurrent', 'snapshotCurrent', false],
  ['CURRENT', null, null, false],
  ['CANCELLED', 'committed', 'committed', false],
  ['CANCELLED', 'inDifference', 'inDifference', false],
];

describe('the funnel', () => {
  it('COV-2 knows every place', () => {
    expect(new Set(whereabouts.map(([place]) => place))).to.deep.equal(new Set(Object.keys(Place)));
  });

  for (const [place, leftAt, missingAt, coming] of whereabouts) {
    const number = leftAt === null ? null : FUNNEL_STAGES.indexOf(leftAt as (typeof FUNNEL_STAGES)[number]);
    it(`COV-1 DEC-22 ${place}${leftAt === null ? '' : ` left at ${leftAt}`} counts up to there and is ${coming ? 'pending' : missingAt === null ? 'at the goal' : 'dropped'}`, () => {
      for (const stored of new Set([number, null])) {
        // Without a stored stage the place itself says it, where it can mean only one.
        if (stored === null && (place === 'SUPERSEDED' || place === 'CANCELLED')) continue;
        const funnel = funnelOf([group(place, { leftAt: stored })]);
        const missing = missingAt === null ? FUNNEL_STAGES.length : FUNNEL_STAGES.indexOf(missingAt as never);
        funnel.forEach((step, at) => {
          expect(step.rows, step.stage).to.equal(at < missing ? 1 : 0);
          expect(step.amount).to.equal(at < missing ? '10.00' : '0.00');
          expect(step.pending.rows, step.stage).to.equal(coming && at === missing ? 1 : 0);
          expect(step.dropped.length, step.stage).to.equal(!coming && at === missing ? 1 : 0);
        });
      }
    });
  }

  it("COV-1 DEC-22 a loss is named by the row's reason, else by its place, summed and largest first", () => {
    const funnel = funnelOf([
      group('INVALID', { leftAt: 1, reason: 'UNKNOWN_STATION' }),
      group('INVALID', { leftAt: 1, reason: 'INVALID_FIELD', rows: 2, amount: '0.00' }),
      group('STALE', { leftAt: 3 }),
      group('STATION_FAILED', { leftAt: 3, reason: 'PAYMENT_LOCKED', rows: 3, amount: '30.00' }),
      group('CANCELLED', { leftAt: 3, reason: 'PAYMENT_LOCKED' }),
    ]);
    expect(funnel[1]?.dropped).to.deep.equal([
      { reason: 'INVALID_FIELD', rows: 2, amount: '0.00' },
      { reason: 'UNKNOWN_STATION', rows: 1, amount: '10.00' },
    ]);
    expect(funnel[3]?.dropped).to.deep.equal([
      { reason: 'PAYMENT_LOCKED', rows: 4, amount: '40.00' },
      { reason: 'STALE', rows: 1, amount: '10.00' },
    ]);
  });

  it('COV-1 a row that goes on again counts by its place, whatever it was left at before', () => {
    const funnel = funnelOf([group('SNAPSHOT_PENDING', { leftAt: 3 })]);
    expect(funnel.map((step) => step.rows)).to.deep.equal([1, 1, 1, 1, 1, 1, 1, 0]);
    expect(funnel[7]?.pending.rows).to.equal(1);
  });

  const anyGroup = fc
    .tuple(fc.constantFrom(...whereabouts), fc.nat({ max: 1000 }), fc.nat({ max: 10 ** 9 }))
    .map(([[place, leftAt], rows, cents]) =>
      group(place, {
        leftAt: leftAt === null ? null : FUNNEL_STAGES.indexOf(leftAt as never),
        rows,
        amount: `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`,
      }),
    );

  it('COV-1 COV-2 what reached a stage is what reached the next, was dropped there, or is pending there', () => {
    fc.assert(
      fc.property(fc.array(anyGroup), (groups) => {
        const funnel = funnelOf(groups);
        const cents = (amount: string) => Number(amount.replace('.', ''));
        for (let at = 1; at < funnel.length; at++) {
          const [before, step] = [funnel[at - 1]!, funnel[at]!];
          const parts = [step, step.pending, ...step.dropped];
          expect(parts.reduce((sum, part) => sum + part.rows, 0)).to.equal(before.rows);
          expect(parts.reduce((sum, part) => sum + cents(part.amount), 0)).to.equal(cents(before.amount));
        }
        const places = placesOf(groups);
        expect(places.reduce((sum, part) => sum + part.rows, 0)).to.equal(funnel[0]!.rows);
      }),
    );
  });
});

describe('the state of a push', () => {
  for (const [place, { kind }] of Object.entries(PLACE_MEANINGS) as [PlaceName, { kind: string }][]) {
    const state =
      kind === 'under way' ? 'IN_PROGRESS' : kind === 'exception' ? 'COMPLETE_WITH_EXCEPTIONS' : 'COMPLETE';
    it(`COV-4 a row at ${place} beside good ones: ${state}`, () => {
      expect(stateOf([group('CURRENT'), group(place)])).to.equal(state);
    });
  }

  it('COV-4 STALE, SUPERSEDED, PAYMENT_DISABLED and NO_SNAPSHOT are named ends', () => {
    const ends = (['STALE', 'SUPERSEDED', 'PAYMENT_DISABLED', 'NO_SNAPSHOT'] as const).map((end) =>
      group(end),
    );
    expect(stateOf(ends)).to.equal('COMPLETE');
  });

  it('COV-4 DEC-21 what was refused, failed, skipped or cancelled is an exception, and every pending place is under way', () => {
    const of = (state: string) =>
      (Object.keys(Place) as PlaceName[]).filter((place) => stateOf([group(place)]) === state);
    expect(of('COMPLETE_WITH_EXCEPTIONS')).to.have.members([
      'INVALID',
      'LOCKED',
      'STATION_FAILED',
      'DIFF_FAILED',
      'ACCOUNT_FAILED',
      'SKIPPED',
      'SNAPSHOT_FAILED',
      'CANCELLED',
    ]);
    expect(of('IN_PROGRESS')).to.have.members([
      'STATION_PENDING',
      'DIFF_PENDING',
      'ACCOUNT_PENDING',
      'SNAPSHOT_PENDING',
    ]);
  });

  it('COV-4 what is under way comes before what failed; an empty push is complete', () => {
    expect(stateOf([group('INVALID'), group('DIFF_PENDING')])).to.equal('IN_PROGRESS');
    expect(stateOf([])).to.equal('COMPLETE');
  });
});
