import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import {
  insertNumberedRow,
  insertRow,
  type MadePartner,
  makeMapping,
  makePartner,
} from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('GET /api/v1/completeness', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store);
  });
  after(async () => {
    await api.close();
    await database.drop();
  });
  beforeEach(async () => {
    partner = await makePartner(database.store);
    client = api.as(partner);
  });

  const map = (partner_station_no: string, columns = {}) =>
    makeMapping(database.store, partner.partnerOrgId, { partner_station_no, ...columns });
  const ask = async (query = '') => (await client.get(`/api/v1/completeness?month=2026-05${query}`)).body;
  const numbers = (answer: { items: { partnerStationNo: string }[] }) =>
    answer.items.map((item) => item.partnerStationNo);

  it('COV-5 DEC-22 expects what is mapped and active in the month, platform station or not, whatever came', async () => {
    await map('A');
    await map('B', { platform_station_id: null });
    await map('C', { active_from_month: '2026-06' });
    await map('D', { active_to_month: '2026-04' });
    await map('E', { active_from_month: '2026-05', active_to_month: '2026-05' });
    await makeMapping(database.store, (await makePartner(database.store)).partnerOrgId);
    const answer = await ask();
    expect(answer).to.deep.include({
      month: '2026-05',
      expected: { stations: 3 },
      received: { stations: 0, amount: '0.00' },
      missing: { stations: 3 },
    });
    expect(numbers(answer)).to.deep.equal(['A', 'B', 'E']);
  });

  it('COV-5 a station did send once a row of the month was accepted, written or not; a refused row is not enough', async () => {
    for (const no of ['A', 'B', 'C', 'D']) await map(no);
    await client.push({
      stations: [
        stationOf('A', ['2026-05']),
        stationOf('B', ['2026-04']),
        stationOf('C', ['2026-05'], { rent: '-1' }),
      ],
    });
    const answer = await ask();
    expect(answer).to.deep.include({
      expected: { stations: 4 },
      received: { stations: 1, amount: '100.00' },
      missing: { stations: 3 },
    });
    expect(numbers(answer)).to.deep.equal(['B', 'C', 'D']);
    expect(numbers(await ask('&show=received'))).to.deep.equal(['A']);
  });

  it('COV-5 stays sent when its work fails, is cancelled, or has long been written', async () => {
    await map('A');
    const { pushId } = (await client.push({ stations: [stationOf('A', ['2026-05'])] })).body;
    for (const [status, place] of [
      [3, 4],
      [4, 17],
    ]) {
      await database.store.change('UPDATE fi_async_task SET status = ? WHERE push_id = ?', [status!, pushId]);
      await database.store.change('UPDATE pushed_row_place SET place = ? WHERE push_id = ?', [
        place!,
        pushId,
      ]);
      expect((await ask()).received.stations).to.equal(1);
    }
    await database.store.change('UPDATE fi_async_task SET status = 2 WHERE push_id = ?', [pushId]);
    await database.store.change('UPDATE pushed_row_place SET place = 7 WHERE push_id = ?', [pushId]);
    const account = await insertNumberedRow(database.store, 'fi_customer_account_partner', {
      partner_org_id: partner.partnerOrgId,
      partner_station_no: 'A',
      push_id: pushId,
      accept_no: 1,
    });
    await insertRow(database.store, 'fi_customer_bill_partner', {
      customer_account_id: account,
      partner_org_id: partner.partnerOrgId,
      bill_year_month: '2026-05',
      rent: '123.45',
      push_id: pushId,
      push_row_no: 1,
      accept_no: 1,
      content_hash: 'x'.repeat(64),
      last_push_time: '2026-01-01',
    });
    expect((await ask()).received).to.deep.equal({ stations: 1, amount: '123.45' });
  });

  it('COV-5 ING-1 what another partner sent for a station of the same number, written or not, counts for that partner only', async () => {
    const other = await makePartner(database.store);
    for (const no of ['A', 'B']) {
      await map(no);
      await makeMapping(database.store, other.partnerOrgId, { partner_station_no: no });
    }
    await api.as(other).push({ stations: [stationOf('A', ['2026-05'])] });
    const account = await insertNumberedRow(database.store, 'fi_customer_account_partner', {
      partner_org_id: other.partnerOrgId,
      partner_station_no: 'B',
      push_id: '1',
      accept_no: 1,
    });
    await insertRow(database.store, 'fi_customer_bill_partner', {
      customer_account_id: account,
      partner_org_id: other.partnerOrgId,
      bill_year_month: '2026-05',
      rent: '123.45',
      push_id: '1',
      push_row_no: 1,
      accept_no: 1,
      content_hash: 'x'.repeat(64),
      last_push_time: '2026-01-01',
    });
    expect(await ask()).to.deep.include({ expected: { stations: 2 }, missing: { stations: 2 } });
    const theirs = await api.as(other).get('/api/v1/completeness?month=2026-05');
    expect(theirs.body.received).to.deep.equal({ stations: 2, amount: '223.45' });
  });

  it('COV-5 a bill of 0.00 was sent, too', async () => {
    await map('A');
    await client.push({ stations: [stationOf('A', ['2026-05'], { rent: '0.00' })] });
    expect(await ask()).to.deep.include({ received: { stations: 1, amount: '0.00' }, items: [] });
  });

  it('COV-6 the counts and the lists behind them agree, over pages', async () => {
    for (let at = 0; at < 9; at++) await map(`N${at}`);
    await client.push({ stations: ['N1', 'N4', 'N7'].map((no) => stationOf(no, ['2026-05'])) });
    const sums = await ask();
    for (const [show, count] of [
      ['missing', sums.missing.stations],
      ['received', sums.received.stations],
      ['all', sums.expected.stations],
    ]) {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await ask(`&show=${show}&limit=2&cursor=${cursor}`);
        seen.push(...numbers(page));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect([show, seen.length, new Set(seen).size]).to.deep.equal([show, count, count]);
    }
  });

  for (const query of [
    '',
    '?month=',
    '?month=2026-5',
    '?month=2026-05&month=2026-06',
    '?month=2026-05&show=some',
    '?month=2026-05&show=toString',
  ]) {
    it(`ING-10 ${query || 'no month'}: 400`, async () => {
      expect((await client.get(`/api/v1/completeness${query}`)).body.code).to.equal('MALFORMED_QUERY');
    });
  }
});
