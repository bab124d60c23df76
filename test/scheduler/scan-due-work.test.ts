import { expect } from 'chai';
import { chooseWakes, type ScanMemory, scanDueWork, scanOnce } from '../../src/scheduler/scan-due-work.ts';
import type { WakeCandidate } from '../../src/store/slots.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import type { Store } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  PARTNER,
  readSlot,
  STAGE,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { insertRow, makePartner } from '../support/factory.ts';

describe('scheduler: the scan', () => {
  let testStore: TestStore;
  let store: Store;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of [
      ...[
        'stage_slot',
        'fi_async_task',
        'stage_control',
        'partner',
        'income_diff_handover',
        'task_stop_request',
      ],
    ])
      await store.change(`DELETE FROM ${table}`);
    made = makeEngine(store);
  });

  const found = async () => {
    await scanOnce(made.engine);
    return [...made.wake.slots, ...made.wake.atFence];
  };
  const fenceOf = async (slotNo = 1) => (await readSlot(store, slotOf(slotNo)))!.fence;

  it('ENG-7 due work wakes one free slot of its partner and stage, by the id under which wakes merge', async () => {
    await makeSlots(store, 4);
    await makeSlots(store, 4, '8');
    await makeTask(store, 'a');
    await makeTask(store, 'b');
    expect(await found()).to.deep.equal([`${STAGE}/${PARTNER}/1`]);
    expect(made.observed.of('scanned')[0]?.slice(0, 2)).to.deep.equal([1, 0]);
  });

  it('ENG-7 what is not due wakes nobody: later, stopped, used up, ended, running', async () => {
    await makeSlots(store, 4);
    await makeTask(store, 'later', { due_in_s: 60 });
    await makeTask(store, 'stopped', { activation: 0 });
    await makeTask(store, 'used up', { status: 3, retry_count: 8 });
    await makeTask(store, 'ended', { status: 2 });
    await makeTask(store, 'running', { status: 1 });
    expect(await found()).to.deep.equal([]);
  });

  it('ENG-7 a failed task whose time has come, and one that a person wants to run, are due work', async () => {
    await makeSlots(store, 1);
    await makeSlots(store, 1, '8');
    await makeTask(store, 'again', { status: 3, retry_count: 2 });
    await makeTask(store, 'by hand', { status: 3, retry_count: 8, manually_due: 1, partner_org_id: '8' });
    expect(await found()).to.have.length(2);
  });

  it('ENG-7 a slot that died is woken under an id that carries its fence, whether or not work is due', async () => {
    await makeSlots(store, 4);
    await takeSlot(made.engine, slotOf(2));
    await takeSlot(made.engine, slotOf(3));
    await endLease(store, slotOf(2), 'now');
    expect(await found()).to.deep.equal([`${STAGE}/${PARTNER}/2@${await fenceOf(2)}`]);
    expect(made.observed.of('scanned')[0]?.slice(0, 2)).to.deep.equal([1, 1]);
  });

  it('ENG-7 a held slot is not woken; a free one beside it is', async () => {
    await makeSlots(store, 2);
    await takeSlot(made.engine, slotOf(1));
    await makeTask(store, 'a');
    expect(await found()).to.deep.equal([`${STAGE}/${PARTNER}/2`]);
  });

  it('ENG-7 STA-17 hand-overs without a segment are work of the difference stage, whoever else is idle', async () => {
    await makeSlots(store, 2, PARTNER, 'income-diff');
    await makeSlots(store, 2);
    await insertRow(store, 'income_diff_handover', {
      station_task_id: '1',
      partner_org_id: PARTNER,
      push_id: '1',
      partner_station_no: 'S1',
      first_row_no: 0,
      last_row_no: 0,
      bill_count: 1,
    });
    expect(await found()).to.deep.equal([`income-diff/${PARTNER}/1`]);
    await store.change('UPDATE income_diff_handover SET message_task_id = 5');
    made.wake.slots.length = 0;
    expect(await found()).to.deep.equal([]);
  });

  it('ENG-14 ENG-7 what is paused wakes nobody; a slot that died there is still woken', async () => {
    await makePartner(store, { partner_org_id: '8', paused: 1 });
    await makeSlots(store, 2);
    await makeSlots(store, 2, '8', 'bill-snapshot');
    await makeTask(store, 'of a paused stage');
    await makeTask(store, 'of a paused partner', { stage: 'bill-snapshot', partner_org_id: '8' });
    await setStagePaused(store, STAGE, true, 'ops');
    expect(await found()).to.deep.equal([]);
    await takeSlot(made.engine, slotOf(1));
    await endLease(store, slotOf(1));
    expect(await found()).to.deep.equal([`${STAGE}/${PARTNER}/1@${await fenceOf()}`]);
    await store.change('UPDATE partner SET paused = 0');
    expect(await found()).to.include('bill-snapshot/8/1');
  });

  it('ENG-7 a wake that is refused ends the scan’s wakes, not the scan', async () => {
    await makeSlots(store, 1);
    await makeSlots(store, 1, '8');
    await makeTask(store, 'a');
    await makeTask(store, 'b', { partner_org_id: '8' });
    let tries = 0;
    made.wake.wakeSlot = async () => {
      tries += 1;
      throw new Error('redis is away');
    };
    await scanOnce(made.engine);
    expect(tries).to.equal(1);
    expect(made.observed.of('trouble')).to.have.length(1);
    expect(made.observed.of('scanned')).to.have.length(1);
  });

  it('ENG-7 a job of the scheduler remembers whom it has woken: next time the lane’s next free slot', async () => {
    await makeSlots(store, 3);
    await makeTask(store, 'a');
    const job = scanDueWork(1_000);
    for (let scan = 0; scan < 4; scan++) await job.runOnce(made.engine);
    expect(made.wake.slots.map((slot) => slot.slice(-1))).to.deep.equal(['1', '2', '3', '1']);
  });

  it('ENG-14 requests to stop that came too late are cleared away; others stand', async () => {
    const ended = await makeTask(store, 'ended', { status: 2 });
    const running = await makeTask(store, 'running', { status: 1 });
    for (const id of [ended, running])
      await store.change("INSERT INTO task_stop_request (task_id, requested_by) VALUES (?, 'ops')", [id]);
    await scanOnce(made.engine);
    expect(await store.many('SELECT task_id id FROM task_stop_request')).to.deep.equal([{ id: running }]);
  });

  describe('choosing', () => {
    const slot = (slotNo: number, more: Partial<WakeCandidate> = {}): WakeCandidate => ({
      ...slotOf(slotNo),
      fence: '5',
      dead: false,
      ...more,
    });
    const names = (candidates: readonly WakeCandidate[], memory: ScanMemory = new Map(), nowMs = 0) =>
      chooseWakes(candidates, memory, nowMs).map(
        ({ slot, atFence }) => `${slot.partnerOrgId}/${slot.slotNo}${atFence ? ' at fence' : ''}`,
      );

    it('ENG-7 all dead slots, one free slot a lane', () => {
      const candidates = [
        slot(1, { dead: true }),
        slot(2),
        slot(3),
        slot(4, { dead: true }),
        slot(1, { partnerOrgId: '8' }),
      ];
      expect(names(candidates)).to.deep.equal(['7/1 at fence', '7/4 at fence', '7/2', '8/1']);
    });

    it('ENG-6 a free slot that nobody takes for ten seconds is woken by an id that no dead job swallows', () => {
      const memory: ScanMemory = new Map([[`${STAGE}/7/1/5`, { sinceMs: 1_000, times: 3 }]]);
      expect(names([slot(1)], memory, 10_999)).to.deep.equal(['7/1']);
      expect(names([slot(1)], memory, 11_000)).to.deep.equal(['7/1 at fence']);
      expect(names([slot(1, { fence: '6' })], memory, 11_000), 'it was taken meanwhile').to.deep.equal([
        '7/1',
      ]);
    });

    it('nothing is chosen of nothing', () => {
      expect(names([])).to.deep.equal([]);
    });
  });
});
