import { expect } from 'chai';
import { closeSegments, takeSegment } from '../../actors/diff/close-segments.ts';
import type { DifferenceMessage } from '../../src/domain/difference-message.ts';
import { Place } from '../../src/domain/place.ts';
import { Activation } from '../../src/domain/task-status.ts';
import { FencedOutError } from '../../src/errors.ts';
import { assignToMessage } from '../../src/store/diff-handovers.ts';
import type { SlotRight } from '../../src/store/slots.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { holdRows, makeTask } from '../support/engine.ts';
import { type Columns, insertNumberedRow, insertRows } from '../support/factory.ts';
import {
  type Claimed,
  claim,
  makeStagedPartner,
  openStages,
  type Stages,
  unclaim,
} from '../support/stages.ts';
import { WatchedStore } from '../support/watched-store.ts';

const STAGE = 'income-diff';

describe('actors: segments of the difference stage', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages();
    store = stages.store;
  });
  after(() => stages.close());

  let lastPush = 0;
  interface Handed {
    readonly partnerOrgId: string;
    readonly pushId: string;
  }
  /** A push whose stations have committed: a hand-over each, with as many bills as said. */
  async function handOver(partnerOrgId: string, billCounts: readonly number[], waitedS = 0): Promise<Handed> {
    const acceptNo = ++lastPush;
    const pushId = await insertNumberedRow(store, 'partner_push', {
      partner_org_id: partnerOrgId,
      idempotency_key: `push-${acceptNo}`,
      trace_id: `trace-${acceptNo}`,
      accept_no: acceptNo,
      code: 'ACCEPTED',
      expires_at: '2099-01-01',
    });
    const handovers: Columns[] = [];
    const rows: Columns[] = [];
    for (const [index, billCount] of billCounts.entries()) {
      const first = rows.length + 1;
      for (let count = 0; count < billCount; count++)
        rows.push({
          push_id: pushId,
          row_no: rows.length + 1,
          place: Place.DIFF_PENDING,
          bill_id: rows.length + 1000,
        });
      handovers.push({
        station_task_id: Number(pushId) * 10_000 + index,
        partner_org_id: partnerOrgId,
        push_id: pushId,
        partner_station_no: `S${index}`,
        platform_station_id: index + 1,
        first_row_no: first,
        last_row_no: rows.length,
        bill_count: billCount,
        batch_deduction: '1.00',
      });
    }
    await insertRows(
      store,
      'pushed_row',
      rows.map(({ push_id, row_no }) => ({
        push_id: push_id!,
        row_no: row_no!,
        receipt_index: row_no!,
        accepted: 1,
        content_hash: '0'.repeat(64),
      })),
    );
    await insertRows(store, 'pushed_row_place', rows);
    await insertRows(store, 'income_diff_handover', handovers);
    await store.change(
      'UPDATE income_diff_handover SET create_time = NOW(3) - INTERVAL ? SECOND WHERE push_id = ?',
      [waitedS, pushId],
    );
    return { partnerOrgId, pushId };
  }
  /** A station of the push that has not handed anything over. */
  const openStation = ({ pushId, partnerOrgId }: Handed, columns: Columns = {}) =>
    makeTask(store, `open-${pushId}-${Math.random()}`, {
      stage: 'bill-station',
      push_id: pushId,
      partner_org_id: partnerOrgId,
      ...columns,
    });
  const partner = async () => (await makeStagedPartner(store)).partnerOrgId;
  const close = async ({ partnerOrgId }: Handed) => {
    const held = await claim(stages, STAGE, partnerOrgId);
    await closeSegments(store, held.right);
    await unclaim(store, held);
  };

  interface Message {
    readonly id: string;
    readonly status: number;
    readonly data: DifferenceMessage;
  }
  const messagesOf = ({ pushId }: Handed) =>
    store.many<Message>(
      "SELECT id, status, task_data data FROM fi_async_task WHERE push_id = ? AND stage = 'income-diff' ORDER BY id",
      [pushId],
    );
  const sizesOf = async (handed: Handed) =>
    (await messagesOf(handed)).map(({ data }) =>
      data.requestparams.stations
        .map((station) => station.bills.length)
        .reduce((sum, count) => sum + count, 0),
    );
  const openOf = async ({ pushId }: Handed) =>
    Number(
      (
        await store.one<{ n: string }>(
          'SELECT COUNT(*) n FROM income_diff_handover WHERE push_id = ? AND message_task_id = 0',
          [pushId],
        )
      ).n,
    );

  describe('what goes together', () => {
    const table: [what: string, bills: readonly number[], taken: number][] = [
      ['nothing', [], 0],
      ['less than the limit', [12, 12], 2],
      ['exactly the limit', [200, 200, 100], 3],
      ['whole stations only: one that would go over it stays', [300, 199, 2], 2],
      ['one above the limit, alone', [501, 1], 1],
      ['one above the limit, behind others', [1, 501], 1],
    ];
    for (const [what, bills, taken] of table) {
      it(`STA-17 ${what}`, () => {
        expect(takeSegment(bills.map((billCount) => ({ billCount })))).to.have.length(taken);
      });
    }
  });

  it('STA-17 the bills of a push go in messages of up to 500, whole stations, in their order; none is left', async () => {
    const handed = await handOver(
      await partner(),
      Array.from({ length: 90 }, () => 12),
    );
    await close(handed);
    // 41 stations make 492 bills; the 42nd would make it 504.
    expect(await sizesOf(handed)).to.deep.equal([492, 492, 96]);
    const stations = (await messagesOf(handed)).flatMap(({ data }) =>
      data.requestparams.stations.map((station) => station.partnerStationNo),
    );
    expect(stations).to.deep.equal(Array.from({ length: 90 }, (_, index) => `S${index}`));
    expect(await openOf(handed)).to.equal(0);
  });

  it('DIF-1 a message has an id of its own, its push’s trace and order number, and the time of its closing', async () => {
    const handed = await handOver(await partner(), [2, 1]);
    await close(handed);
    const [{ id, data }] = (await messagesOf(handed)) as [Message];
    const { trace, acceptNo } = await store.one<{ trace: string; acceptNo: string }>(
      'SELECT trace_id trace, accept_no acceptNo FROM partner_push WHERE push_id = ?',
      [handed.pushId],
    );
    expect(data.parentTraceId).to.equal(trace);
    expect(data.taskMainId).to.match(/^[1-9]\d{17,18}$/);
    expect(data.requestparams).to.include({ entry: 'PARTNER_BILLS', pushId: handed.pushId, acceptNo });
    const { nowMs } = await store.one<{ nowMs: string }>('SELECT UNIX_TIMESTAMP(NOW(3)) * 1000 nowMs');
    expect(Number(nowMs) - Number(data.startTime)).to.be.within(0, 10_000);
    expect(
      data.requestparams.stations.map(({ batchDeduction, bills }) => [batchDeduction, bills.length]),
    ).to.deep.equal([
      ['1.00', 2],
      ['1.00', 1],
    ]);
    const handovers = await store.many<{ messageTaskId: string }>(
      'SELECT DISTINCT message_task_id messageTaskId FROM income_diff_handover WHERE push_id = ?',
      [handed.pushId],
    );
    expect(handovers).to.deep.equal([{ messageTaskId: id }]);
  });

  it('STA-12 STA-17 a row that lost is in no message, though it lies between rows of its station that won', async () => {
    const handed = await handOver(await partner(), [3]);
    await store.change(
      'UPDATE pushed_row_place SET place = ?, superseded_by_push_id = 1 WHERE push_id = ? AND row_no = 2',
      [Place.STALE, handed.pushId],
    );
    await close(handed);
    const [{ data }] = (await messagesOf(handed)) as [Message];
    expect(
      data.requestparams.stations.map((station) => station.bills.map((handedBill) => handedBill.rowNo)),
    ).to.deep.equal([[1, 3]]);
  });

  it('STA-16 a hand-over that is in a message is taken into no other, and the message stands or falls whole', async () => {
    const handed = await handOver(await partner(), [1, 1]);
    const [first, second] = [0, 1].map((index) => String(Number(handed.pushId) * 10_000 + index));
    await assignToMessage(store, { stationTaskIds: [first!], fromTaskId: '0', toTaskId: '77' });
    const outcome = await store
      .transaction(NEW_READ_COMMITTED, (tx) =>
        assignToMessage(tx, { stationTaskIds: [first!, second!], fromTaskId: '0', toTaskId: '78' }),
      )
      .catch((error: Error) => error.name);
    expect(outcome).to.equal('RowCountError');
    const now = await store.many<{ messageTaskId: string }>(
      'SELECT message_task_id messageTaskId FROM income_diff_handover WHERE push_id = ? ORDER BY station_task_id',
      [handed.pushId],
    );
    expect(now.map((row) => row.messageTaskId)).to.deep.equal(['77', '0']);
  });

  it('STA-17 no bills, no message', async () => {
    const handed = await handOver(await partner(), []);
    await close(handed);
    expect(await messagesOf(handed)).to.deep.equal([]);
  });

  it('STA-17 a short segment waits while a station of its push is in its first attempt; a full one does not', async () => {
    const handed = await handOver(
      await partner(),
      Array.from({ length: 50 }, () => 12),
    );
    const open = await openStation(handed);
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([492]);
    expect(await openOf(handed)).to.equal(9);
    await store.change('UPDATE fi_async_task SET status = 2 WHERE id = ?', [open]);
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([492, 108]);
  });

  for (const [what, bills] of [
    ['of exactly 500 bills', [250, 250]],
    ['of 500 stations with a bill each', Array.from({ length: 500 }, () => 1)],
    ['of one station with more than 500 bills', [501]],
  ] as const) {
    it(`STA-17 a segment ${what} is full: it waits for nobody`, async () => {
      const handed = await handOver(await partner(), bills);
      await openStation(handed);
      await close(handed);
      expect(await openOf(handed)).to.equal(0);
    });
  }

  const notFirst: [what: string, columns: Columns][] = [
    ['has failed once', { status: 3, retry_count: 1 }],
    ['failed and runs again', { status: 1, retry_count: 1 }],
    ['was rescued after a crash', { crash_count: 1 }],
    ['was stopped', { activation: Activation.STOPPED }],
    ['has failed for good', { status: 3, retry_count: 8 }],
    ['was cancelled', { status: 4 }],
  ];
  it(`STA-17 STA-18 a station that ${notFirst.map(([what]) => what).join(', ')} holds nobody back`, async () => {
    const handed = await handOver(await partner(), [1]);
    for (const [, columns] of notFirst) await openStation(handed, columns);
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([1]);
  });

  for (const [status, name] of [
    [0, 'waits for its turn or for a lease'],
    [1, 'runs'],
  ] as const) {
    it(`STA-17 a station that ${name} holds the others back for ten seconds, and no longer`, async () => {
      const partnerOrgId = await partner();
      const young = await handOver(partnerOrgId, [1], 9);
      await openStation(young, { status });
      await close(young);
      expect(await sizesOf(young)).to.deep.equal([]);
      await store.change(
        'UPDATE income_diff_handover SET create_time = NOW(3) - INTERVAL 10 SECOND WHERE push_id = ?',
        [young.pushId],
      );
      await close(young);
      expect(await sizesOf(young)).to.deep.equal([1]);
    });
  }

  it('STA-17 the ten seconds are those of the oldest hand-over, however young the others are', async () => {
    const handed = await handOver(await partner(), [1, 1]);
    await openStation(handed);
    await store.change(
      'UPDATE income_diff_handover SET create_time = NOW(3) - INTERVAL 11 SECOND WHERE station_task_id = ?',
      [Number(handed.pushId) * 10_000 + 1],
    );
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([2]);
  });

  it('STA-17 the last station, which commits between the two reads, is counted as open: it goes with the others', async () => {
    const handed = await handOver(await partner(), [1, 1]);
    const last = Number(handed.pushId) * 10_000 + 1;
    const lastTask = await openStation(handed, { status: 1 });
    // The hand-over of a station that has not committed yet is nobody's to see.
    const show = (seen: boolean) =>
      store.change('UPDATE income_diff_handover SET message_task_id = ? WHERE station_task_id = ?', [
        seen ? 0 : 1,
        last,
      ]);
    await show(false);
    const held = await claim(stages, STAGE, handed.partnerOrgId);
    const watched = new WatchedStore((await stages.testStore.openAnother()).orm);
    let reads = 0;
    watched.before = async (statement) => {
      if (!/FROM (income_diff_handover|fi_async_task) .*(SKIP LOCKED|'bill-station')/.test(statement)) return;
      reads += 1;
      if (reads !== 2) return;
      await show(true);
      await store.change('UPDATE fi_async_task SET status = 2 WHERE id = ?', [lastTask]);
    };
    await closeSegments(watched, held.right);
    expect(reads).to.be.at.least(2);
    expect(await sizesOf(handed), 'not without the last one').to.deep.equal([]);
    await unclaim(store, held);
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([2]);
  });

  it('STA-17 a station of another push holds nobody back, and two pushes never share a message', async () => {
    const partnerOrgId = await partner();
    const first = await handOver(partnerOrgId, [1, 1]);
    const second = await handOver(partnerOrgId, [1]);
    await openStation(second);
    await close(first);
    expect([await sizesOf(first), await sizesOf(second)]).to.deep.equal([[2], []]);
  });

  it('STA-16 STA-17 closers at the same time put each station into exactly one message', async () => {
    const partnerOrgId = await partner();
    const handed = await Promise.all(
      [1, 2].map(() =>
        handOver(
          partnerOrgId,
          Array.from({ length: 120 }, () => 11),
        ),
      ),
    );
    const held = await Promise.all([1, 2, 3, 4].map((slotNo) => claim(stages, STAGE, partnerOrgId, slotNo)));
    const stores = [store, ...(await Promise.all([1, 2, 3].map(() => stages.testStore.openAnother())))];
    await Promise.all(held.map(({ right }, index) => closeSegments(stores[index]!, right)));
    for (const one of handed) {
      const messages = await messagesOf(one);
      const stations = messages.flatMap(({ data }) => data.requestparams.stations);
      const taskIds = stations.map((station) => station.stationTaskId);
      expect(new Set(taskIds).size).to.equal(120);
      expect(taskIds).to.have.length(120);
      for (const { id, data } of messages) {
        const named = data.requestparams.stations.map((station) => station.stationTaskId);
        const assigned = await store.many<{ id: string }>(
          'SELECT station_task_id id FROM income_diff_handover WHERE message_task_id = ?',
          [id],
        );
        expect(assigned.map((row) => row.id)).to.have.members(named);
      }
      expect(Math.max(...(await sizesOf(one)))).to.be.at.most(500);
    }
    await Promise.all(held.map((one) => unclaim(store, one)));
  });

  it('STA-17 a station that another closer has in hand is passed over, not waited for', async () => {
    const handed = await handOver(await partner(), [3, 2, 1]);
    const other = await stages.testStore.openAnother();
    const held = await holdRows(
      other,
      'SELECT station_task_id FROM income_diff_handover WHERE station_task_id = ? FOR UPDATE',
      [Number(handed.pushId) * 10_000 + 1],
    );
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([4]);
    await held.release();
    await close(handed);
    expect(await sizesOf(handed)).to.deep.equal([4, 2]);
  });

  it('STA-17 ENG-9 who has lost the slot closes nothing', async () => {
    const handed = await handOver(await partner(), [1]);
    const held: Claimed = await claim(stages, STAGE, handed.partnerOrgId);
    const lost: SlotRight = { ...held.right, fence: String(BigInt(held.right.fence) - 1n) };
    const outcome = await closeSegments(store, lost).catch((error: Error) => error);
    expect(outcome).to.be.instanceOf(FencedOutError);
    expect(await openOf(handed)).to.equal(1);
    await unclaim(store, held);
  });

  it('STA-17 a turn closes what is open and then works on it', async () => {
    const handed = await handOver(await partner(), [1]);
    await stages.turn(STAGE, handed.partnerOrgId);
    const [message] = await messagesOf(handed);
    expect(message, 'claimed in the same turn').to.not.include({ status: 0 });
  });
});
