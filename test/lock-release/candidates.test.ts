import { expect } from 'chai';
import type { LockReleaseReason } from '../../src/domain/lock-release.ts';
import { clampLimit, runTasks } from '../../src/tasks/run-tasks.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { statusOf } from '../support/engine.ts';
import { makeSubmit } from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';

const EARLY = '2026-01-01 00:00:00.000';
const LATER = '2026-01-02 00:00:00.000';
const NOT_YET = '2199-01-01 00:00:00.000';

describe('lock release: candidates', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  it('LCK-5 takes by itself what is PENDING or FAILED, due, and has attempts left; nothing else', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const make = (
      reason: 'BUILD_FAILED' | 'SUBMIT_CANCEL' | 'ORDER_VOID' | 'RESUBMIT_REFRESH',
      columns: object,
    ) => makeRelease(store, submit, reason, { next_execute_time: EARLY, ...columns });
    const due = await make('BUILD_FAILED', {});
    const failedBefore = await make('SUBMIT_CANCEL', { status: 3, retry_count: 2 });
    const usedUp = await make('ORDER_VOID', { status: 3, retry_count: 3 });
    const notYet = await make('RESUBMIT_REFRESH', { next_execute_time: NOT_YET });
    const other = await makeSubmit(store);
    const deleted = await makeRelease(store, other, 'BUILD_FAILED', {
      next_execute_time: EARLY,
      del_flag: 1,
    });
    const stopped = await makeRelease(store, other, 'SUBMIT_CANCEL', {
      next_execute_time: EARLY,
      activation: 0,
    });
    await makeWorker(store).work();
    for (const code of [due, failedBefore]) expect(await statusOf(store, code)).to.equal('SUCCESS');
    expect(await statusOf(store, usedUp)).to.equal('FAILED');
    for (const code of [notYet, deleted, stopped]) expect(await statusOf(store, code)).to.equal('PENDING');
  });

  it('LCK-5 takes them by due time, then by fewest failures, then by id', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const late = await makeRelease(store, submit, 'BUILD_FAILED', { next_execute_time: LATER });
    const failed = await makeRelease(store, submit, 'SUBMIT_CANCEL', {
      next_execute_time: EARLY,
      status: 3,
      retry_count: 1,
    });
    const first = await makeRelease(store, submit, 'ORDER_VOID', { next_execute_time: EARLY });
    const second = await makeRelease(store, submit, 'RESUBMIT_REFRESH', { next_execute_time: EARLY });
    await makeWorker(store).work();
    const ended = await store.many<{ code: string }>(
      'SELECT task_code code FROM fi_async_task WHERE status = 2 ORDER BY started_time, id',
    );
    expect(ended.map((row) => row.code)).to.deep.equal([first, second, failed, late]);
  });

  it('LCK-5 a run by hand without selectors takes the same ones in the same order; what runs takes up no place', async () => {
    const { store } = testStore;
    const submit = await makeSubmit(store);
    const other = await makeSubmit(store);
    const make = (made: typeof submit, reason: LockReleaseReason, columns: object) =>
      makeRelease(store, made, reason, { next_execute_time: EARLY, ...columns });
    const late = await make(submit, 'BUILD_FAILED', { next_execute_time: LATER });
    const failed = await make(submit, 'SUBMIT_CANCEL', { status: 3, retry_count: 1 });
    const first = await make(submit, 'ORDER_VOID', {});
    const second = await make(submit, 'RESUBMIT_REFRESH', {});
    const earlier = { next_execute_time: '2025-01-01 00:00:00.000' };
    await make(other, 'BUILD_FAILED', { ...earlier, status: 1, slot_no: 1 });
    await make(other, 'SUBMIT_CANCEL', { ...earlier, status: 3, retry_count: 3 });
    await make(other, 'ORDER_VOID', { ...earlier, activation: 0 });
    await make(other, 'RESUBMIT_REFRESH', { ...earlier, del_flag: 1 });
    await make(other, 'COMPENSATION_RELEASE', { next_execute_time: NOT_YET });
    await make(other, 'REVISE_FAILED', { ...earlier, status: 2 });
    const { engine } = makeWorker(store);
    const run = { stage: 'lock-release', maxTaskCount: 50, taskCodes: null, businessKeys: null } as const;
    const { items } = await runTasks(engine, run, 0);
    expect(items.map((item) => item.taskCode)).to.deep.equal([first, second, failed, late]);
  });

  it('LCK-5 a run by hand without selectors takes 50 unless told otherwise, never more than 200', async () => {
    expect([undefined, 0, -3, 7, 200, 5_000].map((asked) => clampLimit(asked))).to.deep.equal([
      50, 50, 50, 7, 200, 200,
    ]);
    const { store } = testStore;
    const submit = await makeSubmit(store);
    await makeRelease(store, submit, 'BUILD_FAILED');
    await makeRelease(store, submit, 'SUBMIT_CANCEL');
    const { engine } = makeWorker(store);
    const run = { stage: 'lock-release', maxTaskCount: 1, taskCodes: null, businessKeys: null } as const;
    expect((await runTasks(engine, run, 0)).selected).to.equal(1);
  });
});
