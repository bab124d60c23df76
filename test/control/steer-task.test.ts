import { expect } from 'chai';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { ADMIN_TOKEN, type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import {
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  readTask,
  slotOf,
  statusOf,
  type TestEngine,
} from '../support/engine.ts';

describe('control: stopping, resuming and cancelling tasks', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let worker: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    worker = makeEngine(testStore.store);
    plane = await startControlPlane({ engine: worker.engine });
    await makeSlots(testStore.store);
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    for (const table of ['fi_async_task', 'toy_effect', 'operation_audit', 'task_stop_request'])
      await testStore.store.change(`DELETE FROM ${table}`);
    worker.wake.kicks.length = 0;
    worker.toy.halts.length = 0;
  });

  const steer = (verb: string, code: string, body?: unknown) =>
    plane.ask('POST', `/tasks/${encodeURIComponent(code)}/${verb}`, body);
  const turn = () => takeTurn(worker.engine, worker.toy, slotOf(), { contended: false });
  const audited = async () =>
    (await listAudit(testStore.store)).map(({ actor, action, target, before, after, reason }) => ({
      who: actor,
      what: `${action} ${target}`,
      before,
      after,
      reason,
    }));

  it('ENG-14 a stopped task is not worked on until it is resumed, which wakes its partner', async () => {
    await makeTask(testStore.store, 'one/α', { retry_count: 2 });
    const stopped = await steer('stop', 'one/α', {});
    expect(stopped.status).to.equal(200);
    expect(stopped.body).to.include({ outcome: 'STOPPED' });
    expect(stopped.body.task).to.include({ taskCode: 'one/α', status: 'PENDING', activation: 'STOPPED' });
    await turn();
    expect(await statusOf(testStore.store, 'one/α')).to.equal('PENDING');
    expect((await readTask(testStore.store, 'one/α')).retryCount).to.equal(2);

    const resumed = await steer('resume', 'one/α');
    expect(resumed.body).to.include({ outcome: 'RESUMED' });
    expect(worker.wake.kicks).to.deep.equal(['bill-station/7']);
    await turn();
    expect(await statusOf(testStore.store, 'one/α')).to.equal('SUCCESS');
    expect(await audited()).to.deep.equal([
      {
        who: 'admin-token',
        what: 'TASK_STOP one/α',
        before: { status: 'PENDING', activation: 'ACTIVE' },
        after: { activation: 'STOPPED' },
        reason: null,
      },
      {
        who: 'admin-token',
        what: 'TASK_RESUME one/α',
        before: { status: 'PENDING', activation: 'STOPPED' },
        after: { activation: 'ACTIVE' },
        reason: null,
      },
    ]);
  });

  it('ENG-14 stopping a running task leaves a request for its worker, who holds the row', async () => {
    const { store } = testStore;
    const another = await testStore.openAnother();
    await makeTask(store, 'runs', { status: 1, running_attempt: 1 });
    await another.transaction(NEW_READ_COMMITTED, async (tx) => {
      await tx.many("SELECT id FROM fi_async_task WHERE task_code = 'runs' FOR UPDATE");
      const { status, body } = await steer('stop', 'runs');
      expect(status).to.equal(202);
      expect(body.outcome).to.equal('STOP_REQUESTED');
    });
    const shown = await plane.ask('GET', '/tasks/runs');
    expect(shown.body).to.include({ status: 'RUNNING', stopRequested: true });
    expect((await audited())[0]).to.deep.include({ what: 'TASK_STOP runs', after: { stopRequested: true } });
  });

  it('ENG-14 cancels what is not running, for good, with the reason', async () => {
    await makeTask(testStore.store, 'wrong');
    const { status, body } = await steer('cancel', 'wrong', { reason: ' pushed by mistake ' });
    expect(status).to.equal(200);
    expect(body).to.include({ outcome: 'CANCELLED' });
    expect(body.task).to.include({ status: 'CANCELLED', errorMessage: 'pushed by mistake' });
    expect(worker.toy.halts).to.deep.equal(['wrong CANCELLED CANCELLED']);
    expect(await audited()).to.deep.equal([
      {
        who: 'admin-token',
        what: 'TASK_CANCEL wrong',
        before: { status: 'PENDING', activation: 'ACTIVE' },
        after: { status: 'CANCELLED' },
        reason: 'pushed by mistake',
      },
    ]);
    await turn();
    expect(await statusOf(testStore.store, 'wrong')).to.equal('CANCELLED');
  });

  const refusals: [string, string, object, object?][] = [
    ['cancelling what runs: it must be stopped first (ENG-14)', 'cancel', { status: 1 }, { reason: 'why' }],
    ['cancelling what has succeeded', 'cancel', { status: 2 }, { reason: 'why' }],
    ['cancelling twice', 'cancel', { status: 4 }, { reason: 'why' }],
    ['stopping what has succeeded', 'stop', { status: 2 }],
    ['stopping what was cancelled', 'stop', { status: 4 }],
    ['resuming what is not stopped', 'resume', {}],
  ];
  for (const [what, verb, columns, body] of refusals) {
    it(`refuses ${what}`, async () => {
      await makeTask(testStore.store, 'one', { ...columns });
      const before = await readTask(testStore.store, 'one');
      const answer = await steer(verb, 'one', body);
      expect(answer.status).to.equal(409);
      expect(answer.body.code).to.equal('TASK_STATE');
      expect(await readTask(testStore.store, 'one')).to.deep.equal(before);
      expect(await audited()).to.deep.equal([]);
    });
  }

  const unreadable: [string, string, unknown][] = [
    ['cancelling without a body', 'cancel', undefined],
    ['cancelling without a reason', 'cancel', {}],
    ['cancelling with a blank reason', 'cancel', { reason: '  ' }],
    ['cancelling with a reason too long to keep', 'cancel', { reason: 'x'.repeat(501) }],
    ['cancelling with more than a reason', 'cancel', { reason: 'why', taskCode: 'other' }],
    ['a reason where none is kept', 'stop', { reason: 'why' }],
    ['half a body', 'resume', '{"a'],
  ];
  for (const [what, verb, body] of unreadable) {
    it(`refuses ${what}, and changes nothing`, async () => {
      await makeTask(testStore.store, 'one');
      const answer = await steer(verb, 'one', body);
      expect(answer.status).to.equal(400);
      expect(await statusOf(testStore.store, 'one')).to.equal('PENDING');
      expect(await audited()).to.deep.equal([]);
    });
  }

  it('ENG-4 reads a body whose content type says otherwise, rather than take it for an empty one', async () => {
    await makeTask(testStore.store, 'one');
    const answer = await plane.ask('POST', '/tasks/one/stop', undefined, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'text/plain' },
      body: 'reason=later',
    });
    expect(answer.status).to.equal(400);
    expect(await audited()).to.deep.equal([]);
  });

  it('answers 404 for a task that is not there', async () => {
    for (const [verb, body] of [
      ['stop', {}],
      ['resume', {}],
      ['cancel', { reason: 'why' }],
    ] as const) {
      const { status, body: problem } = await steer(verb, 'none', body);
      expect(status).to.equal(404);
      expect(problem.code).to.equal('NO_SUCH_TASK');
    }
    expect(await audited()).to.deep.equal([]);
  });
});
