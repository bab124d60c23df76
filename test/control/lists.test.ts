import { expect } from 'chai';
import { Redis } from 'ioredis';
import { acquireLeases } from '../../src/leases/lease.ts';
import { lockGuards, partnerStationGuard, platformStationGuard } from '../../src/store/guards.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { requireRedisUrl } from '../support/bull.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, makeSlots, openToyStore } from '../support/engine.ts';
import {
  type Columns,
  insertNumberedRow,
  insertRow,
  makeBillLock,
  makePlatformAccount,
  makeSnapshot,
  releaseBillLock,
} from '../support/factory.ts';

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const BIG_ID = '18446744073709551610';

type Item = Record<string, unknown>;

describe('control: lists', () => {
  let testStore: TestStore;
  let plane: ControlPlane;
  let redis: Redis;
  // With characters that mean something in a pattern, and a neighbour that a careless one would take in.
  const leasePrefix = '{lists*}';

  before(async () => {
    testStore = await openToyStore();
    redis = new Redis(requireRedisUrl());
    plane = await startControlPlane({
      engine: makeEngine(testStore.store).engine,
      leases: { redis, prefix: leasePrefix },
    });
  });
  after(async () => {
    redis.disconnect();
    await plane.close();
    await testStore.drop();
  });

  const items = async (path: string): Promise<Item[]> => {
    const { status, body } = await plane.ask('GET', path);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.items;
  };
  const idsOf = async (path: string) => (await items(path)).map((item) => item.id);
  const isMalformed = async (path: string) => {
    const { status, body } = await plane.ask('GET', path);
    expect(status, path).to.equal(400);
    expect(body.code).to.equal('MALFORMED_QUERY');
  };
  /** Follows the cursors to the end. */
  const walk = async (path: string, limit: number): Promise<Item[]> => {
    const seen: Item[] = [];
    for (let cursor: string | null = '', turns = 0; cursor !== null && turns < 50; turns++) {
      const at: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await plane.ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${at}`);
      expect(body.items.length).to.be.at.most(limit);
      seen.push(...body.items);
      cursor = body.nextCursor;
    }
    return seen;
  };

  const tables: Record<string, () => Promise<string>> = {
    '/differences': () => makeDifference({}),
    '/accounts': () => makePartnerAccount({}),
    '/accounts?side=PLATFORM': () =>
      makePlatformAccount(testStore.store, { partnerOrgId: '7', platformStationId: '1' }),
    '/snapshots': () => makeAnySnapshot({}),
    '/locks': () => makeBillLock(testStore.store, { platformStationId: nextStation(), month: '2024-01' }),
    '/pushes': () => makePush({}),
    '/operations': () => makeOperation({}),
  };

  let station = 0;
  const nextStation = () => String(++station);
  const makeDifference = (columns: Columns) =>
    insertNumberedRow(testStore.store, 'fi_monthly_income_difference', {
      partner_org_id: '7',
      station_id: nextStation(),
      share_month: '2024-01',
      project_company_id: '3',
      status: 'MATCHED',
      ...columns,
    });
  const makePartnerAccount = (columns: Columns) =>
    insertNumberedRow(testStore.store, 'fi_customer_account_partner', {
      partner_org_id: '7',
      partner_station_no: `S${nextStation()}`,
      push_id: '1',
      accept_no: '1',
      ...columns,
    });
  const makeAnySnapshot = (columns: Columns) =>
    makeSnapshot(
      testStore.store,
      { partnerOrgId: '7', platformStationId: nextStation(), month: '2024-01' },
      columns,
    );
  const makePush = (columns: Columns) =>
    insertNumberedRow(testStore.store, 'partner_push', {
      partner_org_id: '7',
      idempotency_key: `key-${nextStation()}`,
      trace_id: '0'.repeat(32),
      code: 'ACCEPTED',
      expires_at: '2030-01-01',
      ...columns,
    });
  const makeOperation = (columns: Columns) =>
    insertNumberedRow(testStore.store, 'operation_audit', {
      actor: 'admin-token',
      action: 'TASK_STOP',
      target: 'one',
      ...columns,
    });

  beforeEach(async () => {
    for (const table of [
      'fi_monthly_income_difference',
      'fi_customer_account_partner',
      'fi_customer_account',
      'fi_resident_income_payment_bill_dimension_snapshot',
      'fi_resident_income_payment_bill_lock',
      'partner_push',
      'operation_audit',
      'stage_slot',
    ])
      await testStore.store.change(`DELETE FROM ${table}`);
  });

  for (const [path, make] of Object.entries(tables)) {
    it(`${path} pages from the newest to the oldest without gap or repetition`, async () => {
      const made: string[] = [];
      for (let count = 0; count < 7; count++) made.push(await make());
      const seen = await walk(path, 3);
      expect(seen.map((item) => item.id ?? item.pushId)).to.deep.equal(made.reverse());
    });

    it(`${path} refuses what it does not know`, async () => {
      const mark = path.includes('?') ? '&' : '?';
      for (const query of ['cursor=x', 'limit=-1', 'colour=red', 'partnerOrgId=x'])
        await isMalformed(path + mark + query);
    });
  }

  it('/differences shows both sides in money as text, by partner, station, month and status', async () => {
    const id = await makeDifference({
      station_id: BIG_ID,
      partner_rent: '9999999999999999.99',
      diff_pre_rent: '-1.50',
      both_sides_ready: 1,
      partner_bill_id: BIG_ID,
    });
    const other = await makeDifference({ partner_org_id: '8', share_month: '2024-02', status: 'MISMATCHED' });
    const [shown] = await items(`/differences?partnerOrgId=7&platformStationId=${BIG_ID}`);
    expect(shown).to.include({
      id,
      platformStationId: BIG_ID,
      billYearMonth: '2024-01',
      partnerRent: '9999999999999999.99',
      diffPreRent: '-1.50',
      bothSidesReady: true,
      partnerBillId: BIG_ID,
      platformBillId: null,
      paymentStatus: 'NOT_VERIFIED',
    });
    expect(shown!.createTime).to.match(INSTANT);
    expect(await idsOf('/differences?status=MISMATCHED')).to.deep.equal([other]);
    expect(await idsOf('/differences?billYearMonth=2024-02')).to.deep.equal([other]);
    expect(await idsOf('/differences?partnerOrgId=8&status=MATCHED')).to.deep.equal([]);
    for (const query of ['status=DIFFERENT', 'billYearMonth=2024-1', 'platformStationId=P1'])
      await isMalformed(`/differences?${query}`);
  });

  it('/accounts shows the partner side, or the platform side where asked for', async () => {
    const own = await makePartnerAccount({ partner_station_no: 'S-own', total_rent: '1.20' });
    await makePartnerAccount({ del_flag: 1 });
    const platform = await makePlatformAccount(testStore.store, {
      partnerOrgId: '7',
      platformStationId: '55',
    });
    const [shown] = await items('/accounts?partnerOrgId=7&partnerStationNo=S-own');
    expect(shown).to.include({ id: own, side: 'PARTNER', totalRent: '1.20' });
    expect(await idsOf('/accounts')).to.deep.equal([own]);
    expect(await items('/accounts?side=PLATFORM&platformStationId=55')).to.have.length(1);
    expect((await items('/accounts?side=PLATFORM'))[0]).to.include({
      id: platform,
      side: 'PLATFORM',
      platformStationId: '55',
    });
    await isMalformed('/accounts?side=OTHER');
    await isMalformed('/accounts?platformStationId=55');
  });

  it('/snapshots shows the read model by payment status', async () => {
    const payable = await makeAnySnapshot({ payment_status: 'PAYABLE', current_payable: '12.30' });
    await makeAnySnapshot({});
    const [shown] = await items('/snapshots?paymentStatus=PAYABLE');
    expect(shown).to.include({ id: payable, currentPayable: '12.30', snapshotTime: null });
    await isMalformed('/snapshots?paymentStatus=PAYED');
  });

  it('/locks shows who occupies which month, and since when no longer', async () => {
    const { store } = testStore;
    const released = await makeBillLock(store, { platformStationId: '55', month: '2024-01' });
    await releaseBillLock(store, released);
    const live = await makeBillLock(store, { platformStationId: '55', month: '2024-01' });
    expect(await idsOf('/locks?platformStationId=55&billYearMonth=2024-01')).to.deep.equal([live, released]);
    const [shown] = await items('/locks?lockStatus=RELEASED');
    expect(shown).to.include({ id: released, lockStatus: 'RELEASED' });
    expect(shown!.releaseTime).to.match(INSTANT);
    await isMalformed('/locks?lockStatus=HELD');
  });

  it('/pushes shows the pushes of all partners, and finds them by partner, code and identity', async () => {
    const first = await makePush({
      accept_no: '5',
      accepted_amount: '7.00',
      accepted_count: 3,
      requested_count: 4,
    });
    const second = await makePush({
      partner_org_id: '8',
      code: 'PARTIALLY_ACCEPTED',
      idempotency_key: 'mine',
    });
    const shown = (await items('/pushes')).at(-1)!;
    expect(shown).to.include({
      pushId: first,
      partnerOrgId: '7',
      acceptNo: '5',
      acceptedAmount: '7.00',
      acceptedCount: 3,
      requestedCount: 4,
    });
    expect(shown.acceptedAt).to.match(INSTANT);
    for (const query of ['partnerOrgId=8', 'code=PARTIALLY_ACCEPTED', 'idempotencyKey=mine'])
      expect((await items(`/pushes?${query}`)).map((push) => push.pushId)).to.deep.equal([second]);
  });

  it('/operations shows who changed what, and finds it by actor, action and target', async () => {
    const before = JSON.stringify({ paused: false });
    const id = await makeOperation({
      actor: 'console:Li',
      action: 'STAGE_PAUSE',
      target: 'x',
      before_state: before,
    });
    await makeOperation({});
    for (const query of ['actor=console:Li', 'action=STAGE_PAUSE', 'target=x'])
      expect(await idsOf(`/operations?${query}`)).to.deep.equal([id]);
    const [shown] = await items('/operations?target=x');
    expect(shown).to.deep.include({ before: { paused: false }, after: null, reason: null });
    expect(shown!.createTime).to.match(INSTANT);
  });

  it('ENG-5 /slots shows who may work for whom, page by page in the order of their keys', async () => {
    const { store } = testStore;
    await makeSlots(store, 3, '7');
    await makeSlots(store, 2, '10');
    await makeSlots(store, 2, '7', 'income-diff');
    const hold = {
      stage: 'bill-snapshot',
      partner_org_id: '7',
      holder: 'worker-a',
      fence: BIG_ID,
      task_ids: '["5"]',
    };
    await insertRow(store, 'stage_slot', { ...hold, slot_no: 1, lease_end: '2099-01-01' });
    await insertRow(store, 'stage_slot', { ...hold, slot_no: 2, lease_end: '2020-01-01', retired: 1 });
    const seen = await walk('/slots', 2);
    expect(seen.map((slot) => `${slot.stage}:${slot.partnerOrgId}:${slot.slotNo}`)).to.deep.equal([
      'bill-snapshot:7:1',
      'bill-snapshot:7:2',
      'bill-station:7:1',
      'bill-station:7:2',
      'bill-station:7:3',
      'bill-station:10:1',
      'bill-station:10:2',
      'income-diff:7:1',
      'income-diff:7:2',
    ]);
    expect(await items('/slots?held=true')).to.deep.equal([
      {
        ...{ stage: 'bill-snapshot', partnerOrgId: '7', slotNo: 1, state: 'HELD', retired: false },
        ...{ holder: 'worker-a', fence: BIG_ID, leaseEnd: '2099-01-01T00:00:00.000Z' },
        ...{ takenAt: null, taskIds: ['5'] },
      },
      {
        ...{ stage: 'bill-snapshot', partnerOrgId: '7', slotNo: 2, state: 'EXPIRED', retired: true },
        ...{ holder: 'worker-a', fence: BIG_ID, leaseEnd: '2020-01-01T00:00:00.000Z' },
        ...{ takenAt: null, taskIds: ['5'] },
      },
    ]);
    expect(await items('/slots?stage=income-diff&partnerOrgId=7')).to.have.length(2);
    for (const query of [
      'stage=nowhere',
      'held=yes',
      'cursor=bill-station:7',
      'cursor=nowhere:7:1',
      'cursor=bill-station:x:1',
    ])
      await isMalformed(`/slots?${query}`);
  });

  it('ENG-16 ENG-17 /guards shows the rows that serialise what is written about a station, in the order of their locks', async () => {
    const { store } = testStore;
    const keys = [
      partnerStationGuard('7', 'A:1'),
      partnerStationGuard('7', 'B'),
      partnerStationGuard('10', 'A'),
      platformStationGuard('9'),
      platformStationGuard('10'),
    ];
    await store.transaction(NEW_READ_COMMITTED, (tx) =>
      lockGuards(
        tx,
        keys.toReversed().map((key) => ({ key, fence: '4' })),
      ),
    );
    const seen = await walk('/guards', 2);
    expect(seen.map(({ name }) => name)).to.deep.equal([
      'partner:7:A:1',
      'partner:7:B',
      'partner:10:A',
      'platform:9',
      'platform:10',
    ]);
    expect(seen[0]).to.deep.equal({
      ...{ name: 'partner:7:A:1', kind: 'PARTNER_STATION', partnerOrgId: '7', platformStationId: null },
      ...{ partnerStationNo: 'A:1', fence: '4' },
    });
    expect(await items('/guards?kind=PLATFORM_STATION')).to.have.length(2);
    expect(await items('/guards?platformStationId=9')).to.have.length(1);
    for (const query of ['kind=nowhere', 'cursor=platform:', 'cursor=partner:7', 'stage=bill-station'])
      await isMalformed(`/guards?${query}`);
  });

  it('ENG-18 /leases shows who is at work on which station at this moment, and only that', async () => {
    const held = await acquireLeases({ redis, prefix: leasePrefix, leaseMs: 20_000 }, [
      { name: 'platform:9', floor: '0' },
      { name: 'partner:7:A', floor: '0' },
    ]);
    const neighbour = await acquireLeases({ redis, prefix: '{listsX}', leaseMs: 20_000 }, [
      { name: 'platform:9', floor: '0' },
    ]);
    const seen = await items('/leases');
    await neighbour.release();
    expect(seen.map(({ name }) => name)).to.deep.equal(['partner:7:A', 'platform:9']);
    expect(new Set(seen.map(({ token }) => token)).size, 'asked for together').to.equal(1);
    for (const { remainingMs } of seen) expect(remainingMs).to.be.within(1, 20_000);
    await held.release();
    expect(await items('/leases')).to.deep.equal([]);
  });
});
