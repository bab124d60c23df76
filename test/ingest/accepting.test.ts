/** ING-6: accepting is one transaction, whatever of it breaks, and the order number is the last that it writes. */
import { IsolationLevel } from '@mikro-orm/mysql';
import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { holdRows, untilWaiting } from '../support/engine.ts';
import { type MadePartner, makeMapping, makePartner } from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

/** What a push of two stations with two bills each leaves, by table. */
const WRITTEN = {
  partner_push: 1,
  open_push: 1,
  push_identity: 1,
  pushed_row: 4,
  pushed_row_place: 4,
  fi_async_task: 2,
};
const NOTHING = Object.fromEntries(Object.keys(WRITTEN).map((table) => [table, 0]));
const MONTHS = ['2026-04', '2026-05'];

describe('accepting a push', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;
  let body: object;

  before(async () => {
    database = await openTestStore({}, { lockWaitTimeoutS: 30 });
    api = await startPartnerApi(database.store);
  });
  after(async () => {
    await api.close();
    await database.drop();
  });
  beforeEach(async () => {
    for (const table of Object.keys(WRITTEN)) await database.store.change(`DELETE FROM ${table}`);
    partner = await makePartner(database.store);
    client = api.as(partner);
    const stations = [1, 2].map(() => makeMapping(database.store, partner.partnerOrgId));
    const numbers = (await Promise.all(stations)).map((one) => one.partnerStationNo);
    body = { stations: numbers.map((no) => stationOf(no, MONTHS)) };
    api.kicks.length = 0;
  });

  /** Rows by table, those of transactions that are not committed yet too. */
  function countDirty(): Promise<Record<string, number>> {
    return database.store.orm.em.fork().transactional(
      async (em) => {
        const counts: Record<string, number> = {};
        for (const table of Object.keys(WRITTEN)) {
          const [row] = await em.execute<{ n: number | string }[]>(`SELECT COUNT(*) n FROM ${table}`);
          counts[table] = Number(row!.n);
        }
        return counts;
      },
      { isolationLevel: IsolationLevel.READ_UNCOMMITTED },
    );
  }

  it('ING-6 the order number is taken last: a push that waits for it has written all else, and is not woken for yet', async () => {
    const held = await holdRows(
      database.store,
      'SELECT accept_seq FROM partner WHERE partner_org_id = ? FOR UPDATE',
      [partner.partnerOrgId],
    );
    const answering = client.push(body);
    await untilWaiting(database.store);
    expect(await countDirty()).to.deep.equal(WRITTEN);
    expect(api.kicks).to.deep.equal([]);
    await held.release();
    expect((await answering).status).to.equal(202);
    expect(api.kicks).to.deep.equal([['bill-station', partner.partnerOrgId]]);
  });

  it('ING-6 so the numbers follow the commits, not the beginnings: a push that is long at its rows lets a later one pass', async () => {
    const first = await makeMapping(database.store, partner.partnerOrgId);
    // As a large push does that is still writing its rows.
    await database.store.change('CREATE TABLE slow_rows (push_id BIGINT UNSIGNED PRIMARY KEY)');
    await database.store.change(
      `CREATE TRIGGER slow_rows BEFORE INSERT ON pushed_row FOR EACH ROW
         IF NEW.partner_station_no = '${first.partnerStationNo}' THEN
           INSERT INTO slow_rows (push_id) VALUES (0) ON DUPLICATE KEY UPDATE push_id = 0;
         END IF`,
    );
    try {
      await database.store.change('INSERT INTO slow_rows (push_id) VALUES (0)');
      const slow = await holdRows(database.store, 'SELECT push_id FROM slow_rows FOR UPDATE');
      const begun = client.push(
        { stations: [stationOf(first.partnerStationNo, MONTHS)] },
        { identity: 'begun-first' },
      );
      await untilWaiting(database.store);
      expect((await client.push(body, { identity: 'begun-later' })).status).to.equal(202);
      await slow.release();
      expect((await begun).status).to.equal(202);
    } finally {
      await database.store.change('DROP TRIGGER slow_rows');
      await database.store.change('DROP TABLE slow_rows');
    }
    const numbers = await database.store.many(
      'SELECT idempotency_key identity, accept_no acceptNo FROM partner_push ORDER BY accept_no',
    );
    expect(numbers).to.deep.equal([
      { identity: 'begun-later', acceptNo: '1' },
      { identity: 'begun-first', acceptNo: '2' },
    ]);
  });

  for (const table of [...Object.keys(WRITTEN), 'partner']) {
    it(`ING-6 one transaction: where ${table} cannot be written, nothing is there, no 202, nobody is woken, the identity is free`, async () => {
      const event = table === 'partner' ? 'UPDATE' : 'INSERT';
      await database.store.change(
        `CREATE TRIGGER refused BEFORE ${event} ON ${table} FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'full'`,
      );
      try {
        const answer = await client.push(body, { identity: 'broken' });
        expect([answer.status, answer.body.code]).to.deep.equal([500, 'INTERNAL']);
      } finally {
        await database.store.change('DROP TRIGGER refused');
      }
      expect(await countDirty()).to.deep.equal(NOTHING);
      expect(api.kicks).to.deep.equal([]);
      const again = await client.push(body, { identity: 'broken' });
      expect([again.status, again.body.code]).to.deep.equal([202, 'ACCEPTED']);
      expect(await countDirty()).to.deep.equal(WRITTEN);
    });
  }

  it('ING-5 ING-6 a push without rows makes no work: nobody is woken', async () => {
    const answer = await client.push({ stations: [] });
    expect([answer.status, answer.body.code]).to.deep.equal([202, 'SKIPPED']);
    expect(await countDirty()).to.deep.equal({ ...NOTHING, partner_push: 1, open_push: 1, push_identity: 1 });
    expect(api.kicks).to.deep.equal([]);
  });
});
