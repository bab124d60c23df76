import { expect } from 'chai';
import { lockGuards, partnerStationGuard, platformStationGuard } from '../../src/store/guards.ts';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { holdRows, makeEngine, openToyStore, untilWaiting } from '../support/engine.ts';
import {
  insertNumberedRow,
  insertRow,
  makeMapping,
  makePartner,
  makePlatformAccount,
  makePlatformBill,
  makePropStation,
} from '../support/factory.ts';

describe('control: station mappings', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let partnerOrgId: string;
  let platformStationId: string;
  let wish: Record<string, unknown>;

  before(async () => {
    testStore = await openToyStore();
    plane = await startControlPlane({ engine: makeEngine(testStore.store).engine });
  });
  after(async () => {
    await plane.close();
    await testStore.drop();
  });
  beforeEach(async () => {
    const { store } = testStore;
    for (const table of [
      'partner',
      'partner_credential',
      'prop_station',
      'station_mapping',
      'operation_audit',
    ])
      await store.change(`DELETE FROM ${table}`);
    ({ partnerOrgId } = await makePartner(store));
    platformStationId = await makePropStation(store);
    wish = {
      partnerOrgId,
      partnerStationNo: 'S-1',
      partnerStationId: 'SID-1',
      platformStationId,
      projectCompanyId: '3',
      projectCompanyName: 'Sunny project',
      activeFromMonth: '2024-01',
    };
  });

  const put = (body: unknown) => plane.ask('POST', '/station-mappings', body);
  const mappings = async (query = '') => (await plane.ask('GET', `/station-mappings?${query}`)).body.items;
  const makeBill = async (partnerStationNo: string) => {
    const { store } = testStore;
    const accountId = await insertNumberedRow(store, 'fi_customer_account_partner', {
      partner_org_id: partnerOrgId,
      partner_station_no: partnerStationNo,
      push_id: '1',
      accept_no: '1',
    });
    await insertRow(store, 'fi_customer_bill_partner', {
      customer_account_id: accountId,
      partner_org_id: partnerOrgId,
      bill_year_month: '2024-02',
      rent: '100.00',
      push_id: '1',
      push_row_no: 1,
      accept_no: '1',
      content_hash: '0'.repeat(64),
      last_push_time: '2024-03-01',
    });
  };
  const isRefused = async (body: unknown, status: number, code: string) => {
    const before = await mappings();
    await testStore.store.change('DELETE FROM operation_audit');
    const answer = await put(body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    expect(answer.body.code).to.equal(code);
    expect(await mappings()).to.deep.equal(before);
    expect(await listAudit(testStore.store)).to.deep.equal([]);
  };

  it('DEC-3 are made, with or without a platform station', async () => {
    const { status, body } = await put({ ...wish, activeToMonth: '2030-12' });
    expect(status).to.equal(201);
    expect(body).to.deep.include({ ...wish, activeToMonth: '2030-12' });
    const without = await put({ ...wish, partnerStationNo: 'S-2', platformStationId: null });
    expect(without.status).to.equal(201);
    expect(without.body.platformStationId).to.equal(null);
    const [audited] = await listAudit(testStore.store);
    expect(audited).to.include({
      actor: 'admin-token',
      action: 'STATION_MAPPING_CREATE',
      target: `${partnerOrgId}:S-1`,
      before: null,
    });
    expect(audited!.after).to.deep.include({ platformStationId, activeToMonth: '2030-12' });
  });

  it('DEC-3 are completed where the platform station is missing, bills or not', async () => {
    await put({ ...wish, platformStationId: null });
    await makeBill('S-1');
    const { status, body } = await put({ partnerOrgId, partnerStationNo: 'S-1', platformStationId });
    expect(status).to.equal(200);
    expect(body).to.deep.include({ ...wish, platformStationId });
    const audited = (await listAudit(testStore.store)).at(-1)!;
    expect(audited.action).to.equal('STATION_MAPPING_CHANGE');
    expect([audited.before.platformStationId, audited.after.platformStationId]).to.deep.equal([
      null,
      platformStationId,
    ]);
  });

  it('DEC-23 may be corrected as long as there are no bills, and no longer', async () => {
    const right = await makePropStation(testStore.store);
    const third = await makePropStation(testStore.store);
    await put(wish);
    const corrected = await put({ partnerOrgId, partnerStationNo: 'S-1', platformStationId: right });
    expect(corrected.body.platformStationId).to.equal(right);
    await makeBill('S-1');
    await isRefused(
      { partnerOrgId, partnerStationNo: 'S-1', platformStationId: third },
      409,
      'MAPPING_HAS_BILLS',
    );
  });

  it('DEC-23 bills of ours hold it as well, deleted ones too; another partner’s there do not', async () => {
    const { store } = testStore;
    const right = await makePropStation(store);
    await put(wish);
    const other = await makePartner(store);
    const where = { platformStationId, month: '2026-01' };
    const theirs = await makePlatformAccount(store, { ...where, partnerOrgId: other.partnerOrgId });
    await makePlatformBill(store, { ...where, partnerOrgId: other.partnerOrgId, accountId: theirs });
    const move = { partnerOrgId, partnerStationNo: 'S-1', platformStationId: right };
    expect((await put(move)).status).to.equal(200);
    await put({ ...move, platformStationId });
    const accountId = await makePlatformAccount(store, { ...where, partnerOrgId });
    await makePlatformBill(store, { ...where, partnerOrgId, accountId }, { del_flag: 1 });
    await isRefused(move, 409, 'MAPPING_HAS_BILLS');
  });

  it('ENG-16 DEC-23 are not moved away from a station of ours that is being worked on', async () => {
    const { store } = testStore;
    await put(wish);
    const right = await makePropStation(store);
    const where = { partnerOrgId, platformStationId, month: '2026-01' };
    const another = await testStore.openAnother();
    await lockGuards(store, [{ key: platformStationGuard(platformStationId) }]);
    const held = await holdRows(
      another,
      'SELECT fence FROM station_guard WHERE kind = 2 AND platform_station_id = ? FOR UPDATE',
      [platformStationId],
    );
    const answer = put({ partnerOrgId, partnerStationNo: 'S-1', platformStationId: right });
    await untilWaiting(store);
    const accountId = await makePlatformAccount(store, where);
    await makePlatformBill(store, { ...where, accountId });
    await held.release();
    expect((await answer).body.code).to.equal('MAPPING_HAS_BILLS');
  });

  it('said again change nothing and are kept no second time', async () => {
    const first = await put(wish);
    await makeBill('S-1');
    const second = await put(wish);
    expect(second.status).to.equal(200);
    expect(second.body).to.deep.equal(first.body);
    expect((await put({ partnerOrgId, partnerStationNo: 'S-1' })).body).to.deep.equal(first.body);
    expect(await listAudit(testStore.store)).to.have.length(1);
  });

  it('ENG-16 are changed when nobody is at work on the station', async () => {
    const guard = partnerStationGuard(partnerOrgId, 'S-1');
    await insertRow(testStore.store, 'station_guard', {
      kind: guard.kind,
      partner_org_id: guard.partnerOrgId,
      platform_station_id: guard.platformStationId,
      partner_station_no: guard.partnerStationNo,
    });
    const another = await testStore.openAnother();
    const held = await holdRows(
      another,
      "SELECT fence FROM station_guard WHERE partner_station_no = 'S-1' FOR UPDATE",
    );
    const answer = put(wish);
    await untilWaiting(testStore.store);
    expect(await mappings()).to.deep.equal([]);
    await held.release();
    expect((await answer).status).to.equal(201);
  });

  it('are refused with other fields than they have', async () => {
    await put(wish);
    await isRefused({ ...wish, partnerStationId: 'SID-9' }, 409, 'MAPPING_EXISTS');
    await isRefused({ ...wish, activeToMonth: '2030-01' }, 409, 'MAPPING_EXISTS');
  });

  it('are refused for a platform station that another station of the partner has', async () => {
    await put(wish);
    await isRefused({ ...wish, partnerStationNo: 'S-2' }, 409, 'PLATFORM_STATION_TAKEN');
    await put({ ...wish, partnerStationNo: 'S-3', platformStationId: null });
    const completion = { partnerOrgId, partnerStationNo: 'S-3', platformStationId };
    await isRefused(completion, 409, 'PLATFORM_STATION_TAKEN');
  });

  it('are refused for stations and partners that are not there', async () => {
    await isRefused({ ...wish, platformStationId: '999999' }, 422, 'NO_SUCH_PLATFORM_STATION');
    await isRefused({ ...wish, partnerOrgId: '999999' }, 404, 'NO_SUCH_PARTNER');
  });

  for (const [what, change] of Object.entries({
    'without a station number': { partnerStationNo: undefined },
    'without what a new one needs': { projectCompanyId: undefined },
    'with a month that is none': { activeFromMonth: '2024-13' },
    'with a month before all bills': { activeFromMonth: '2009-12' },
    'that end before they begin': { activeToMonth: '2023-12' },
    'with a platform station that is no id': { platformStationId: 'P-1' },
    'with more than is known': { platformStation: '1' },
  })) {
    it(`are refused ${what}`, async () => {
      await isRefused({ ...wish, ...change }, 400, 'MALFORMED_BODY');
    });
  }

  it('are found by partner, station, and by what they lack', async () => {
    const { store } = testStore;
    const whole = await makeMapping(store, partnerOrgId);
    const lacking = await makeMapping(store, partnerOrgId, { platform_station_id: null });
    const other = await makePartner(store);
    const elsewhere = await makeMapping(store, other.partnerOrgId);
    const numbers = async (query: string) =>
      (await mappings(query)).map((row: { partnerStationNo: string }) => row.partnerStationNo);
    expect(await numbers('')).to.deep.equal(
      [elsewhere, lacking, whole].map(({ partnerStationNo }) => partnerStationNo),
    );
    expect(await numbers(`partnerOrgId=${other.partnerOrgId}`)).to.deep.equal([elsewhere.partnerStationNo]);
    expect(await numbers('incomplete=true')).to.deep.equal([lacking.partnerStationNo]);
    expect(await numbers(`platformStationId=${whole.platformStationId}`)).to.deep.equal([
      whole.partnerStationNo,
    ]);
    expect(
      await numbers(`partnerOrgId=${partnerOrgId}&partnerStationNo=${whole.partnerStationNo}`),
    ).to.deep.equal([whole.partnerStationNo]);
  });
});
