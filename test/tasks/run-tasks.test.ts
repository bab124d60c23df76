import { expect } from 'chai';
import { Failure } from '../../src/errors.ts';
import type { Store } from '../../src/store/transaction.ts';
import { clampLimit, type ManualRun, runTasks } from '../../src/tasks/run-tasks.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  PARTNER,
  readTask,
  STAGE,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('tasks: a manual run', () => {
  let testStore: TestStore;
  let store: Store;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    made = makeEngine(store);
    // A kick that really makes a worker take a turn, as BullMQ would.
    made.wake.kick = (stage, partnerOrgId) => {
      made.wake.kicks.push(`${stage}/${partnerOrgId}`);
      void takeTurn(made.engine, made.toy, slotOf(1, partnerOrgId), { contended: false });
    };
  });

  const run = (selectors: Partial<ManualRun>, waitMaxMs?: number) =>
    runTasks(made.engine, { stage: STAGE, taskCodes: null, businessKeys: null, ...selectors }, waitMaxMs);
  const asleep = () => {
    made.wake.kick = () => {};
  };

  it('ENG-4 codes and business keys are a union, merged, trimmed, distinct, in order of id', async () => {
    await makeTasks(store, ['c', 'a', 'b', 'other']);
    const result = await run({ taskCodes: [' b ', 'a', 'a', ''], businessKeys: ['key of c', ' key of a'] });
    expect(result.items.map((item) => [item.taskCode, item.outcome])).to.deep.equal([
      ['c', 'SUCCEEDED'],
      ['a', 'SUCCEEDED'],
      ['b', 'SUCCEEDED'],
    ]);
    expect(result).to.include({ selected: 3, succeeded: 3, failed: 0, skipped: 0, cancelled: 0 });
  });

  it('ENG-4 due time and retry limit do not count; the retry count is not reset', async () => {
    await makeTask(store, 'due tomorrow', { due_in_s: 86_400 });
    await makeTask(store, 'used up', { status: 3, retry_count: 8 });
    await makeTask(store, 'fails again', { status: 3, retry_count: 8 });
    made.toy.script('fails again', async () => {
      throw new Failure('AGAIN', 'still broken');
    });
    const result = await run({ taskCodes: ['due tomorrow', 'used up', 'fails again'] });
    expect(result.items).to.deep.equal([
      { taskCode: 'due tomorrow', outcome: 'SUCCEEDED', reason: null },
      { taskCode: 'used up', outcome: 'SUCCEEDED', reason: null },
      { taskCode: 'fails again', outcome: 'FAILED', reason: 'still broken' },
    ]);
    expect(await readTask(store, 'used up')).to.include({ status: 2, retryCount: 8, manuallyDue: 0 });
    expect(await readTask(store, 'fails again')).to.include({
      status: 3,
      retryCount: 9,
      manuallyDue: 0,
      claimable: null,
    });
    expect(made.toy.halts).to.deep.equal([
      'used up REOPENED MANUAL_RUN',
      'fails again REOPENED MANUAL_RUN',
      'fails again FAILED AGAIN',
    ]);
  });

  it('ENG-4 end states, stopped tasks and what a live holder has are skipped, each with its reason', async () => {
    asleep();
    await makeTask(store, 'succeeded', { status: 2 });
    await makeTask(store, 'cancelled', { status: 4 });
    await makeTask(store, 'stopped', { activation: 0 });
    await makeTask(store, 'at work');
    await takeSlot(makeEngine(store, { worker: 'worker-z' }).engine, slotOf());
    const result = await run({ taskCodes: ['succeeded', 'cancelled', 'stopped', 'at work'] });
    expect(result.items.map((item) => [item.outcome, item.reason])).to.deep.equal([
      ['SKIPPED', 'It has succeeded already'],
      ['SKIPPED', 'It was cancelled'],
      ['SKIPPED', 'It is stopped; resume it first'],
      ['SKIPPED', 'It is being worked on by worker-z'],
    ]);
    expect(result.skipped).to.equal(4);
    expect(await readTask(store, 'stopped')).to.include({ manuallyDue: 0, activation: 0 });
    expect(await readTask(store, 'at work')).to.include({ manuallyDue: 0, status: 1 });
  });

  it('ENG-4 what a dead holder has is no reason to skip: its slot is woken, and the task runs', async () => {
    await makeTask(store, 'orphan');
    await takeSlot(makeEngine(store, { worker: 'worker-dead' }).engine, slotOf());
    await endLease(store, slotOf());
    made.wake.wakeSlotAtFence = async (slot) => {
      void takeTurn(made.engine, made.toy, slot, { contended: false });
    };
    const result = await run({ taskCodes: ['orphan'] });
    expect(result.items).to.deep.equal([{ taskCode: 'orphan', outcome: 'SUCCEEDED', reason: null }]);
  });

  it('ENG-4 what has not ended in time is still waiting, not failed', async () => {
    asleep();
    await makeTask(store, 'slow', { status: 3, retry_count: 8 });
    const result = await run({ taskCodes: ['slow'] }, 50);
    expect(result.items).to.deep.equal([{ taskCode: 'slow', outcome: 'STILL_WAITING', reason: null }]);
    expect(result).to.include({ selected: 1, succeeded: 0, failed: 0, skipped: 0 });
    expect(await readTask(store, 'slow'), 'it is due and will run').to.include({
      manuallyDue: 1,
      claimable: 1,
    });
  });

  it('ENG-4 a task that is asked to run and finds a busy guard goes on being due, though its attempts are used up', async () => {
    await makeTask(store, 'waits', { status: 3, retry_count: 8 });
    made.toy.script('waits', async () => ({ kind: 'postponed', dueInMs: 0, busy: true }));
    made.toy.effectKey = (task) => `${task.taskCode} ${task.runningAttempt}`;
    const short = { ...made.engine, limits: { ...made.engine.limits, sliceMs: 0 } };
    made.wake.kick = () => void takeTurn(short, made.toy, slotOf(), { contended: false });
    const result = await run({ taskCodes: ['waits'] }, 400);
    expect(result.items[0]?.outcome).to.equal('STILL_WAITING');
    expect(await readTask(store, 'waits')).to.include({
      status: 0,
      retryCount: 8,
      manuallyDue: 1,
      claimable: 1,
    });
    made.toy.script('waits', async () => undefined);
    await takeTurn(made.engine, made.toy, slotOf(), { contended: false });
    expect(await readTask(store, 'waits')).to.include({ status: 2, manuallyDue: 0 });
  });

  it('ENG-4 a task that is cancelled while it is waited for is told as cancelled', async () => {
    await makeTask(store, 'a');
    made.toy.script('a', async () => ({ kind: 'cancelled', code: 'X', message: 'superseded' }));
    const result = await run({ taskCodes: ['a'] });
    expect(result.items).to.deep.equal([{ taskCode: 'a', outcome: 'CANCELLED', reason: 'superseded' }]);
  });

  it('ENG-4 without selectors, what is due runs: of that stage, no more than the limit', async () => {
    await makeTasks(store, ['a', 'b', 'c']);
    await makeTask(store, 'later', { due_in_s: 60 });
    await makeTask(store, 'of another stage', { stage: 'bill-snapshot' });
    const result = await run({ maxTaskCount: 2 });
    expect(result.items.map((item) => item.taskCode)).to.deep.equal(['a', 'b']);
  });

  it('ENG-4 of named tasks no more than the limit run, the first by id', async () => {
    for (const code of ['a', 'b', 'c']) await makeTask(store, code, { due_in_s: 60 });
    const result = await run({ taskCodes: ['c', 'b', 'a'], maxTaskCount: 2 });
    expect(result.items.map((item) => item.taskCode)).to.deep.equal(['a', 'b']);
    expect(await readTask(store, 'c')).to.include({ status: 0, manuallyDue: 0 });
  });

  it('ENG-4 a stage runs its own tasks alone, whatever is named', async () => {
    await makeTask(store, 'of another stage', { stage: 'bill-snapshot' });
    expect(await run({ taskCodes: ['of another stage'] })).to.include({ selected: 0 });
  });

  for (const [what, selectors] of [
    ['codes', { taskCodes: [] }],
    ['codes of blanks', { taskCodes: ['', '  '] }],
    ['keys', { businessKeys: [] }],
    ['keys beside codes', { taskCodes: ['a'], businessKeys: ['\t'] }],
  ] as const) {
    it(`ENG-4 selectors that are given but blank are an error and nothing runs: ${what}`, async () => {
      await makeTask(store, 'a');
      const outcome = await run(selectors).catch((error) => error);
      expect(outcome).to.be.instanceOf(Failure).with.property('code', 'BLANK_SELECTOR');
      expect(await effectKeys(store)).to.deep.equal([]);
      expect(made.wake.kicks).to.deep.equal([]);
    });
  }

  for (const [asked, limit] of [
    [undefined, 50],
    [0, 50],
    [-3, 50],
    [1, 1],
    [200, 200],
    [201, 200],
    [Number.MAX_SAFE_INTEGER, 200],
  ] as const) {
    it(`ENG-4 a limit of ${asked} is ${limit}`, () => {
      expect(clampLimit(asked)).to.equal(limit);
    });
  }

  for (const asked of [Number.NaN, 1.5, Number.POSITIVE_INFINITY]) {
    it(`ENG-4 a limit that cannot be read (${asked}) is an error and nothing runs`, async () => {
      await makeTask(store, 'a');
      const outcome = await run({ maxTaskCount: asked }).catch((error) => error);
      expect(outcome).to.be.instanceOf(Failure).with.property('code', 'BAD_LIMIT');
      expect(await effectKeys(store)).to.deep.equal([]);
    });
  }

  it('ENG-4 each partner whose tasks were named is woken once', async () => {
    await makeSlots(store, 1, '8');
    await makeTask(store, 'a');
    await makeTask(store, 'b', { partner_org_id: '8' });
    await makeTask(store, 'c', { partner_org_id: '8' });
    await run({ taskCodes: ['a', 'b', 'c'] });
    expect(made.wake.kicks).to.deep.equal([`${STAGE}/${PARTNER}`, `${STAGE}/8`]);
  });

  it('a process that stops does not wait for the ends', async () => {
    asleep();
    await makeTask(store, 'a');
    const waiting = run({ taskCodes: ['a'] });
    made.stopping.abort();
    expect((await waiting).items[0]?.outcome).to.equal('STILL_WAITING');
  });
});
