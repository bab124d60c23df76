import { expect } from 'chai';
import { Failure } from '../../src/errors.ts';
import { type ControlPlane, listAudit, startControlPlane, WorkingWake } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, makeSlots, makeTask, openToyStore, readTask, statusOf } from '../support/engine.ts';
import { effectKeys } from '../support/toy-handler.ts';

describe('control: running tasks by hand', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let wake: WorkingWake;

  before(async () => {
    testStore = await openToyStore();
    await makeSlots(testStore.store);
  });
  after(() => testStore.drop());

  beforeEach(async () => {
    const { store } = testStore;
    for (const table of ['fi_async_task', 'toy_effect', 'operation_audit'])
      await store.change(`DELETE FROM ${table}`);
    wake = new WorkingWake();
    const { engine, toy } = makeEngine(store, { wake });
    wake.workWith(engine, toy);
    toy.script('breaks', async () => {
      throw new Failure('BROKEN', 'it breaks');
    });
    plane = await startControlPlane({ engine });
  });
  afterEach(async () => {
    await plane.close();
    await wake.settle();
  });

  const run = (body: unknown) => plane.ask('POST', '/tasks/run', body);
  const nothingRan = async () => {
    expect(await effectKeys(testStore.store)).to.deep.equal([]);
    expect(await listAudit(testStore.store)).to.deep.equal([]);
    expect(wake.kicks).to.deep.equal([]);
  };

  it('ENG-4 runs the union of codes and business keys, before their time and past their retry limit, and tells each end', async () => {
    const { store } = testStore;
    await makeTask(store, 'later', { due_in_s: 3600 });
    await makeTask(store, 'given-up', { status: 3, retry_count: 8 });
    await makeTask(store, 'breaks', { due_in_s: 3600 });
    await makeTask(store, 'done', { status: 2 });
    await makeTask(store, 'not-named', { due_in_s: 3600 });

    const { status, body } = await run({
      stage: 'bill-station',
      taskCode: ' later ',
      taskCodes: ['later', 'done', 'breaks'],
      businessKey: 'key of given-up',
    });

    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      selected: 4,
      succeeded: 2,
      failed: 1,
      skipped: 1,
      cancelled: 0,
      items: [
        { taskCode: 'later', outcome: 'SUCCEEDED', reason: null },
        { taskCode: 'given-up', outcome: 'SUCCEEDED', reason: null },
        { taskCode: 'breaks', outcome: 'FAILED', reason: 'it breaks' },
        { taskCode: 'done', outcome: 'SKIPPED', reason: 'It has succeeded already' },
      ],
    });
    expect(await effectKeys(store)).to.have.members(['later', 'given-up']);
    expect((await readTask(store, 'given-up')).retryCount).to.equal(8);
  });

  it('ENG-4 without selectors runs what is due, as many as asked for', async () => {
    const { store } = testStore;
    await makeTask(store, 'first', { due_in_s: -20 });
    await makeTask(store, 'second', { due_in_s: -10 });
    await makeTask(store, 'later', { due_in_s: 3600 });
    const { body } = await run({ stage: 'bill-station', maxTaskCount: 1 });
    expect(body.items).to.deep.equal([{ taskCode: 'first', outcome: 'SUCCEEDED', reason: null }]);
    expect(await statusOf(store, 'later')).to.equal('PENDING');
  });

  it('ENG-4 reports what has not ended in time as still waiting, not as failed', async () => {
    const { store } = testStore;
    const { engine } = makeEngine(store);
    const hasty = await startControlPlane({ engine, runWaitMaxMs: 0 });
    await makeTask(store, 'slow');
    const { body } = await hasty.ask('POST', '/tasks/run', { stage: 'bill-station', taskCode: 'slow' });
    await hasty.close();
    expect(body).to.deep.include({ selected: 1, failed: 0, succeeded: 0 });
    expect(body.items).to.deep.equal([{ taskCode: 'slow', outcome: 'STILL_WAITING', reason: null }]);
  });

  it('keeps who asked for which run', async () => {
    await makeTask(testStore.store, 'one');
    await run({ stage: 'bill-station', taskCodes: ['one'] });
    expect(await listAudit(testStore.store)).to.deep.equal([
      {
        actor: 'admin-token',
        action: 'TASK_RUN',
        target: 'bill-station one',
        before: null,
        after: { stage: 'bill-station', taskCodes: ['one'], businessKeys: null },
        reason: null,
      },
    ]);
  });

  const unreadable: Record<string, unknown> = {
    'no stage': {},
    'a stage that is none': { stage: 'bill-statoin' },
    'a blank code': { stage: 'bill-station', taskCode: '  ' },
    'a blank code beside a good one': { stage: 'bill-station', taskCode: '', taskCodes: ['due'] },
    'no codes in the list': { stage: 'bill-station', taskCodes: [] },
    'a blank code in the list': { stage: 'bill-station', taskCodes: ['due', ' '] },
    'a blank business key': { stage: 'bill-station', businessKey: '' },
    'no business keys in the list': { stage: 'bill-station', businessKeys: [] },
    'null for a code': { stage: 'bill-station', taskCode: null },
    'a number for a code': { stage: 'bill-station', taskCode: 7 },
    'one text for a list': { stage: 'bill-station', taskCodes: 'due' },
    'a misspelt selector': { stage: 'bill-station', taskcode: 'due' },
    'a limit that is no whole number': { stage: 'bill-station', maxTaskCount: 1.5 },
    'a limit as text': { stage: 'bill-station', maxTaskCount: '5' },
    'half a document': '{"stage": "bill-station", "taskCode": ',
    'no object': '["bill-station"]',
    'a text': '"bill-station"',
    'nothing JSON': 'stage=bill-station',
  };
  for (const [what, body] of Object.entries(unreadable)) {
    it(`ENG-4 refuses ${what}, and nothing runs`, async () => {
      await makeTask(testStore.store, 'due');
      const answer = await run(body);
      expect(answer.status).to.equal(400);
      expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
      expect(answer.body.code).to.be.oneOf(['MALFORMED_BODY', 'MALFORMED_REQUEST']);
      await nothingRan();
    });
  }
});
