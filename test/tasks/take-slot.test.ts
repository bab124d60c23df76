import { expect } from 'chai';
import { lockSlotIfHeld, setSlotCount } from '../../src/store/slots.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { TestStore } from '../support/database.ts';
import {
  endLease,
  eventually,
  holdSlot,
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  PARTNER,
  readSlot,
  readTask,
  STAGE,
  signal,
  slotOf,
} from '../support/engine.ts';

describe('tasks: taking a slot', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    for (const table of ['stage_slot', 'fi_async_task', 'toy_effect'])
      await store.change(`DELETE FROM ${table}`);
    await makeSlots(store, 1);
  });

  const setCap = (cap: number) =>
    other.transaction(NEW_READ_COMMITTED, (tx) => setSlotCount(tx, STAGE, PARTNER, cap));

  it('ENG-5 a free slot is taken: holder, higher fence, lease by the database’s clock, the batch named in it', async () => {
    const { engine } = makeEngine(store);
    const id = await makeTask(store, 'a');
    const before = await readSlot(store, slotOf());
    const taken = await takeSlot(engine, slotOf());
    expect(taken?.right).to.include({ holder: 'worker-a' });
    expect(BigInt(taken!.right.fence) > BigInt(before!.fence)).to.equal(true);
    const slot = await readSlot(store, slotOf());
    expect(slot).to.deep.include({ holder: 'worker-a', fence: taken!.right.fence, taskIds: [id] });
    expect(slot!.leaseMs).to.be.within(20_000, 30_000);
  });

  it('ENG-5 a held slot is taken by nobody, not by its own process either', async () => {
    const { engine, observed } = makeEngine(store);
    await takeSlot(engine, slotOf());
    expect(await takeSlot(makeEngine(other, { worker: 'worker-b' }).engine, slotOf())).to.equal(null);
    expect(await takeSlot(engine, slotOf())).to.equal(null);
    expect(observed.of('claimLost')).to.deep.equal([[STAGE]]);
  });

  it('ENG-5 ENG-9 locked means taken: a holder in its transaction keeps the right, though its lease ends meanwhile', async () => {
    const first = makeEngine(store, { limits: { slotLeaseMs: 1_500 } });
    const second = makeEngine(other, { worker: 'worker-b' });
    const atWork = signal();
    const mayEnd = signal();
    await makeTask(store, 'long');
    first.toy.script('long', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const turn = takeTurn(first.engine, first.toy, slotOf(), { contended: false });
    await atWork.given;
    await eventually('the lease is over', async () => ((await readSlot(store, slotOf()))?.leaseMs ?? 1) <= 0);
    const startedMs = performance.now();
    expect(await takeSlot(second.engine, slotOf())).to.equal(null);
    expect(performance.now() - startedMs, 'passed over, not waited for').to.be.below(5_000);
    mayEnd.give();
    expect(await turn).to.equal('IDLE');
    expect(await readTask(store, 'long')).to.include({ status: 2, crashCount: 0, worker: 'worker-a' });
  });

  it('ENG-5 an expired slot whose row is locked is passed over; once the row is free it is taken', async () => {
    const { engine } = makeEngine(store);
    const lost = await takeSlot(engine, slotOf());
    await endLease(store, slotOf());
    const second = makeEngine(other, { worker: 'worker-b' }).engine;
    const held = await holdSlot(store, slotOf());
    expect(await takeSlot(second, slotOf())).to.equal(null);
    await held.release();
    const taken = await takeSlot(second, slotOf());
    expect(BigInt(taken!.right.fence)).to.equal(BigInt(lost!.right.fence) + 1n);
    expect(await readSlot(store, slotOf())).to.deep.include({ holder: 'worker-b', taskIds: [] });
  });

  it('ENG-5 a lease that ends at this very instant is over', async () => {
    await takeSlot(makeEngine(store).engine, slotOf());
    await endLease(store, slotOf(), 'now');
    expect(await takeSlot(makeEngine(other, { worker: 'worker-b' }).engine, slotOf())).to.not.equal(null);
  });

  it('ENG-5 of twenty who take one slot at once exactly one has it', async () => {
    const engines = Array.from(
      { length: 20 },
      (_, index) => makeEngine(index % 2 === 0 ? store : other, { worker: `worker-${index}` }).engine,
    );
    const taken = (await Promise.all(engines.map((engine) => takeSlot(engine, slotOf())))).filter(
      (slot) => slot !== null,
    );
    expect(taken).to.have.length(1);
    expect((await readSlot(store, slotOf()))?.holder).to.equal(taken[0]!.right.holder);
  });

  it('ENG-5 a slot that does not exist is taken by nobody', async () => {
    expect(await takeSlot(makeEngine(store).engine, slotOf(99))).to.equal(null);
  });

  it('ENG-5 a lowered cap retires a held slot; its holder works on and removes it at the end', async () => {
    await setCap(2);
    const { engine, toy } = makeEngine(store);
    const atWork = signal();
    const mayEnd = signal();
    await makeTask(store, 'a');
    toy.script('a', async () => {
      atWork.give();
      await mayEnd.given;
    });
    const turn = takeTurn(engine, toy, slotOf(2), { contended: false });
    await atWork.given;
    const lowered = setCap(1);
    mayEnd.give();
    await lowered;
    expect(await turn).to.be.oneOf(['IDLE', 'MORE']);
    expect((await readTask(store, 'a')).status).to.equal(2);
    await eventually('the slot is gone', async () => (await readSlot(store, slotOf(2))) === null);
  });

  it('ENG-5 a free slot above a lowered cap goes at once; a raised cap makes it anew', async () => {
    await setCap(3);
    await setCap(1);
    expect(await readSlot(store, slotOf(2))).to.equal(null);
    await setCap(2);
    expect((await readSlot(store, slotOf(2)))?.retired).to.equal(0);
    expect(await readSlot(store, slotOf(3))).to.equal(null);
  });

  it('ENG-5 a retired slot whose holder died: the taker rescues its tasks, removes it, and holds nothing', async () => {
    await setCap(2);
    await makeTask(store, 'a');
    const lost = await takeSlot(makeEngine(store).engine, slotOf(2));
    expect(lost?.claim.tasks).to.have.length(1);
    await setCap(1);
    expect((await readSlot(store, slotOf(2)))?.retired).to.equal(1);
    await endLease(store, slotOf(2));
    expect(await takeSlot(makeEngine(other, { worker: 'worker-b' }).engine, slotOf(2))).to.equal(null);
    expect(await readSlot(store, slotOf(2))).to.equal(null);
    expect(await readTask(store, 'a')).to.include({ status: 0, crashCount: 1 });
  });

  it('ENG-5 a cap raised again before the slot was removed keeps slot and holder', async () => {
    await setCap(2);
    const taken = await takeSlot(makeEngine(store).engine, slotOf(2));
    await setCap(1);
    await setCap(2);
    expect(await readSlot(store, slotOf(2))).to.include({
      retired: 0,
      holder: 'worker-a',
      fence: taken!.right.fence,
    });
  });

  it('ENG-9 the fence grows even where the slot was removed and made anew: an old right never fits', async () => {
    await setCap(2);
    const old = (await takeSlot(makeEngine(store).engine, slotOf(2)))!.right;
    await setCap(1);
    await endLease(store, slotOf(2));
    await takeSlot(makeEngine(other, { worker: 'worker-b' }).engine, slotOf(2));
    await setCap(2);
    const anew = (await takeSlot(makeEngine(store).engine, slotOf(2)))!.right;
    expect(anew.holder).to.equal(old.holder);
    expect(BigInt(anew.fence) > BigInt(old.fence)).to.equal(true);
    const fits = await store.transaction(NEW_READ_COMMITTED, (tx) => lockSlotIfHeld(tx, old));
    expect(fits).to.equal(false);
  });

  it('ENG-5 making slots that are there already waits for no holder at work', async () => {
    const held = await holdSlot(store, slotOf());
    const startedMs = performance.now();
    await setCap(1);
    await setCap(4);
    expect(performance.now() - startedMs).to.be.below(5_000);
    await held.release();
  });
});
