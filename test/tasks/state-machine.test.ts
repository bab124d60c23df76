/** The life of a task under any order of events: the engine on the real database against a plain model of the rules. */
import fc from 'fast-check';
import type { TestStore } from '../support/database.ts';
import { makeEngine, makeSlots, openToyStore } from '../support/engine.ts';
import { assertProperty } from '../support/properties.ts';
import { TaskModel } from '../support/task-model.ts';
import { taskSteps } from '../support/task-steps.ts';

/** Many of them are not possible where they come, and are left out. */
const STEPS_MAX = 120;
const RUNS = { short: 40, full: 2_000 };
const LIMIT_MS = { short: 12_000, full: 300_000 };

describe('tasks: any order of events', function () {
  this.timeout(900_000);
  let testStore: TestStore;
  before(async () => {
    testStore = await openToyStore();
  });
  after(() => testStore.drop());

  async function begin() {
    const { store } = testStore;
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect', 'task_stop_request', 'stage_control'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 2);
    return { model: new TaskModel(), real: { store, made: makeEngine(store), hands: new Map(), lost: [] } };
  }

  it('ENG-1 ENG-3 ENG-4 ENG-8 ENG-9 ENG-10 ENG-11 ENG-13 ENG-14 leaves tasks, slots, effects and halts as the model has them', async () => {
    await assertProperty(
      'events in the life of tasks, against the model',
      { runs: RUNS, limitMs: LIMIT_MS, unbiased: true },
      fc.commands(taskSteps, { maxCommands: STEPS_MAX, size: 'max' }),
      (steps) => fc.asyncModelRun(begin, steps),
    );
  });
});
