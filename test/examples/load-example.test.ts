import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { loadExample } from '../../src/cli/load-example.ts';
import { openTestStore, type TestStore } from '../support/database.ts';

const TABLES = [
  ...[
    'partner',
    'partner_credential',
    'prop_station',
    'station_mapping',
    'stage_slot',
    'fi_customer_account',
  ],
  ...['fi_customer_bill', 'fi_resident_income_payment_bill_dimension_snapshot'],
  ...['fi_resident_income_payment_bill_lock', 'fi_async_task'],
];

describe('loading the example', () => {
  let test: TestStore;

  before(async () => {
    test = await openTestStore();
    await loadExample(test.store);
  });
  after(() => test.drop());

  /** Every row of every table that the loader writes, without the times. */
  async function everything(): Promise<Record<string, unknown[]>> {
    const rows = await Promise.all(
      TABLES.map(async (table) => [table, await test.store.many(`SELECT * FROM ${table}`)]),
    );
    return Object.fromEntries(rows);
  }

  it('brings partners, stations and bills', async () => {
    const counts = Object.fromEntries(
      Object.entries(await everything()).map(([table, rows]) => [table, rows.length]),
    );
    expect(counts).to.include({ partner: 3, partner_credential: 3, prop_station: 120, station_mapping: 120 });
    expect(counts).to.include({ fi_customer_account: 118, fi_resident_income_payment_bill_lock: 1 });
  });

  it('ING-1 keeps of a key its SHA-256 alone', async () => {
    const { hash } = await test.store.one<{ hash: string }>(
      'SELECT key_hash hash FROM partner_credential WHERE partner_org_id = 860101',
    );
    expect(hash).to.equal(createHash('sha256').update('demo-key-qinggeng-7f2c').digest('hex'));
  });

  it('ENG-5 gives each partner its slots at every stage', async () => {
    const slots = await test.store.many<{ partnerOrgId: string }>(
      "SELECT partner_org_id partnerOrgId FROM stage_slot WHERE stage = 'bill-station'",
    );
    expect(new Set(slots.map((slot) => slot.partnerOrgId))).to.have.all.keys('860101', '860102', '860103');
  });

  it('DEC-5 gives our own accounts the totals of their bills', async () => {
    const { wrong } = await test.store.one<{ wrong: number }>(
      `SELECT COUNT(*) wrong FROM fi_customer_account account
        WHERE total_rent <> (SELECT SUM(rent) FROM fi_customer_bill WHERE customer_account_id = account.id)`,
    );
    expect(Number(wrong)).to.equal(0);
  });

  it('SNP-1 holds one snapshot task that a person has cancelled', async () => {
    const tasks = await test.store.many<{ code: string; status: number }>(
      "SELECT task_code code, status FROM fi_async_task WHERE stage = 'bill-snapshot'",
    );
    expect(tasks).to.deep.equal([{ code: 'BDS:860102:32000031', status: 4 }]);
  });

  it('INV-1 holds a payment submit whose build is stopped: it occupies a month, and nobody works at it', async () => {
    const tasks = await test.store.many<{ stage: string; status: number; claimable: number | null }>(
      "SELECT stage, status, claimable FROM fi_async_task WHERE stage <> 'bill-snapshot'",
    );
    expect(tasks).to.deep.equal([{ stage: 'payment-submit', status: 0, claimable: null }]);
  });

  it('twice is once: not a row more, not a value changed', async () => {
    const before = await everything();
    await loadExample(test.store);
    expect(await everything()).to.deep.equal(before);
  });

  it('leaves alone what somebody has changed since', async () => {
    await test.store.change("UPDATE partner SET tolerance = '1.00' WHERE partner_org_id = 860101");
    await test.store.change('DELETE FROM prop_station WHERE id = 31000005');
    await loadExample(test.store);
    const { tolerance } = await test.store.one<{ tolerance: string }>(
      'SELECT tolerance FROM partner WHERE partner_org_id = 860101',
    );
    expect(tolerance, 'kept').to.equal('1.00');
    await test.store.one('SELECT id FROM prop_station WHERE id = 31000005');
  });
});
