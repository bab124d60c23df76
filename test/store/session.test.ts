import { expect } from 'chai';
import type { Store } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { makeTask, openToyStore, PARTNER, readSlot, readTask, slotOf } from '../support/engine.ts';

describe('store: what the engine leans on', () => {
  let testStore: TestStore;
  let store: Store;

  before(async () => {
    testStore = await openToyStore();
    store = testStore.store;
  });
  after(() => testStore.drop());

  it('ENG-1 a task has every column that the original hid in its data', async () => {
    const rows = await store.many<{ name: string; nullable: string; type: string }>(
      `SELECT COLUMN_NAME name, IS_NULLABLE nullable, COLUMN_TYPE type FROM information_schema.columns
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'fi_async_task'`,
    );
    const columns = new Map(rows.map((row) => [row.name, row]));
    expect([...columns.keys()]).to.include.members([
      ...['task_type', 'task_code', 'business_key', 'task_data', 'status', 'final_result', 'activation'],
      ...['retry_count', 'max_retry_count', 'next_execute_time', 'running_attempt', 'request_generation'],
      ...['crash_count', 'stage', 'partner_org_id', 'push_id', 'slot_no', 'slot_fence', 'worker'],
      ...['manually_due', 'busy_since', 'error_message', 'result'],
    ]);
    expect(columns.get('error_message')?.type).to.equal('varchar(1000)');
    expect(columns.get('next_execute_time')?.nullable, 'a due time is never null (ENG-8)').to.equal('NO');
  });

  it('ENG-1 a code is unique', async () => {
    await makeTask(store, 'unique-1');
    const refusal = await makeTask(store, 'unique-1').catch((error: Error) => error.message);
    expect(refusal).to.match(/Duplicate entry/);
  });

  it('ENG-1 a new task is PENDING, active, of no partner and no push', async () => {
    await store.change(
      `INSERT INTO fi_async_task (task_type, task_code, business_key, task_data, max_retry_count, stage, next_execute_time)
       VALUES ('TOY', 'default-1', 'k', '{}', 3, 'bill-station', NOW(3))`,
    );
    const row = await store.one('SELECT * FROM fi_async_task WHERE task_code = ?', ['default-1']);
    expect(row).to.include({
      status: 0,
      activation: 1,
      retry_count: 0,
      running_attempt: 0,
      request_generation: 1,
      crash_count: 0,
      partner_org_id: '0',
      push_id: '0',
      claimable: 1,
    });
  });

  const CLAIMABLE: [string, Record<string, number>, number | null][] = [
    ['a pending task', { status: 0 }, 1],
    ['a failed task with attempts left', { status: 3, retry_count: 7 }, 1],
    ['a failed task without', { status: 3, retry_count: 8 }, null],
    ['a failed task without, that a person wants to run', { status: 3, retry_count: 8, manually_due: 1 }, 1],
    ['a running task', { status: 1 }, null],
    ['a running task that a person wanted to run', { status: 1, manually_due: 1 }, null],
    ['a task that succeeded', { status: 2 }, null],
    ['a cancelled task', { status: 4, manually_due: 1 }, null],
    ['a stopped task', { status: 0, activation: 0 }, null],
    ['a stopped task that a person wants to run', { status: 0, activation: 0, manually_due: 1 }, null],
    ['a deleted task', { status: 0, del_flag: 1 }, null],
  ];
  for (const [what, columns, claimable] of CLAIMABLE) {
    it(`ENG-8 ${what} is ${claimable === 1 ? '' : 'not '}claimable`, async () => {
      const code = `claimable ${what}`;
      await makeTask(store, code, columns);
      expect((await readTask(store, code)).claimable).to.equal(claimable);
    });
  }

  it('ENG-8 a claim reads the claiming index alone', async () => {
    const keys = await store.many<{ Column_name: string }>(
      "SHOW INDEX FROM fi_async_task WHERE Key_name = 'idx_task_claim'",
    );
    expect(keys.map((key) => key.Column_name)).to.deep.equal([
      ...['claimable', 'stage', 'partner_org_id', 'next_execute_time', 'retry_count', 'id'],
    ]);
  });

  it('ENG-10 an UPDATE that changes nothing still counts the row that it matched (FOUND_ROWS)', async () => {
    await makeTask(store, 'found-rows');
    const same = 'UPDATE fi_async_task SET status = 0 WHERE task_code = ?';
    expect(await store.change(same, ['found-rows'])).to.equal(1);
    expect(await store.change(same, ['no such code'])).to.equal(0);
  });

  it('ENG-12 every session frees its rows soon and waits for rows shortly, at READ COMMITTED, in UTC', async () => {
    const settings = await store.many<{ Variable_name: string; Value: string }>(
      `SHOW SESSION VARIABLES WHERE Variable_name IN
         ('transaction_isolation', 'tx_isolation', 'wait_timeout', 'innodb_lock_wait_timeout')`,
    );
    const values = settings.map(
      (setting) => `${setting.Variable_name.replace(/^(tx|transaction)_/, '')} ${setting.Value}`,
    );
    expect([...new Set(values)].sort()).to.deep.equal([
      'innodb_lock_wait_timeout 2',
      'isolation READ-COMMITTED',
      'wait_timeout 25',
    ]);
    const clock = await store.one<{ apartS: string }>(
      'SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW()) apartS',
    );
    expect(Number(clock.apartS)).to.equal(0);
  });

  it('ENG-12 an idle connection is given up by us before the server ends it', async () => {
    const pool = (store.orm.config.get('pool') as { idleTimeoutMillis: number }).idleTimeoutMillis;
    expect(pool).to.be.below(25_000);
  });

  it('ids and fences are decimal strings, small numbers are numbers, JSON is read as it was written', async () => {
    const huge = '18446744073709551615';
    await store.change(
      `INSERT INTO stage_slot (stage, partner_org_id, slot_no, fence, task_ids) VALUES (?, ?, 9, ?, ?)`,
      ['bill-station', PARTNER, huge, JSON.stringify(['1', huge])],
    );
    const slot = await readSlot(store, slotOf(9));
    expect(slot).to.deep.include({ fence: huge, taskIds: ['1', huge], retired: 0, holder: null });
    const id = await makeTask(store, 'types', { result: JSON.stringify({ text: 'it\'s "?" \\ 台区 🌞' }) });
    const task = await readTask(store, 'types');
    expect(task.id).to.equal(id).and.be.a('string');
    expect(task.runningAttempt).to.equal(0);
    expect(task.result).to.deep.equal({ text: 'it\'s "?" \\ 台区 🌞' });
  });
});
