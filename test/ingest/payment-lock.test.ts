/** ING-4: a month that a payment holds is refused alone; and a check that does not answer refuses what depends on it. */
import { expect } from 'chai';
import type { PaymentLockCheck } from '../../src/ingest/payment-lock-check.ts';
import { listLocksOf } from '../../src/store/bill-locks.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import {
  type MadePartner,
  makeBillLock,
  makeMapping,
  makePartner,
  releaseBillLock,
} from '../support/factory.ts';
import { startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('the payment lock check at ingest', () => {
  let database: TestStore;
  let partner: MadePartner;

  before(async () => {
    database = await openTestStore();
  });
  after(() => database.drop());
  beforeEach(async () => {
    partner = await makePartner(database.store);
  });

  async function reasonsWith(lockCheck: PaymentLockCheck | undefined, stations: object[]) {
    const api = await startPartnerApi(database.store, lockCheck === undefined ? {} : { lockCheck });
    try {
      const answer = await api.as(partner).push({ stations });
      const receipts = (answer.body.receipts ?? []) as { reason: string | null }[];
      return { answer, reasons: receipts.map((receipt) => receipt.reason) };
    } finally {
      await api.close();
    }
  }

  for (const status of ['RESERVED', 'ACTIVE']) {
    it(`ING-4 DEC-4 a month with a lock that is ${status} is refused alone; the station’s other months go on`, async () => {
      const mapped = await makeMapping(database.store, partner.partnerOrgId);
      await makeBillLock(
        database.store,
        { platformStationId: mapped.platformStationId!, month: '2026-05' },
        { lock_status: status },
      );
      const { answer, reasons } = await reasonsWith(undefined, [
        stationOf(mapped.partnerStationNo, ['2026-04', '2026-05', '2026-06']),
      ]);
      expect(reasons).to.deep.equal([null, 'PAYMENT_LOCKED', null]);
      expect(answer.body.receipts[1].pointer).to.equal('/stations/0/bills/1');
      const [, locked] = await database.store.many(
        'SELECT place, left_at, reason FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
        [answer.body.pushId],
      );
      expect(locked).to.deep.equal({ place: 2, left_at: 2, reason: 'PAYMENT_LOCKED' });
    });
  }

  it('ING-4 DEC-4 a released lock, another month’s and another station’s hold nothing', async () => {
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    const other = await makeMapping(database.store, partner.partnerOrgId);
    const where = { platformStationId: mapped.platformStationId!, month: '2026-05' };
    await releaseBillLock(database.store, await makeBillLock(database.store, where));
    await makeBillLock(database.store, { ...where, month: '2026-04' });
    await makeBillLock(database.store, { platformStationId: other.platformStationId!, month: '2026-05' });
    const { reasons } = await reasonsWith(undefined, [stationOf(mapped.partnerStationNo, ['2026-05'])]);
    expect(reasons).to.deep.equal([null]);
  });

  it('DEC-12 a lock of another partner’s payment holds a shared platform station, too', async () => {
    const other = await makePartner(database.store);
    const theirs = await makeMapping(database.store, other.partnerOrgId);
    const ours = await makeMapping(database.store, partner.partnerOrgId, {
      platform_station_id: theirs.platformStationId,
    });
    await makeBillLock(database.store, {
      platformStationId: theirs.platformStationId!,
      month: '2026-05',
      partnerOrgId: other.partnerOrgId,
    });
    const { reasons } = await reasonsWith(undefined, [stationOf(ours.partnerStationNo, ['2026-05'])]);
    expect(reasons).to.deep.equal(['PAYMENT_LOCKED']);
  });

  it('DEC-1 DEC-16 two rows of a locked month are both locked: neither was accepted, so neither is a duplicate', async () => {
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    await makeBillLock(database.store, { platformStationId: mapped.platformStationId!, month: '2026-05' });
    const { reasons } = await reasonsWith(undefined, [
      stationOf(mapped.partnerStationNo, ['2026-05', '2026-05']),
    ]);
    expect(reasons).to.deep.equal(['PAYMENT_LOCKED', 'PAYMENT_LOCKED']);
  });

  const silent: [what: string, check: PaymentLockCheck][] = [
    ['a failed answer', () => Promise.reject(new Error('no such table'))],
    ['an empty answer', async () => []],
    [
      'an answer about something else',
      async () => [{ platformStationId: '1', month: '2026-05', locked: false }],
    ],
  ];
  for (const [what, check] of silent) {
    it(`ING-4 ${what} refuses the rows that depend on it, and only those`, async () => {
      const mapped = await makeMapping(database.store, partner.partnerOrgId);
      const unplaced = await makeMapping(database.store, partner.partnerOrgId, { platform_station_id: null });
      const { answer, reasons } = await reasonsWith(check, [
        stationOf(mapped.partnerStationNo, ['2026-05']),
        stationOf(unplaced.partnerStationNo, ['2026-05']),
        stationOf('nowhere', ['2026-05']),
      ]);
      expect(reasons).to.deep.equal(['PAYMENT_CHECK_UNAVAILABLE', null, 'UNKNOWN_STATION']);
      const places = await database.store.many(
        'SELECT place, left_at FROM pushed_row_place WHERE push_id = ? AND reason = ?',
        [answer.body.pushId, 'PAYMENT_CHECK_UNAVAILABLE'],
      );
      expect(places).to.deep.equal([{ place: 2, left_at: 2 }]);
    });
  }

  it('ING-4 one question that fails leaves the answers to the others', async () => {
    const stations: object[] = [];
    for (let at = 0; at < 101; at++) {
      const mapped = await makeMapping(database.store, partner.partnerOrgId, {
        partner_station_no: `N${String(at).padStart(3, '0')}`,
      });
      stations.push(
        stationOf(
          mapped.partnerStationNo,
          Array.from({ length: 10 }, (_, month) => `2025-${String(month + 1).padStart(2, '0')}`),
        ),
      );
    }
    let asked = 0;
    const api = await startPartnerApi(database.store, {
      limits: { rowsMax: 2_000, stationsMax: 200 },
      lockCheck: (wanted) =>
        ++asked === 2 ? Promise.reject(new Error('gone')) : listLocksOf(database.store, wanted),
    });
    const answer = await api.as(partner).push({ stations });
    await api.close();
    const refused = answer.body.receipts.filter(
      (one: { reason: string | null }) => one.reason === 'PAYMENT_CHECK_UNAVAILABLE',
    );
    expect([asked, answer.body.counts.accepted, refused.length]).to.deep.equal([2, 1_000, 10]);
  });

  it('ING-4 no answer within its time counts as none', async function () {
    this.timeout(15_000);
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    const { answer, reasons } = await reasonsWith(
      () => new Promise(() => {}),
      [stationOf(mapped.partnerStationNo, ['2026-05'])],
    );
    expect([answer.status, reasons]).to.deep.equal([422, ['PAYMENT_CHECK_UNAVAILABLE']]);
  });
});
