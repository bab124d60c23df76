import { expect } from 'chai';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import {
  makeEngine,
  makeSlots,
  makeTask,
  openToyStore,
  slotOf,
  statusOf,
  type TestEngine,
} from '../support/engine.ts';

describe('control: holding stages', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let worker: TestEngine;

  before(async () => {
    testStore = await openToyStore();
    worker = makeEngine(testStore.store);
    plane = await startControlPlane({ engine: worker.engine });
    await makeSlots(testStore.store);
    await makeSlots(testStore.store, 1, '8');
    await makeSlots(testStore.store, 1, '7', 'bill-snapshot');
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    for (const table of ['fi_async_task', 'stage_control', 'operation_audit', 'toy_effect'])
      await testStore.store.change(`DELETE FROM ${table}`);
    worker.wake.kicks.length = 0;
  });

  const turn = () => takeTurn(worker.engine, worker.toy, slotOf(), { contended: false });

  it('ENG-14 a held stage claims nothing, and claims again when it is let go', async () => {
    await makeTask(testStore.store, 'one');
    const paused = await plane.ask('POST', '/stages/bill-station/pause');
    expect(paused.body).to.deep.equal({ stage: 'bill-station', paused: true });
    await turn();
    expect(await statusOf(testStore.store, 'one')).to.equal('PENDING');
    const resumed = await plane.ask('POST', '/stages/bill-station/resume');
    expect(resumed.body).to.deep.equal({ stage: 'bill-station', paused: false });
    await turn();
    expect(await statusOf(testStore.store, 'one')).to.equal('SUCCESS');
  });

  it('ENG-7 wakes the partners that have due work there when it lets go, and nobody else', async () => {
    await makeTask(testStore.store, 'due');
    await makeTask(testStore.store, 'elsewhere', { stage: 'bill-snapshot' });
    await makeTask(testStore.store, 'later', { partner_org_id: '8', due_in_s: 600 });
    await plane.ask('POST', '/stages/bill-station/pause');
    expect(worker.wake.kicks).to.deep.equal([]);
    await plane.ask('POST', '/stages/bill-station/resume');
    expect(worker.wake.kicks).to.deep.equal(['bill-station/7']);
  });

  it('shows which stages are held, and by whom', async () => {
    await plane.ask('POST', '/stages/income-diff/pause');
    const { body } = await plane.ask('GET', '/stages');
    const held = body.items.filter((stage: { paused: boolean }) => stage.paused);
    expect(held).to.have.length(1);
    expect(held[0]).to.include({ stage: 'income-diff', updatedBy: 'admin-token' });
    expect(body.items.map((stage: { stage: string }) => stage.stage)).to.include.members([
      'bill-station',
      'income-diff',
      'account-shard',
      'bill-snapshot',
    ]);
  });

  it('ENG-14 keeps who held it and how it was before, twice the same too', async () => {
    await plane.ask('POST', '/stages/bill-station/pause');
    await plane.ask('POST', '/stages/bill-station/pause');
    await plane.ask('POST', '/stages/bill-station/resume');
    const rows = await listAudit(testStore.store);
    expect(rows.map(({ action, before, after }) => [action, before.paused, after.paused])).to.deep.equal([
      ['STAGE_PAUSE', false, true],
      ['STAGE_PAUSE', true, true],
      ['STAGE_RESUME', true, false],
    ]);
    expect(new Set(rows.map(({ actor, target }) => `${actor} ${target}`))).to.deep.equal(
      new Set(['admin-token bill-station']),
    );
  });

  it('refuses a stage that is not there', async () => {
    const { status, body } = await plane.ask('POST', '/stages/nowhere/pause');
    expect(status).to.equal(404);
    expect(body.code).to.equal('NO_SUCH_STAGE');
    expect(await listAudit(testStore.store)).to.deep.equal([]);
  });
});
