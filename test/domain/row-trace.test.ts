import { expect } from 'chai';
import { Place, type PlaceName } from '../../src/domain/place.ts';
import { type TracedRow, traceOf } from '../../src/domain/row-trace.ts';

const word = (code: string) => ({ code, errorCode: `${code}_ERROR`, errorMessage: `${code} said so` });

const ROW: TracedRow = {
  rowNo: 3,
  receiptIndex: 7,
  accepted: true,
  partnerStationNo: 'S-1',
  billYearMonth: '2026-05',
  rowId: null,
  rent: '100.00',
  pointer: null,
  message: null,
  place: Place.CURRENT,
  leftAt: null,
  reason: null,
  billId: '5',
  diffId: '6',
  snapshotGeneration: 2,
  supersededByPushId: null,
  billPushId: '1',
  pushId: '1',
  station: word('STATION'),
  difference: word('DIFF'),
  account: word('ACCOUNT'),
  accountOutcome: { outcome: 'FAILED', errorCode: 'OUTCOME_ERROR', errorMessage: 'OUTCOME said so' },
  snapshot: word('SNAPSHOT'),
};
const at = (place: PlaceName, rest: Partial<TracedRow> = {}) =>
  traceOf({ ...ROW, place: Place[place], ...rest });

describe('the trace of a row', () => {
  const speakers: [PlaceName, speaker: string | null][] = [
    ['INVALID', null],
    ['LOCKED', null],
    ['STATION_PENDING', 'STATION'],
    ['STATION_FAILED', 'STATION'],
    ['CANCELLED', 'STATION'],
    ['STALE', null],
    ['SUPERSEDED', null],
    ['DIFF_PENDING', 'DIFF'],
    ['DIFF_FAILED', 'DIFF'],
    ['PAYMENT_DISABLED', null],
    ['ACCOUNT_PENDING', 'OUTCOME'],
    ['ACCOUNT_FAILED', 'OUTCOME'],
    ['SKIPPED', 'OUTCOME'],
    ['SNAPSHOT_PENDING', 'SNAPSHOT'],
    ['SNAPSHOT_FAILED', 'SNAPSHOT'],
    ['NO_SNAPSHOT', null],
    ['CURRENT', null],
  ];
  for (const [place, speaker] of speakers) {
    it(`COV-3 at ${place} the last error is ${speaker === null ? 'nobody’s' : `that of ${speaker}`}`, () => {
      const { lastError, message } = at(place);
      expect(lastError?.code ?? null).to.equal(speaker === null ? null : `${speaker}_ERROR`);
      expect(message).to.equal(speaker === null ? null : `${speaker} said so`);
    });
  }

  it('COV-3 an account that has no outcome yet speaks through its task', () => {
    const silent = { outcome: null, errorCode: null, errorMessage: null };
    expect(at('ACCOUNT_PENDING', { accountOutcome: silent }).lastError?.code).to.equal('ACCOUNT_ERROR');
  });

  it('ING-3 COV-3 a refused row keeps its receipt’s sentence', () => {
    const trace = at('INVALID', {
      accepted: false,
      leftAt: 1,
      reason: 'INVALID_FIELD',
      message: 'Send rent …',
    });
    expect(trace).to.include({
      receipt: 'REFUSED',
      leftAt: 'valid',
      message: 'Send rent …',
      lastError: null,
    });
  });

  it('COV-2 an ended row says which push replaced its bill since', () => {
    expect(at('CURRENT').replacedByPushId).to.equal(null);
    expect(at('CURRENT', { billPushId: '9' }).replacedByPushId).to.equal('9');
    expect(at('CURRENT', { billPushId: null }).replacedByPushId).to.equal(null);
  });
});
