import { expect } from 'chai';
import { Failure } from '../../src/errors.ts';
import type { TaskSeed } from '../../src/store/tasks.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { acceptTasks } from '../../src/tasks/accept-tasks.ts';
import type { TestStore } from '../support/database.ts';
import { makeTask, openToyStore, readTask, seedOf, signal, untilWaiting } from '../support/engine.ts';

describe('tasks: accepting', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let conflicts = 0;

  before(async () => {
    const onConflict = () => {
      conflicts += 1;
    };
    testStore = await openToyStore();
    store = await testStore.openAnother({ onConflict });
    other = await testStore.openAnother({ onConflict });
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    conflicts = 0;
    await store.change('DELETE FROM fi_async_task');
  });

  const accept = (seeds: readonly TaskSeed[], on = store) =>
    on.transaction(NEW_READ_COMMITTED, (tx) => acceptTasks(tx, seeds));
  const countTasks = async () =>
    Number((await store.one<{ tasks: string }>('SELECT COUNT(*) tasks FROM fi_async_task')).tasks);

  it('ENG-3 a new task is written as its seed says, due at once, in the order of the seeds', async () => {
    const data = { note: 'it\'s "?" \\ 台区 🌞' };
    const accepted = await accept([seedOf('b'), seedOf('a', { data, pushId: '12', maxRetryCount: 3 })]);
    expect(accepted.map((task) => task.taskCode)).to.deep.equal(['b', 'a']);
    expect(await readTask(store, 'a')).to.deep.include({
      id: accepted[1]!.id,
      status: 0,
      taskData: data,
      maxRetryCount: 3,
      claimable: 1,
    });
  });

  it('ENG-3 what exists is returned as it is, whatever has become of it; the same code twice is one task', async () => {
    const id = await makeTask(store, 'a', {
      status: 3,
      retry_count: 8,
      error_code: 'X',
      task_data: '{"old": 1}',
    });
    const before = await readTask(store, 'a');
    const accepted = await accept([seedOf('a', { data: { new: 1 } }), seedOf('b'), seedOf('b')]);
    expect(accepted.map((task) => [task.id === id, task.status])).to.deep.equal([
      [true, 3],
      [false, 0],
      [false, 0],
    ]);
    expect(accepted[1]!.id).to.equal(accepted[2]!.id);
    expect(await readTask(store, 'a')).to.deep.equal(before);
  });

  for (const [what, other_] of [
    ['business key', { businessKey: 'of other work' }],
    ['type', { taskType: 'OTHER' }],
  ] as const) {
    it(`ENG-3 a code that exists with another ${what} is a broken promise: nothing is written`, async () => {
      await accept([seedOf('a')]);
      const outcome = await accept([seedOf('before'), seedOf('a', other_)]).catch((error) => error);
      expect(outcome).to.be.instanceOf(Failure).with.property('code', 'TASK_IDENTITY_CONFLICT');
      expect(outcome.retryable).to.equal(false);
      expect(await countTasks()).to.equal(1);
    });
  }

  it('ENG-3 codes are compared byte by byte: case and blanks at the end make no two tasks of one code', async () => {
    await accept([seedOf('Code'), seedOf('code')]);
    expect(await countTasks()).to.equal(2);
    const outcome = await accept([seedOf('code ')]).catch((error: Failure) => error.code);
    expect(outcome).to.equal('TASK_IDENTITY_CONFLICT');
  });

  it('ENG-3 other errors are not hidden: a code that is too long is refused', async () => {
    const outcome = await accept([seedOf('x'.repeat(161))]).catch((error: Error) => error.message);
    expect(outcome).to.include('Data too long');
  });

  it('ENG-3 an acceptor waits for another’s commit and returns its task', async () => {
    const accepted = signal();
    const mayCommit = signal();
    const first = store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const tasks = await acceptTasks(tx, [seedOf('a')]);
      accepted.give();
      await mayCommit.given;
      return tasks;
    });
    await accepted.given;
    const second = accept([seedOf('a')], other);
    await untilWaiting(store);
    mayCommit.give();
    expect((await second)[0]!.id).to.equal((await first)[0]!.id);
    expect(conflicts).to.equal(0);
  });

  it('ENG-3 an acceptor that waited for one who rolled back writes the task itself', async () => {
    const accepted = signal();
    const mayEnd = signal();
    const first = store
      .transaction(NEW_READ_COMMITTED, async (tx) => {
        await acceptTasks(tx, [seedOf('a')]);
        accepted.give();
        await mayEnd.given;
        throw new Error('the fact is not one after all');
      })
      .catch(() => undefined);
    await accepted.given;
    const second = accept([seedOf('a')], other);
    await untilWaiting(store);
    mayEnd.give();
    await first;
    expect((await second)[0]!.taskCode).to.equal('a');
    expect(await countTasks()).to.equal(1);
  });

  it('ENG-3 ENG-17 acceptors of the same codes in opposite order never deadlock', async () => {
    const codes = Array.from({ length: 40 }, (_, index) => `code-${index}`);
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        Array.from({ length: 8 }, (_, session) => {
          const mine = codes.map((code) => seedOf(`${round} ${code}`));
          return accept(session % 2 === 0 ? mine : mine.toReversed(), session < 4 ? store : other);
        }),
      );
    }
    expect(conflicts).to.equal(0);
    expect(await countTasks()).to.equal(160);
  });

  it('ENG-3 more tasks than fit one statement are accepted alike', async () => {
    const seeds = Array.from({ length: 1_203 }, (_, index) => seedOf(`many-${index}`));
    const accepted = await accept(seeds);
    expect(accepted.map((task) => task.taskCode)).to.deep.equal(seeds.map((seed) => seed.taskCode));
    expect(await countTasks()).to.equal(1_203);
    expect(await accept([])).to.deep.equal([]);
  });
});
