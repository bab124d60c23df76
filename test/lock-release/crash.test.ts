import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { DyingStore } from '../support/dying-store.ts';
import { endLease, readTask, slotOf } from '../support/engine.ts';
import {
  endPublished,
  lockStatuses,
  makeLocks,
  makeRevise,
  PAYMENT_PARTNER,
  readBatch,
  readSession,
  versionStatus,
} from '../support/payment-factory.ts';
import { makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';
import { ScriptedStore } from '../support/scripted-store.ts';

const LOCKS = 5;
/** The claim, three batches of two, the end, the slot given back. */
const COMMITS = 6;

import { assertVerified } from '../support/verify.ts';

describe('lock release: a crash between every two commits', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  afterEach('the database keeps its promises', () => assertVerified(testStore.store));

  async function makeWork() {
    const { store } = testStore;
    const submit = await makeRevise(store, { batch: { batch_size: 2 } });
    await endPublished(store, submit.orderId);
    const ids = await makeLocks(store, submit, LOCKS);
    const code = await makeRelease(store, submit, 'INVALID_REVISE_SESSION');
    return { submit, ids, code };
  }

  async function expectAllDoneOnce({ submit, ids, code }: Awaited<ReturnType<typeof makeWork>>) {
    const { store } = testStore;
    const task = await readTask(store, code);
    expect(task).to.deep.include({ status: 2, retryCount: 0 });
    expect(task.result).to.deep.equal({ cursor: ids.at(-1), releasedCount: LOCKS, batchCount: 3 });
    expect(new Set(await lockStatuses(store, ids))).to.deep.equal(new Set(['RELEASED']));
    expect(await readBatch(store, submit.versionId)).to.deep.include({
      status: 'DONE',
      processedCount: LOCKS,
    });
    expect(await versionStatus(store, submit.versionId)).to.equal('CANCELLED');
    expect(await readSession(store, submit.sessionId)).to.deep.include({
      activeSubmitId: null,
      stateVersion: 1,
    });
  }

  it('takes so many commits', async () => {
    const work = await makeWork();
    const counting = new ScriptedStore(testStore.store.orm);
    await makeWorker(counting).work();
    expect(counting.transactions).to.equal(COMMITS);
    await expectAllDoneOnce(work);
  });

  for (let commits = 1; commits < COMMITS; commits++) {
    it(`LCK-16, ENG-11 killed after commit ${commits} of ${COMMITS}: whoever takes the slot goes on, and all is done once`, async () => {
      const { store } = testStore;
      const work = await makeWork();
      await makeWorker(new DyingStore(store.orm).dieAfter(commits), { worker: 'dying' }).work();
      await endLease(store, slotOf(1, PAYMENT_PARTNER, 'lock-release'));
      await makeWorker(store, { worker: 'heir' }).work();
      await expectAllDoneOnce(work);
    });
  }

  for (let commits = 1; commits <= COMMITS; commits++) {
    it(`ENG-10 the answer to commit ${commits} of ${COMMITS} is lost: all is done once`, async () => {
      const { store } = testStore;
      const work = await makeWork();
      const deaf = new ScriptedStore(store.orm);
      deaf.losesAnswerOf = (number) => number === commits;
      await makeWorker(deaf, { worker: 'deaf' })
        .work()
        .catch(() => undefined);
      await makeWorker(store, { worker: 'heir' }).work();
      await expectAllDoneOnce(work);
    });
  }
});
