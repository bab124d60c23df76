import { expect } from 'chai';
import { closeSegments } from '../../actors/diff/close-segments.ts';
import type { SlotRight } from '../../src/store/slots.ts';
import type { Store } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { insertNumberedRow, insertRow, makePartner } from '../support/factory.ts';

const RIGHT = { stage: 'income-diff', slotNo: 1, holder: 'worker-a', fence: '5' } as const;

describe('actors: closing segments', () => {
  let testStore: TestStore;
  let store: Store;
  before(async () => {
    testStore = await openTestStore();
    store = testStore.store;
  });
  after(() => testStore.drop());

  async function heldSlot(partnerOrgId: string): Promise<SlotRight> {
    await store.change(
      `INSERT INTO stage_slot (stage, partner_org_id, slot_no, holder, fence, lease_end)
       VALUES ('income-diff', ?, 1, 'worker-a', 5, SYSDATE(3) + INTERVAL 60 SECOND)`,
      [partnerOrgId],
    );
    return { ...RIGHT, partnerOrgId };
  }

  async function handedOver(partnerOrgId: string, stationTaskId: number, acceptNo: number | null) {
    const pushId = await insertNumberedRow(store, 'partner_push', {
      partner_org_id: partnerOrgId,
      idempotency_key: `key-${stationTaskId}`,
      trace_id: 'trace',
      accept_no: acceptNo,
      code: 'ACCEPTED',
      expires_at: '2036-01-01 00:00:00.000',
    });
    await insertRow(store, 'income_diff_handover', {
      station_task_id: stationTaskId,
      partner_org_id: partnerOrgId,
      push_id: pushId,
      partner_station_no: `S${stationTaskId}`,
      first_row_no: 1,
      last_row_no: 1,
      bill_count: 1,
    });
    return pushId;
  }

  it('STA-17 a push whose segment cannot be closed holds up no other, and is not passed over in silence', async () => {
    const { partnerOrgId } = await makePartner(store);
    const broken = await handedOver(partnerOrgId, 901, 1);
    const sound = await handedOver(partnerOrgId, 902, 2);
    await store.change('DELETE FROM partner_push WHERE push_id = ?', [broken]);
    const right = await heldSlot(partnerOrgId);
    const outcome = await closeSegments(store, right).then(
      () => 'closed',
      (error: Error) => error.name,
    );
    const open = await store.many(
      'SELECT push_id pushId FROM income_diff_handover WHERE partner_org_id = ? AND message_task_id = 0',
      [partnerOrgId],
    );
    expect(open).to.deep.equal([{ pushId: broken }]);
    const messages = await store.many(
      "SELECT push_id pushId FROM fi_async_task WHERE stage = 'income-diff' AND partner_org_id = ?",
      [partnerOrgId],
    );
    expect(messages).to.deep.equal([{ pushId: sound }]);
    expect(outcome).to.equal('RowCountError');
  });

  it('ENG-9 who has lost the slot closes nothing, and tries no further push', async () => {
    const { partnerOrgId } = await makePartner(store);
    await handedOver(partnerOrgId, 911, 1);
    await handedOver(partnerOrgId, 912, 2);
    const right = await heldSlot(partnerOrgId);
    const outcome = await closeSegments(store, { ...right, fence: '4' }).then(
      () => 'closed',
      (error: Error) => error.name,
    );
    expect(outcome).to.equal('FencedOutError');
    const closed = await store.many(
      'SELECT push_id FROM income_diff_handover WHERE partner_org_id = ? AND message_task_id <> 0',
      [partnerOrgId],
    );
    expect(closed).to.deep.equal([]);
  });
});
