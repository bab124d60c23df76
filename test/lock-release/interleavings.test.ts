import { expect } from 'chai';
import { lockContext } from '../../actors/lock-release/context.ts';
import { findReleaseVersion, releaseRange } from '../../src/store/lock-releases.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import {
  endLease,
  eventually,
  holdRows,
  readSlot,
  readTask,
  signal,
  slotOf,
  statusOf,
  untilWaiting,
} from '../support/engine.ts';
import {
  lockStatuses,
  type MadeSubmit,
  makeLocks,
  makeSubmit,
  PAYMENT_PARTNER,
  publish,
  readBatch,
  versionStatus,
} from '../support/payment-factory.ts';
import { forgetTasks, makeRelease, makeReleaseSlots, makeWorker } from '../support/release-world.ts';
import { ScriptedStore } from '../support/scripted-store.ts';

/** Long enough to begin work within it on a machine that is busy; the test waits for it to run out. */
const SHORT_LEASE_MS = 2_000;

describe('lock release: two sessions at once', () => {
  let testStore: TestStore;
  let other: Store;
  before(async () => {
    testStore = await openTestStore({}, { lockWaitTimeoutS: 20 });
    other = await testStore.openAnother();
    await makeReleaseSlots(testStore.store);
  });
  after(() => testStore.drop());
  beforeEach(() => forgetTasks(testStore.store));

  /** Never a published version without its locks. */
  async function expectConsistent(submit: MadeSubmit, ids: readonly string[]) {
    const { store } = testStore;
    const published = (await versionStatus(store, submit.versionId)) === 'PUBLISHED';
    expect(new Set(await lockStatuses(store, ids))).to.deep.equal(
      new Set([published ? 'RESERVED' : 'RELEASED']),
    );
    return published;
  }

  describe('publish against release', () => {
    it('LCK-16 publishing has the version row, the release waits, then finds it published: nothing is released', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { version: { version_build_status: 'BUILT' } });
      const ids = await makeLocks(store, submit, 3);
      const code = await makeRelease(store, submit, 'SUBMIT_CANCEL');
      const mayCommit = signal();
      const locked = signal();
      const publishing = other.transaction(NEW_READ_COMMITTED, async (tx) => {
        await publish(tx, submit);
        locked.give();
        await mayCommit.given;
      });
      await locked.given;
      const turn = makeWorker(store).work();
      await untilWaiting(store);
      mayCommit.give();
      await Promise.all([publishing, turn]);
      expect(await expectConsistent(submit, ids)).to.equal(true);
      expect(await statusOf(store, code)).to.equal('CANCELLED');
    });

    it('LCK-16 publishing that is rolled back lets the release go on', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { version: { version_build_status: 'BUILT' } });
      const ids = await makeLocks(store, submit, 3);
      await makeRelease(store, submit, 'SUBMIT_CANCEL');
      const mayFail = signal();
      const locked = signal();
      const publishing = other.transaction(NEW_READ_COMMITTED, async (tx) => {
        await publish(tx, submit);
        locked.give();
        await mayFail.given;
        throw new Error('rolled back');
      });
      await locked.given;
      const turn = makeWorker(store).work();
      await untilWaiting(store);
      mayFail.give();
      await Promise.allSettled([publishing, turn]);
      expect(await expectConsistent(submit, ids)).to.equal(false);
    });

    it('LCK-16 the release has the version row: publishing waits for the batch, and counts what is left of the locks', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { version: { version_build_status: 'BUILT' } });
      const ids = await makeLocks(store, submit, 3);
      await makeRelease(store, submit, 'SUBMIT_CANCEL');
      // The last lock is held elsewhere, so that the release stands still in its UPDATE, with the version row in hand.
      const held = await holdRows(
        await testStore.openAnother(),
        'SELECT id FROM fi_resident_income_payment_bill_lock WHERE id = ? FOR UPDATE',
        [ids[2]!],
      );
      const turn = makeWorker(store).work();
      await untilWaiting(store);
      const publishing = other.transaction(NEW_READ_COMMITTED, async (tx) => {
        await tx.one('SELECT id FROM fi_resident_income_payment_order_version WHERE id = ? FOR UPDATE', [
          submit.versionId,
        ]);
        const { live } = await tx.one<{ live: string }>(
          `SELECT COUNT(*) live FROM fi_resident_income_payment_bill_lock WHERE id IN (?) AND lock_status = 'RESERVED'`,
          [ids],
        );
        return Number(live) === ids.length ? publish(tx, submit) : false;
      });
      await untilWaiting(store, 2);
      await held.release();
      const [, published] = await Promise.all([turn, publishing]);
      expect(published).to.equal(false);
      expect(await expectConsistent(submit, ids)).to.equal(false);
    });

    const holders: Record<string, (tx: Transaction, submit: MadeSubmit) => Promise<unknown>> = {
      'LCK-16 the release holds the version row from before it looks at anything': (tx, submit) =>
        lockContext(tx, {
          paymentOrderVersionId: submit.versionId,
          lockReleaseReason: 'SUBMIT_CANCEL',
          orderBillIds: null,
        }),
      'LCK-13 the UPDATE by itself holds the version that it has looked at': async (tx, submit) => {
        const version = (await findReleaseVersion(tx, submit.versionId))!;
        const scope = { version, statuses: ['RESERVED'] as const, orderBillIds: null };
        const range = { after: '0', upTo: '999999999' };
        const release = { reason: 'SUBMIT_CANCEL', boundary: true } as const;
        expect(await releaseRange(tx, scope, range, release)).to.equal(1);
      },
    };
    for (const [title, hold] of Object.entries(holders))
      it(`${title}: publishing waits until it has committed`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store, { version: { version_build_status: 'BUILT' } });
        await makeLocks(store, submit, 1);
        const mayCommit = signal();
        const locked = signal();
        const releasing = store.transaction(NEW_READ_COMMITTED, async (tx) => {
          await hold(tx, submit);
          locked.give();
          await mayCommit.given;
        });
        await Promise.race([locked.given, releasing]);
        const publishing = other.transaction(NEW_READ_COMMITTED, (tx) => publish(tx, submit));
        await untilWaiting(store);
        expect(await versionStatus(store, submit.versionId)).to.equal('BUILT');
        mayCommit.give();
        await Promise.all([releasing, publishing]);
        expect(await versionStatus(store, submit.versionId)).to.equal('PUBLISHED');
      });
  });

  describe('a lock that changes between the page and the UPDATE', () => {
    for (const [what, change] of [
      ['is released by another', "lock_status = 'RELEASED', release_reason = 'SUBMIT_CANCEL'"],
      ['becomes ACTIVE', "lock_status = 'ACTIVE'"],
      ['becomes another session’s', 'session_id = 900002'],
    ] as const)
      it(`LCK-16 one that ${what} is left as it is, and not counted`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store);
        const ids = await makeLocks(store, submit, 3);
        const code = await makeRelease(store, submit, 'BUILD_FAILED');
        // The page is read without locks and names it; the UPDATE waits for it, and looks again.
        const changing = await holdRows(
          other,
          `UPDATE fi_resident_income_payment_bill_lock SET ${change} WHERE id = ?`,
          [ids[1]!],
        );
        const turn = makeWorker(store).work();
        await untilWaiting(store);
        const before = 'SELECT * FROM fi_resident_income_payment_bill_lock WHERE id = ?';
        await changing.release();
        const changed = await other.one(before, [ids[1]!]);
        await turn;
        expect(await store.one(before, [ids[1]!])).to.deep.equal(changed);
        expect(await lockStatuses(store, [ids[0]!, ids[2]!])).to.deep.equal(['RELEASED', 'RELEASED']);
        expect((await readTask(store, code)).result).to.deep.include({ releasedCount: 2, batchCount: 1 });
        expect((await readBatch(store, submit.versionId)).processedCount).to.equal(2);
      });
  });

  describe('two workers on one task', () => {
    it('LCK-8, LCK-10 a zombie whose slot was lost between two batches writes nothing: one release, one summary', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
      const ids = await makeLocks(store, submit, 3);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      // The zombie stands still in its second batch, and the slot is gone when it wakes up.
      const zombieStore = await testStore.openAnother();
      const asleep = signal();
      const wakeUp = signal();
      const zombie = makeWorker(zombieStore, { worker: 'zombie' });
      const transaction = zombieStore.transaction.bind(zombieStore);
      let begun = 0;
      zombieStore.transaction = async (options, work) => {
        begun += 1;
        if (begun === 3) {
          asleep.give();
          await wakeUp.given;
        }
        return transaction(options, work);
      };
      const zombieTurn = zombie.work();
      await asleep.given;
      expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RESERVED', 'RESERVED']);
      await endLease(store, slotOf(1, PAYMENT_PARTNER, 'lock-release'));
      await makeWorker(store, { worker: 'heir' }).work();
      const done = await readTask(store, code);
      expect(done).to.deep.include({
        status: 2,
        worker: 'heir',
        runningAttempt: 2,
        crashCount: 0,
        retryCount: 0,
      });
      wakeUp.give();
      expect(await zombieTurn).to.equal('FENCED');
      expect(await readTask(store, code)).to.deep.equal(done);
      expect(done.result).to.deep.include({ releasedCount: 3, batchCount: 3 });
      expect(await readBatch(store, submit.versionId)).to.deep.include({ status: 'DONE', processedCount: 3 });
    });

    for (const [what, change] of [
      ['under another attempt', 'running_attempt = running_attempt + 1'],
      ['ended', 'status = 2'],
      ['in the hands of another worker', "worker = 'heir'"],
      ['in another slot', 'slot_no = slot_no + 1'],
      ['under a later holder of the slot', 'slot_fence = slot_fence + 1'],
    ] as const)
      it(`LCK-10 a task that is ${what} between two batches is another's: its run is fenced though it has the slot, and writes nothing`, async () => {
        const { store } = testStore;
        const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
        const ids = await makeLocks(store, submit, 2);
        const code = await makeRelease(store, submit, 'BUILD_FAILED');
        const scripted = new ScriptedStore((await testStore.openAnother()).orm);
        const worker = makeWorker(scripted);
        scripted.beforeBegin = async (transaction) => {
          if (transaction === 3)
            await store.change(`UPDATE fi_async_task SET ${change} WHERE task_code = ?`, [code]);
        };
        expect(await worker.work()).to.equal('FENCED');
        expect(worker.observed.of('fenced')).to.deep.equal([['lock-release']]);
        expect(await lockStatuses(store, ids)).to.deep.equal(['RELEASED', 'RESERVED']);
        expect(await readBatch(store, submit.versionId)).to.deep.include({
          status: 'RUNNING',
          processedCount: 1,
        });
        expect(await readTask(store, code)).to.deep.include({ retryCount: 0, errorCode: null });
      });

    it('LCK-10 LCK-22 the failure of a run whose task a later holder has by now is not written', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
      await makeLocks(store, submit, 2);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      const scripted = new ScriptedStore((await testStore.openAnother()).orm);
      const worker = makeWorker(scripted);
      scripted.beforeBegin = async (transaction) => {
        // Its second batch breaks; what comes then is to write that down.
        if (transaction === 3)
          await store.change('DELETE FROM selection_session WHERE id = ?', [submit.sessionId]);
        if (transaction === 4)
          await store.change('UPDATE fi_async_task SET slot_fence = slot_fence + 1 WHERE task_code = ?', [
            code,
          ]);
      };
      expect(await worker.work()).to.equal('FENCED');
      expect(await readTask(store, code)).to.deep.include({ status: 1, retryCount: 0, errorCode: null });
      expect(await readBatch(store, submit.versionId)).to.deep.include({
        status: 'RUNNING',
        lastErrorCode: null,
      });
    });

    it('LCK-8 a worker whose lease runs out inside its transaction is not interrupted; the rest another takes over: one release, one summary', async () => {
      const { store } = testStore;
      const slot = slotOf(1, PAYMENT_PARTNER, 'lock-release');
      const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
      const ids = await makeLocks(store, submit, 2);
      const code = await makeRelease(store, submit, 'BUILD_FAILED');
      const slowStore = new ScriptedStore((await testStore.openAnother()).orm);
      const slow = makeWorker(slowStore, { worker: 'slow', limits: { slotLeaseMs: SHORT_LEASE_MS } });
      const asleep = signal();
      const wakeUp = signal();
      slowStore.beforeBegin = async (transaction) => {
        // The claim, the first batch, then the second.
        if (transaction !== 3) return;
        asleep.give();
        await wakeUp.given;
      };
      const held = await holdRows(
        other,
        'SELECT id FROM fi_resident_income_payment_bill_lock WHERE id = ? FOR UPDATE',
        [ids[0]!],
      );
      const slowTurn = slow.work();
      await untilWaiting(store);
      await eventually(
        'its lease has run out',
        async () => ((await readSlot(store, slot))?.leaseMs ?? 1) < 0,
      );
      const taker = makeWorker(await testStore.openAnother(), { worker: 'taker' });
      expect(await taker.work()).to.equal('NOT_TAKEN');
      expect(await readTask(store, code)).to.deep.include({ status: 1, worker: 'slow', runningAttempt: 1 });

      await held.release();
      await asleep.given;
      expect(await lockStatuses(store, ids), 'its batch is committed').to.deep.equal([
        'RELEASED',
        'RESERVED',
      ]);
      await endLease(store, slot);
      expect(await taker.work()).to.equal('IDLE');
      const done = await readTask(store, code);
      expect(done).to.deep.include({ status: 2, worker: 'taker', runningAttempt: 2, retryCount: 0 });
      wakeUp.give();
      expect(await slowTurn).to.equal('FENCED');
      expect(await readTask(store, code)).to.deep.equal(done);
      expect(done.errorMessage).to.contain('2 locks released in 2 batches');
      expect(await readBatch(store, submit.versionId)).to.deep.include({ status: 'DONE', processedCount: 2 });
    });

    it('ENG-6 two slots of the partner share two releases of one version: each lock is released once', async () => {
      const { store } = testStore;
      const submit = await makeSubmit(store, { batch: { batch_size: 1 } });
      const reserved = await makeLocks(store, submit, 4);
      const active = await makeLocks(store, submit, 2, { lock_status: 'ACTIVE' });
      const codes = [
        await makeRelease(store, submit, 'BUILD_FAILED'),
        await makeRelease(store, submit, 'COMPENSATION_RELEASE'),
      ];
      await Promise.all([makeWorker(store).work(1), makeWorker(other, { worker: 'worker-b' }).work(2)]);
      // Whoever was busy meanwhile goes on.
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE status = 0');
      await makeWorker(store).work(1);
      const results = [];
      for (const code of codes) {
        expect(await statusOf(store, code)).to.equal('SUCCESS');
        results.push((await readTask(store, code)).result as { releasedCount: number });
      }
      expect(results[0]!.releasedCount + results[1]!.releasedCount).to.equal(6);
      expect(new Set(await lockStatuses(store, [...reserved, ...active]))).to.deep.equal(
        new Set(['RELEASED']),
      );
      expect((await readBatch(store, submit.versionId)).processedCount).to.equal(6);
    });
  });
});
