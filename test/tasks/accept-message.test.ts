import { expect } from 'chai';
import {
  type DifferenceMessage,
  messageTaskCode,
  newTaskMainId,
} from '../../src/domain/difference-message.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { acceptMessage } from '../../src/tasks/accept-message.ts';
import { openTestStore, type TestStore } from '../support/database.ts';

describe('actors: a new difference message', () => {
  let testStore: TestStore;
  let store: Store;
  before(async () => {
    testStore = await openTestStore();
    store = testStore.store;
  });
  after(() => testStore.drop());

  const messageFor = (taskMainId: string, stationTaskId: string): DifferenceMessage => ({
    taskMainId,
    parentTraceId: 'trace',
    startTime: '1772323200000',
    recordTimestamp: '1772323200000',
    requestparams: {
      entry: 'PARTNER_BILLS',
      pushId: '1',
      acceptNo: '1',
      stations: [{ stationTaskId, partnerStationNo: `S${stationTaskId}`, batchDeduction: null, bills: [] }],
    },
  });
  const accept = (message: DifferenceMessage) =>
    store.transaction(NEW_READ_COMMITTED, (tx) => acceptMessage(tx, '7', message));

  it('DIF-1 an id that another message has is drawn again: neither message loses its stations', async () => {
    const taskMainId = newTaskMainId(1_772_323_200_000);
    const first = await accept(messageFor(taskMainId, '11'));
    const second = await accept(messageFor(taskMainId, '12'));
    expect(first.taskCode).to.equal(messageTaskCode(messageFor(taskMainId, '11')));
    expect(second.taskCode).to.not.equal(first.taskCode);
    const rows = await store.many<{ id: string; code: string; station: string; own: string }>(
      `SELECT id, task_code code, business_key own,
              JSON_UNQUOTE(JSON_EXTRACT(task_data, '$.requestparams.stations[0].stationTaskId')) station
         FROM fi_async_task ORDER BY id`,
    );
    expect(rows).to.deep.equal([
      { id: first.id, code: first.taskCode, own: first.taskCode, station: '11' },
      { id: second.id, code: second.taskCode, own: second.taskCode, station: '12' },
    ]);
  });
});
