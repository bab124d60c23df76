import { expect } from 'chai';
import type { Store } from '../../src/store/transaction.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  makeEngine,
  makeSlots,
  makeTask,
  makeTasks,
  openToyStore,
  readSlot,
  readTask,
  slotOf,
  type TestEngine,
} from '../support/engine.ts';
import { ScriptedStore } from '../support/scripted-store.ts';
import { effectKeys } from '../support/toy-handler.ts';

const codesUpTo = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);

describe('tasks: a commit whose answer is lost', () => {
  let testStore: TestStore;
  let store: Store;
  let lossy: ScriptedStore;
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
    lossy = new ScriptedStore((await testStore.openAnother()).orm);
    made = makeEngine(lossy);
  });

  const turn = () => takeTurn(made.engine, made.toy, slotOf(), { contended: false });
  const allSucceededOnce = async (codes: readonly string[]) => {
    expect((await effectKeys(store)).toSorted()).to.deep.equal([...codes].toSorted());
    for (const code of codes)
      expect(await readTask(store, code), code).to.include({ status: 2, retryCount: 0, crashCount: 0 });
    expect(await readSlot(store, slotOf())).to.include({ holder: null, taskIds: null });
  };

  // Of a turn over 120 tasks: 1 takes the slot and claims, 2 to 4 work and claim the next, 5 gives back.
  for (const [number, what] of [
    [2, 'of the first batch, which claimed the second'],
    [3, 'of the second batch, which claimed the third'],
    [4, 'of the last batch, which found nothing more'],
  ] as const) {
    it(`the answer ${what}: nothing is done twice, no claimed batch is forgotten, nothing counts as failed`, async () => {
      const codes = codesUpTo(120);
      await makeTasks(store, codes);
      lossy.losesAnswerOf = (transaction) => transaction === number;
      // Whether the last claim found everything is not known, so a successor may be queued to look.
      expect(await turn()).to.equal(number === 4 ? 'MORE' : 'IDLE');
      await allSucceededOnce(codes);
      expect(made.toy.calls.map((call) => call.length)).to.deep.equal([50, 50, 20]);
    });
  }

  it('the answer of a batch of one, with the next batch claimed', async () => {
    made = makeEngine(lossy, { stage: 'account-shard' });
    await makeSlots(store, 1, '7', 'account-shard');
    await makeTasks(store, ['a', 'b', 'c'], { stage: 'account-shard' });
    lossy.losesAnswerOf = (transaction) => transaction === 2;
    expect(
      await takeTurn(made.engine, made.toy, slotOf(1, '7', 'account-shard'), { contended: false }),
    ).to.equal('IDLE');
    await allSucceededOnce(['a', 'b', 'c']);
    expect(made.toy.calls).to.deep.equal([['a'], ['b'], ['c']]);
  });

  it('the answer of every work transaction', async () => {
    const codes = codesUpTo(120);
    await makeTasks(store, codes);
    // 1 takes; 2, 4 and 6 work; 3, 5 and 7 ask what became of them; 8 gives back.
    lossy.losesAnswerOf = (transaction) => [2, 4, 6].includes(transaction);
    await turn();
    await allSucceededOnce(codes);
    expect(lossy.transactions).to.equal(8);
  });

  it('the answer of a round with more rounds behind it: those are not lost', async () => {
    await makeTasks(store, ['a1', 'b1', 'a2', 'a3']);
    made.toy.serialKey = (task) => task.taskCode.slice(0, 1);
    lossy.losesAnswerOf = (transaction) => transaction === 2;
    expect(await turn()).to.equal('IDLE');
    expect(made.toy.calls).to.deep.equal([['a1', 'b1'], ['a2'], ['a3']]);
    await allSucceededOnce(['a1', 'b1', 'a2', 'a3']);
  });

  it('the answer of a step of a task with more steps: the step is not done again, the task goes on', async () => {
    await makeTask(store, 'steps');
    let step = 0;
    made.toy.effectKey = () => `step ${++step}`;
    made.toy.script('steps', async () => (step < 3 ? { kind: 'continues' } : undefined));
    lossy.losesAnswerOf = (transaction) => transaction === 2;
    expect(await turn()).to.equal('IDLE');
    expect(await effectKeys(store)).to.deep.equal(['step 1', 'step 2', 'step 3']);
    expect(await readTask(store, 'steps')).to.include({ status: 2, retryCount: 0 });
  });

  it('the answer of the record of a failure: one failure is counted, and the next batch is not lost', async () => {
    const codes = codesUpTo(60);
    await makeTasks(store, codes);
    await makeTask(store, 'bad', { due_in_s: -9_000 });
    made = makeEngine(lossy);
    made.toy.serialKey = (task) => (task.taskCode === 'bad' ? 'one' : 'other');
    made.toy.script('bad', async () => {
      throw new Error('bad');
    });
    await store.change("UPDATE fi_async_task SET crash_count = 1 WHERE task_code = 'bad'");
    // 1 takes (the suspect alone), 2 works and fails, 3 asks what became of it, 4 records the failure and claims on.
    lossy.losesAnswerOf = (transaction) => transaction === 4;
    await turn().catch(() => undefined);
    expect(await readTask(store, 'bad')).to.include({ status: 3, retryCount: 1 });
    expect((await readSlot(store, slotOf()))?.holder).to.equal(null);
    await turn();
    expect((await effectKeys(store)).toSorted()).to.deep.equal(codes.toSorted());
    for (const code of codes) expect(await readTask(store, code)).to.include({ status: 2, crashCount: 0 });
  });

  it('the answer of taking the slot: the slot is given back with what was claimed; no crash is counted', async () => {
    await makeTasks(store, ['a', 'b']);
    lossy.losesAnswerOf = (transaction) => transaction === 1;
    await turn().catch(() => undefined);
    expect(await readSlot(store, slotOf())).to.include({ holder: null });
    expect(await readTask(store, 'a')).to.include({ status: 0, crashCount: 0 });
    expect(await turn()).to.equal('IDLE');
    await allSucceededOnce(['a', 'b']);
  });

  it('the answer of giving back: the slot is free all the same', async () => {
    await makeTasks(store, ['a']);
    lossy.losesAnswerOf = (transaction) => transaction === 3;
    await turn().catch(() => undefined);
    await allSucceededOnce(['a']);
  });
});
