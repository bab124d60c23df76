import { expect } from 'chai';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { runTasks } from '../../src/tasks/run-tasks.ts';
import type { TestStore } from '../support/database.ts';
import {
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  readTask,
  STAGE,
  type TestEngine,
  untilWaiting,
} from '../support/engine.ts';

describe('tasks: a manual run while somebody else changes the task', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let made: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task']) await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    made = makeEngine(store);
  });

  /** The run has chosen the task and waits for its row, which meanwhile becomes something else. */
  async function runWhile(taskCode: string, change: string) {
    let running: ReturnType<typeof runTasks> | null = null;
    await other.transaction(NEW_READ_COMMITTED, async (tx) => {
      await tx.many('SELECT id FROM fi_async_task WHERE task_code = ? FOR UPDATE', [taskCode]);
      running = runTasks(made.engine, { stage: STAGE, taskCodes: [taskCode], businessKeys: null }, 300);
      await untilWaiting(store);
      await tx.changeExactly(1, 'changing it', `UPDATE fi_async_task SET ${change} WHERE task_code = ?`, [
        taskCode,
      ]);
    });
    return running!;
  }

  it('ENG-4 ENG-14 stopped: it stays as it was halted, else nothing would ever run what was reopened', async () => {
    await makeTask(store, 'stopped', { status: 3, retry_count: 8 });
    const result = await runWhile('stopped', 'activation = 0');
    expect(made.toy.halts).to.deep.equal([]);
    expect(await readTask(store, 'stopped')).to.include({ activation: 0, manuallyDue: 0 });
    expect(result.items[0]).to.include({ outcome: 'STILL_WAITING' });
  });

  it('ENG-4 COV-4 failed for good: what was halted with it is reopened', async () => {
    await makeTask(store, 'used up', { status: 3, retry_count: 7 });
    await runWhile('used up', 'retry_count = 8');
    expect(made.toy.halts).to.deep.equal(['used up REOPENED MANUAL_RUN']);
    expect(await readTask(store, 'used up')).to.include({ manuallyDue: 1, claimable: 1 });
  });
});
