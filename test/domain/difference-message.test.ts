import { expect } from 'chai';
import fc from 'fast-check';
import {
  type DifferenceMessage,
  isPartnerMessage,
  type MessageStation,
  messageTaskCode,
  newTaskMainId,
  orderOf,
  type PlatformEntry,
  requestIdOf,
  rowNosOf,
  rowsOfMessage,
  withStations,
} from '../../src/domain/difference-message.ts';
import { eventMonth } from '../../src/domain/month.ts';

const station = (number: number, rowNos: readonly number[]): MessageStation => ({
  stationTaskId: String(number),
  partnerStationNo: `S${number}`,
  batchDeduction: '10.00',
  bills: rowNos.map((rowNo) => ({ billId: `${number}${rowNo}`, rowNo, dataVersion: '0' })),
});
const message = (rest: Partial<DifferenceMessage> = {}): DifferenceMessage => ({
  taskMainId: '3801234567890123456',
  parentTraceId: 'trace-1',
  startTime: '1772323200000',
  recordTimestamp: '1772323200001',
  requestparams: {
    entry: 'PARTNER_BILLS',
    pushId: '5',
    acceptNo: '12',
    stations: [station(1, [1, 2]), station(2, [3])],
  },
  ...rest,
});

describe('a difference message', () => {
  for (const taskMainId of ['1', '3801234567890123456', '9223372036854775807']) {
    it(`DIF-2 with the positive taskMainId ${taskMainId} it is named after it`, () => {
      expect(requestIdOf(message({ taskMainId }))).to.equal(`MONTHLY_DIFF:${taskMainId}`);
    });
  }

  for (const taskMainId of ['0', '-1', '', ' 5', '5.0', '1e3', 'abc', '００1']) {
    it(`DIF-2 with "${taskMainId}", which is no positive number, it is named after its raw request parameters`, () => {
      const id = requestIdOf(message({ taskMainId }));
      expect(id).to.match(/^MONTHLY_DIFF:[0-9a-f]{64}$/);
      expect(
        requestIdOf(message({ taskMainId, startTime: '1', parentTraceId: 'other' })),
        'nothing else counts',
      ).to.equal(id);
      const other = message({ taskMainId });
      const changed = { ...other, requestparams: { ...other.requestparams, acceptNo: '13' } };
      expect(requestIdOf(changed)).to.not.equal(id);
    });
  }

  it('DIF-2 both forms fit the task’s code', () => {
    for (const taskMainId of ['9223372036854775807', '0'])
      expect(messageTaskCode(message({ taskMainId })).length).to.be.at.most(160);
  });

  it('DIF-1 a new id is a positive 63-bit number, another each time, and grows from millisecond to millisecond', () => {
    const nowMs = Date.UTC(2026, 2, 1);
    const ids = Array.from({ length: 50 }, () => BigInt(newTaskMainId(nowMs)));
    expect(new Set(ids).size).to.be.above(45);
    for (const id of ids) expect(id > 0n && id < 2n ** 63n).to.equal(true);
    const later = BigInt(newTaskMainId(nowMs + 1));
    expect(ids.every((id) => id < later)).to.equal(true);
    expect(
      BigInt(newTaskMainId(Date.UTC(2099, 11, 31))) < 2n ** 63n,
      'for as long as months are valid',
    ).to.equal(true);
  });

  it('DIF-3 an id is never read as an instant, whenever it was made', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2100, 0, 1) - 1 }), (nowMs) => {
        expect(eventMonth([newTaskMainId(nowMs)])).to.equal(null);
      }),
    );
  });

  it('DIF-16 a part has an identity of its own, its stations alone, and all else from its parent', () => {
    const parent = message();
    const [first, second] = parent.requestparams.stations as [MessageStation, MessageStation];
    const parts = [first, second].map((one) => withStations(parent, [one], Date.UTC(2026, 2, 1)));
    expect(new Set([parent, ...parts].map(requestIdOf)).size).to.equal(3);
    parts.forEach((part, index) => {
      const { taskMainId, ...rest } = part;
      expect(taskMainId).to.match(/^[1-9]\d*$/);
      expect(rest).to.deep.equal({
        parentTraceId: parent.parentTraceId,
        startTime: parent.startTime,
        recordTimestamp: parent.recordTimestamp,
        requestparams: { ...parent.requestparams, stations: [parent.requestparams.stations[index]] },
      });
    });
    expect(parts.flatMap((part) => rowNosOf(part.requestparams.stations))).to.deep.equal(
      rowNosOf(parent.requestparams.stations),
    );
  });

  describe('of platform bills', () => {
    const stations = ['70', '71'].map((platformStationId) => ({
      platformStationId,
      bills: [{ billId: `${platformStationId}1`, billYearMonth: '2026-01' }],
    }));
    const platform = (entry: PlatformEntry['entry'], taskMainId = '5'): DifferenceMessage<PlatformEntry> => ({
      ...message({ taskMainId }),
      requestparams: { entry, stations },
    });

    it('DIF-4 it is no push’s, has no order number, and carries no pushed rows', () => {
      for (const entry of ['PLATFORM_CHANGED', 'PLATFORM_DELETED'] as const) {
        expect(isPartnerMessage(platform(entry))).to.equal(false);
        expect(orderOf(platform(entry))).to.deep.equal({ pushId: '0', acceptNo: '0' });
        expect(rowsOfMessage(platform(entry))).to.deep.equal([]);
      }
      expect(isPartnerMessage(message())).to.equal(true);
      expect(orderOf(message())).to.deep.equal({ pushId: '5', acceptNo: '12' });
      expect(rowsOfMessage(message())).to.deep.equal([1, 2, 3]);
    });

    it('DIF-2 it is named like any other, and the entry is part of what it asks for', () => {
      expect(requestIdOf(platform('PLATFORM_CHANGED'))).to.equal('MONTHLY_DIFF:5');
      const digests = (['PLATFORM_CHANGED', 'PLATFORM_DELETED'] as const).map((entry) =>
        requestIdOf(platform(entry, '0')),
      );
      for (const digest of digests) expect(digest).to.match(/^MONTHLY_DIFF:[0-9a-f]{64}$/);
      expect(digests[0]).to.not.equal(digests[1]);
    });

    it('DIF-16 a part of it is of the same entry, for its stations alone', () => {
      const part = withStations(platform('PLATFORM_DELETED'), stations.slice(1), Date.UTC(2026, 2, 1));
      expect(part.requestparams).to.deep.equal({ entry: 'PLATFORM_DELETED', stations: stations.slice(1) });
      expect(requestIdOf(part)).to.not.equal('MONTHLY_DIFF:5');
    });
  });

  it('COV-2 its rows are those of all bills of all its stations', () => {
    expect(rowNosOf([station(1, [4, 2]), station(2, []), station(3, [9])])).to.deep.equal([4, 2, 9]);
    expect(rowNosOf([])).to.deep.equal([]);
  });
});
