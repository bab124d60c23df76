import { expect } from 'chai';
import type { Store } from '../../src/store/transaction.ts';
import { cancelTask, resumeTask, stopTask } from '../../src/tasks/steer-task.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  dueInMs,
  holdRows,
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  PARTNER,
  readTask,
  STAGE,
  signal,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { ScriptedStore } from '../support/scripted-store.ts';
import { effectKeys } from '../support/toy-handler.ts';

const actor = 'operator-1';

describe('tasks: stop, resume, cancel', () => {
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
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect', 'task_stop_request', 'operation_audit'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
    made = makeEngine(store);
  });

  const turn = () => takeTurn(made.engine, made.toy, slotOf(), { contended: false });
  const stop = (taskCode: string) => stopTask(made.engine, { taskCode, actor });
  const resume = (taskCode: string) => resumeTask(made.engine, { taskCode, actor });
  const cancel = (taskCode: string, reason = 'no longer wanted') =>
    cancelTask(made.engine, { taskCode, actor, reason });
  const operations = () =>
    store.many<{ actor: string; action: string; target: string; reason: string | null }>(
      'SELECT actor, action, target, reason FROM operation_audit ORDER BY id',
    );
  const requests = () => store.many('SELECT * FROM task_stop_request');

  for (const [what, columns] of [
    ['a waiting task', {}],
    ['a failed task that would be tried again', { status: 3, retry_count: 1 }],
    ['a task that is due later', { due_in_s: 60 }],
  ] as const) {
    it(`ENG-14 ${what} stops at once, is not claimable until it is resumed, and then goes on`, async () => {
      await makeTask(store, 'a', columns);
      expect(await stop('a')).to.deep.equal({ kind: 'done' });
      expect(await readTask(store, 'a')).to.include({ activation: 0, claimable: null });
      await turn();
      expect(await effectKeys(store)).to.deep.equal([]);
      expect(await resume('a')).to.deep.equal({ kind: 'done' });
      expect(await dueInMs(store, 'a')).to.be.at.most(0);
      expect(made.wake.kicks).to.deep.equal([`${STAGE}/${PARTNER}`]);
      await turn();
      expect(await effectKeys(store)).to.deep.equal(['a']);
    });
  }

  it('ENG-14 a running task is asked, without waiting for its row; the one that works does not see it before it ends', async () => {
    await makeTask(store, 'steps');
    let step = 0;
    const atWork = signal();
    const mayGoOn = signal();
    made.toy.effectKey = () => `step ${++step}`;
    made.toy.script('steps', async (tx) => {
      // The account stage locks its task row early.
      await tx.many("SELECT id FROM fi_async_task WHERE task_code = 'steps' FOR UPDATE");
      if (step === 1) {
        atWork.give();
        await mayGoOn.given;
      }
      return { kind: 'continues' };
    });
    const running = turn();
    await atWork.given;
    const startedMs = performance.now();
    expect(await stopTask({ ...made.engine, store: other }, { taskCode: 'steps', actor })).to.deep.equal({
      kind: 'requested',
    });
    expect(performance.now() - startedMs).to.be.below(5_000);
    mayGoOn.give();
    expect(await running).to.equal('IDLE');
    expect(await effectKeys(store), 'the boundary is after the step at work').to.deep.equal(['step 1']);
    expect(await readTask(store, 'steps')).to.include({
      status: 0,
      activation: 0,
      retryCount: 0,
      crashCount: 0,
    });
    expect(await requests()).to.deep.equal([]);
    expect(made.observed.of('ended').map(([, label]) => label)).to.deep.equal(['continued', 'stopped']);
  });

  it('ENG-14 a task of a batch that was asked to stop before its transaction is left out; the others are worked on', async () => {
    const [id] = await makeTasks(store, ['a', 'b']);
    await store.change('INSERT INTO task_stop_request (task_id, requested_by) VALUES (?, ?)', [id!, actor]);
    await turn();
    expect(await effectKeys(store)).to.deep.equal(['b']);
    expect(await readTask(store, 'a')).to.include({ status: 0, activation: 0, runningAttempt: 1 });
  });

  it('ENG-14 asking twice is asking once', async () => {
    await makeTask(store, 'a', { status: 1, running_attempt: 1 });
    await stop('a');
    await stop('a');
    expect(await requests()).to.have.length(1);
  });

  it('ENG-14 a task whose work breaks after it was asked to stop keeps its failure and is not tried again', async () => {
    const id = await makeTask(store, 'a');
    made.toy.script('a', async () => {
      await other.change('INSERT INTO task_stop_request (task_id, requested_by) VALUES (?, ?)', [id, actor]);
      throw new Error('breaks');
    });
    await turn();
    expect(await readTask(store, 'a')).to.include({
      status: 3,
      retryCount: 1,
      activation: 0,
      claimable: null,
    });
    expect(await requests()).to.deep.equal([]);
  });

  it('ENG-14 a task that ends while it is asked to stop has ended; no request waits for its next life', async () => {
    const id = await makeTask(store, 'a', { status: 1, running_attempt: 1 });
    const scripted = new ScriptedStore(other.orm);
    scripted.beforeBegin = async () => {
      await store.change('UPDATE fi_async_task SET status = 2 WHERE id = ?', [id]);
    };
    const ending = { ...made.engine, store: scripted };
    expect(await stopTask(ending, { taskCode: 'a', actor })).to.deep.equal({
      kind: 'refused',
      reason: 'The task has ended',
    });
    expect(await requests()).to.deep.equal([]);
  });

  it('ENG-14 resuming withdraws a request that no worker has honoured yet', async () => {
    await makeTask(store, 'a', { status: 1, running_attempt: 1 });
    await stop('a');
    expect(await resume('a')).to.deep.equal({ kind: 'done' });
    expect(await requests()).to.deep.equal([]);
    expect(await resume('a')).to.include({ kind: 'refused' });
  });

  for (const status of [0, 3]) {
    it(`ENG-14 what is not running (status ${status}) is cancelled for good, with its reason; what waits for it is told`, async () => {
      await makeTask(store, 'a', { status, retry_count: 1 });
      expect(await cancel('a')).to.deep.equal({ kind: 'done' });
      expect(await readTask(store, 'a')).to.include({
        status: 4,
        retryCount: 8,
        claimable: null,
        errorCode: 'CANCELLED',
        errorMessage: 'no longer wanted',
      });
      expect(made.toy.halts).to.deep.equal(['a CANCELLED CANCELLED']);
      await turn();
      expect(await effectKeys(store)).to.deep.equal([]);
      for (const refused of [stop, resume, cancel])
        expect(await refused('a')).to.include({ kind: 'refused' });
    });
  }

  it('ENG-14 a stopped task can be cancelled', async () => {
    await makeTask(store, 'a', { activation: 0 });
    expect(await cancel('a')).to.deep.equal({ kind: 'done' });
  });

  it('ENG-14 a running task is not cancelled, and the answer does not wait for its row', async () => {
    await makeTask(store, 'a', { status: 1, running_attempt: 1 });
    const held = await holdRows(other, "SELECT id FROM fi_async_task WHERE task_code = 'a' FOR UPDATE");
    const startedMs = performance.now();
    expect(await cancel('a')).to.deep.equal({
      kind: 'refused',
      reason: 'The task is running; stop it first',
    });
    expect(await resume('a')).to.include({ kind: 'refused' });
    expect(performance.now() - startedMs).to.be.below(5_000);
    await held.release();
  });

  it('ENG-14 cancelling what cannot be told to whoever waits for it cancels nothing', async () => {
    await makeTask(store, 'a');
    made.toy.haltWith = async () => {
      throw new Error('places do not add up');
    };
    expect(await cancel('a').catch((error: Error) => error.message)).to.equal('places do not add up');
    expect((await readTask(store, 'a')).status).to.equal(0);
    expect(await operations()).to.deep.equal([]);
  });

  it('ENG-14 a task that does not exist is not found', async () => {
    for (const steer of [stop, resume, cancel])
      expect(await steer('nothing')).to.deep.equal({ kind: 'not-found' });
  });

  it('ENG-14 each is written down with who asked for it and why; what was refused is not', async () => {
    await makeTask(store, 'a');
    await stop('a');
    await resume('a');
    await resume('a');
    await cancel('a', 'x'.repeat(700));
    expect(await operations()).to.deep.equal([
      { actor, action: 'TASK_STOP', target: 'a', reason: null },
      { actor, action: 'TASK_RESUME', target: 'a', reason: null },
      { actor, action: 'TASK_CANCEL', target: 'a', reason: 'x'.repeat(500) },
    ]);
  });
});
