import { expect } from 'chai';
import { Place, type PlaceName } from '../../src/domain/place.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import {
  insertNumberedRow,
  insertRow,
  type MadeMapping,
  type MadePartner,
  makeMapping,
  makePartner,
} from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('GET /api/v1/pushes/{pushId}/bills', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;
  let mapped: MadeMapping;
  let pushId: string;

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
    mapped = await makeMapping(database.store, partner.partnerOrgId);
    const stations = [
      stationOf(mapped.partnerStationNo, ['2026-05', '2026-04', '2026-04']),
      stationOf('nowhere', ['2026-04']),
    ];
    pushId = (await client.push({ stations })).body.pushId;
  });

  const traces = async (query = '') => (await client.get(`/api/v1/pushes/${pushId}/bills${query}`)).body;
  const move = (rowNo: number, place: PlaceName, columns: Record<string, string | number>) => {
    const names = Object.keys(columns);
    return database.store.changeExactly(
      1,
      'moving a row',
      `UPDATE pushed_row_place SET place = ?${names.map((name) => `, ${name} = ?`).join('')} WHERE push_id = ? AND row_no = ?`,
      [Place[place], ...Object.values(columns), pushId, rowNo],
    );
  };
  const makeTask = (stage: string, code: string, columns = {}) =>
    insertNumberedRow(database.store, 'fi_async_task', {
      task_type: 'T',
      task_code: code,
      business_key: code,
      task_data: '{}',
      max_retry_count: 8,
      stage,
      next_execute_time: '2026-01-01',
      ...columns,
    });

  it('COV-3 each row with its receipt and place, in row order; a refused one with what to change', async () => {
    const { items, nextCursor } = await traces();
    const seen = items.map((item: never) => {
      const { rowNo, index, billYearMonth, receipt, place, leftAt, reason, pointer, taskCode } = item;
      return [rowNo, index, billYearMonth, receipt, place, leftAt, reason, pointer, taskCode];
    });
    const task = `PSB:${pushId}:${mapped.partnerStationNo}`;
    expect(seen).to.deep.equal([
      [1, 1, '2026-04', 'ACCEPTED', 'STATION_PENDING', null, null, null, task],
      [2, 2, '2026-04', 'REFUSED', 'INVALID', 'valid', 'DUPLICATE_IN_PUSH', '/stations/0/bills/2', null],
      [3, 0, '2026-05', 'ACCEPTED', 'STATION_PENDING', null, null, null, task],
      [
        4,
        3,
        '2026-04',
        'REFUSED',
        'INVALID',
        'valid',
        'UNKNOWN_STATION',
        '/stations/1/partnerStationNo',
        null,
      ],
    ]);
    expect(items[3].message).to.match(/^Have station "nowhere" registered/);
    expect(nextCursor).to.equal(null);
  });

  it('COV-3 pages by key, and by place', async () => {
    const seen: number[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const page: { items: { rowNo: number }[]; nextCursor: string | null } = await traces(
        `?limit=1&cursor=${cursor}`,
      );
      seen.push(...page.items.map((item) => item.rowNo));
      cursor = page.nextCursor;
    }
    expect(seen).to.deep.equal([1, 2, 3, 4]);
    const invalid = await traces('?place=INVALID&limit=1');
    expect(invalid.items[0].rowNo).to.equal(2);
    expect(
      (await traces(`?place=INVALID&limit=5&cursor=${invalid.nextCursor}`)).items.map(
        (item: { rowNo: number }) => item.rowNo,
      ),
    ).to.deep.equal([4]);
    for (const query of ['?place=NOWHERE', '?place=constructor', '?cursor=x', '?limit=-1']) {
      expect((await client.get(`/api/v1/pushes/${pushId}/bills${query}`)).status, query).to.equal(400);
    }
  });

  it('COV-3 a row whose station failed says why', async () => {
    await database.store.change(
      "UPDATE fi_async_task SET status = 3, error_code = 'PAYMENT_LOCKED', error_message = 'Month 2026-04 is locked' WHERE push_id = ?",
      [pushId],
    );
    await move(1, 'STATION_FAILED', { left_at: 3, reason: 'PAYMENT_LOCKED' });
    const [item] = (await traces('?place=STATION_FAILED')).items;
    expect(item).to.include({
      leftAt: 'committed',
      reason: 'PAYMENT_LOCKED',
      message: 'Month 2026-04 is locked',
    });
    expect(item.lastError).to.deep.equal({ code: 'PAYMENT_LOCKED', message: 'Month 2026-04 is locked' });
  });

  it('COV-3 from bill to snapshot: every id, the account’s outcome, and what is waited for', async () => {
    const station = await database.store.one<{ id: string }>(
      'SELECT id FROM fi_async_task WHERE push_id = ?',
      [pushId],
    );
    const message = await makeTask('income-diff', `M:${pushId}`, {
      error_code: 'NO_PLATFORM_STATION',
      error_message: 'No platform station',
    });
    const account = await makeTask('account-shard', `A:${pushId}`);
    const snapshot = await makeTask('bill-snapshot', `S:${pushId}`, {
      error_code: 'INFRASTRUCTURE',
      error_message: 'gone',
    });
    await insertRow(database.store, 'income_diff_handover', {
      station_task_id: station.id,
      partner_org_id: partner.partnerOrgId,
      push_id: pushId,
      partner_station_no: mapped.partnerStationNo,
      platform_station_id: mapped.platformStationId,
      first_row_no: 1,
      last_row_no: 3,
      bill_count: 2,
      message_task_id: message,
    });
    for (const outcome of ['FAILED', 'SKIPPED']) {
      await insertRow(database.store, 'account_refresh_outcome', {
        task_id: account,
        platform_station_id: mapped.platformStationId,
        running_attempt: 1,
        outcome,
        error_code: 'E',
        error_message: `${outcome} it`,
      });
    }
    // The task goes on with its next account, which is not this row's.
    await insertRow(database.store, 'account_refresh_outcome', {
      task_id: account,
      platform_station_id: (await makeMapping(database.store, partner.partnerOrgId)).platformStationId,
      running_attempt: 1,
      outcome: 'REFRESHED',
    });
    const bill = await insertNumberedRow(database.store, 'fi_customer_bill_partner', {
      customer_account_id: 1,
      partner_org_id: partner.partnerOrgId,
      bill_year_month: '2026-04',
      rent: 1,
      push_id: '77',
      push_row_no: 1,
      accept_no: 2,
      content_hash: 'x'.repeat(64),
      last_push_time: '2026-01-01',
    });
    await move(1, 'SKIPPED', { left_at: 6, bill_id: bill, diff_id: 5, account_task_id: account });
    await move(3, 'SNAPSHOT_PENDING', {
      bill_id: bill,
      diff_id: 6,
      account_task_id: account,
      snapshot_task_id: snapshot,
      snapshot_generation: 4,
    });
    const [skipped, , waiting] = (await traces()).items;
    expect(skipped).to.include({
      billId: bill,
      diffId: '5',
      differenceTaskCode: `M:${pushId}`,
      accountTaskCode: `A:${pushId}`,
      accountOutcome: 'SKIPPED',
      message: 'SKIPPED it',
      replacedByPushId: '77',
    });
    expect(waiting).to.include({
      place: 'SNAPSHOT_PENDING',
      snapshotTaskCode: `S:${pushId}`,
      snapshotGeneration: 4,
      message: 'gone',
    });
  });

  it('COV-2 COV-3 an overtaken row says by which push', async () => {
    await move(1, 'SUPERSEDED', { left_at: 4, superseded_by_push_id: 99 });
    const [item] = (await traces('?place=SUPERSEDED')).items;
    expect(item).to.include({ leftAt: 'inDifference', supersededByPushId: '99' });
  });
});
