import { expect } from 'chai';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, makeTask, makeTasks, openToyStore } from '../support/engine.ts';
import { insertRow } from '../support/factory.ts';

describe('control: finding tasks', () => {
  let testStore: TestStore;
  let plane: ControlPlane;

  before(async () => {
    testStore = await openToyStore();
    plane = await startControlPlane({ engine: makeEngine(testStore.store).engine });
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    for (const table of ['fi_async_task', 'stage_slot', 'account_refresh_outcome', 'task_stop_request'])
      await testStore.store.change(`DELETE FROM ${table}`);
  });

  const codesOf = async (query: string) => {
    const { status, body } = await plane.ask('GET', `/tasks?${query}`);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.items.map((task: { taskCode: string }) => task.taskCode);
  };

  it('shows ids as strings, states by name and instants in ISO 8601', async () => {
    const id = await makeTask(testStore.store, 'one', { status: 3, push_id: '18446744073709551615' });
    const { body } = await plane.ask('GET', '/tasks');
    expect(body.nextCursor).to.equal(null);
    expect(body.items).to.have.length(1);
    expect(body.items[0]).to.include({
      id,
      taskCode: 'one',
      taskType: 'TOY',
      stage: 'bill-station',
      status: 'FAILED',
      activation: 'ACTIVE',
      partnerOrgId: '7',
      pushId: '18446744073709551615',
      startedTime: null,
      slotFence: null,
    });
    expect(body.items[0].createTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.items[0]).not.to.have.any.keys('taskData', 'result');
  });

  it('finds by each filter, and by several at once', async () => {
    const { store } = testStore;
    await makeTask(store, 'plain');
    await makeTask(store, 'typed', { task_type: 'OTHER' });
    await makeTask(store, 'of-partner', { partner_org_id: '8' });
    await makeTask(store, 'keyed', { business_key: 'wanted' });
    await makeTask(store, 'staged', { stage: 'bill-snapshot' });
    await makeTask(store, 'pushed', { push_id: '12' });
    await makeTask(store, 'failed-here', { status: 3, partner_org_id: '8' });
    await makeTask(store, 'failed-there', { status: 3, stage: 'bill-snapshot' });
    expect(await codesOf('type=OTHER')).to.deep.equal(['typed']);
    expect(await codesOf('partnerOrgId=8')).to.deep.equal(['failed-here', 'of-partner']);
    expect(await codesOf('code=plain')).to.deep.equal(['plain']);
    expect(await codesOf('businessKey=wanted')).to.deep.equal(['keyed']);
    expect(await codesOf('stage=bill-snapshot')).to.deep.equal(['failed-there', 'staged']);
    expect(await codesOf('pushId=12')).to.deep.equal(['pushed']);
    expect(await codesOf('status=FAILED')).to.deep.equal(['failed-there', 'failed-here']);
    expect(await codesOf('status=FAILED&stage=bill-snapshot')).to.deep.equal(['failed-there']);
    expect(await codesOf('status=FAILED&partnerOrgId=8')).to.deep.equal(['failed-here']);
    expect(await codesOf('code=plain&partnerOrgId=8')).to.deep.equal([]);
    expect(await codesOf('status=SUCCESS')).to.deep.equal([]);
  });

  it('ENG-5 finds what runs by the slots that have it in hand', async () => {
    const { store } = testStore;
    const id = await makeTask(store, 'in-hand', { status: 1 });
    const other = await makeTask(store, 'of-another', { status: 1, partner_org_id: '8' });
    await makeTask(store, 'waiting');
    const slot = { stage: 'bill-station', holder: 'worker-a', slot_no: 1 };
    await insertRow(store, 'stage_slot', { ...slot, partner_org_id: '7', task_ids: JSON.stringify([id]) });
    await insertRow(store, 'stage_slot', { ...slot, partner_org_id: '8', task_ids: JSON.stringify([other]) });
    expect(await codesOf('status=RUNNING')).to.deep.equal(['of-another', 'in-hand']);
    expect(await codesOf('status=RUNNING&partnerOrgId=7')).to.deep.equal(['in-hand']);
    expect(await codesOf('status=RUNNING&stage=bill-snapshot')).to.deep.equal([]);
  });

  const pagings = ['', 'partnerOrgId=7', 'status=FAILED', 'status=FAILED&stage=bill-station', 'pushId=5'];
  for (const query of pagings) {
    it(`pages without gap or repetition, ${query === '' ? 'unfiltered' : `with ${query}`}`, async () => {
      const { store } = testStore;
      const codes = Array.from({ length: 7 }, (_, index) => `task-${index}`);
      for (const [index, code] of codes.entries())
        await makeTask(store, code, {
          status: 3,
          push_id: '5',
          stage: index % 3 === 1 ? 'bill-station' : query.includes('stage=') ? 'bill-station' : 'income-diff',
        });
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const at: string = cursor === null ? '' : `&cursor=${cursor}`;
        const { body } = await plane.ask('GET', `/tasks?${query}&limit=3${at}`);
        seen.push(...body.items.map((task: { taskCode: string }) => task.taskCode));
        cursor = body.nextCursor;
        pages += 1;
      } while (cursor !== null && pages < 10);
      expect(seen).to.deep.equal([...codes].reverse());
      expect(pages).to.equal(3);
    });
  }

  it('goes on below a cursor although new tasks have come since', async () => {
    await makeTasks(testStore.store, ['a', 'b', 'c']);
    const { body } = await plane.ask('GET', '/tasks?limit=2');
    await makeTasks(testStore.store, ['d', 'e']);
    expect(await codesOf(`limit=2&cursor=${body.nextCursor}`)).to.deep.equal(['a']);
  });

  for (const query of [
    'status=DONE',
    'stage=nowhere',
    'partnerOrgId=x',
    'pushId=99999999999999999999',
    'cursor=abc',
    'limit=0',
    'limit=some',
    'staus=FAILED',
    'code=a&code=b',
  ]) {
    it(`refuses ${query}`, async () => {
      const { status, body } = await plane.ask('GET', `/tasks?${query}`);
      expect(status).to.equal(400);
      expect(body).to.include({ code: 'MALFORMED_QUERY', status: 400 });
    });
  }

  it('ACC-13 shows a task with its data, result and account outcomes', async () => {
    const { store } = testStore;
    const id = await makeTask(store, 'ARF/1 α', {
      stage: 'account-shard',
      task_data: '{"accounts":["1"]}',
      result: '{"cursor":"1"}',
    });
    await insertRow(store, 'account_refresh_outcome', {
      task_id: id,
      platform_station_id: '77',
      running_attempt: 2,
      outcome: 'FAILED',
      scope_count: 3,
      error_code: 'SNAPSHOT_TASK_CANCELLED',
      error_message: 'a person must decide',
    });
    await insertRow(store, 'task_stop_request', { task_id: id, requested_by: 'someone' });
    const { status, body } = await plane.ask('GET', `/tasks/${encodeURIComponent('ARF/1 α')}`);
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      id,
      taskCode: 'ARF/1 α',
      taskData: { accounts: ['1'] },
      result: { cursor: '1' },
      stopRequested: true,
    });
    const [outcome] = body.accountOutcomes;
    expect(outcome).to.include({
      platformStationId: '77',
      outcome: 'FAILED',
      errorMessage: 'a person must decide',
    });
    expect(outcome.createTime).to.match(/Z$/);
  });

  it('answers 404 for a task that is not there', async () => {
    const { status, body } = await plane.ask('GET', '/tasks/none');
    expect(status).to.equal(404);
    expect(body.code).to.equal('NO_SUCH_TASK');
  });
});
