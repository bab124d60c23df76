/** Our own bills on a whole Rooftally: written over HTTP, compared, refreshed and shown by real workers (DIF-4). */
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { writePlatformBills } from '../../src/control/write-platform-bills.ts';
import { rules } from '../../src/invariants/all.ts';
import { runRules } from '../../src/invariants/run-rules.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeBillLock, makeSnapshot, releaseBillLock } from '../support/factory.ts';
import { EQUAL, listLedgerFaults } from '../support/platform-bills.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  askControl,
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { assertVerified } from '../support/verify.ts';

const MONTH = '2026-01';
const NEW_MONTH = '2026-02';
const DEADLINE_MS = 30_000;

describe('our own bills on a whole system', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const ask = (method: string, path: string, body?: object) => askControl(system.url, method, path, body);

  const at = (roofs: Roofs, index: number, billYearMonth: string) => ({
    platformStationId: roofs.stations[index]!.platformStationId!,
    billYearMonth,
  });
  const send = (roofs: Roofs, body: object) =>
    ask('POST', '/platform-bills', { partnerOrgId: roofs.partner.partnerOrgId, ...body });

  /** Until differences and read model are as both sides' bills say and nothing is on its way. @returns `station month status payment` */
  async function settled(roofs: Roofs): Promise<string[]> {
    const { partnerOrgId } = roofs.partner;
    await until('all tasks of the partner to end', DEADLINE_MS, async () => {
      const { open } = await system.store.one<{ open: string }>(
        'SELECT COUNT(*) open FROM fi_async_task WHERE partner_org_id = ? AND status <> 2',
        [partnerOrgId],
      );
      return open === '0' ? true : null;
    });
    expect(await listLedgerFaults(system.store, partnerOrgId)).to.deep.equal([]);
    const rows = await system.store.many<
      Record<'station' | 'month' | 'status' | 'payment' | 'shown', string>
    >(
      `SELECT d.station_id station, d.share_month month, d.status, d.payment_status payment,
              CONCAT(s.platform_rent, ' ', s.payment_status) shown
         FROM fi_monthly_income_difference d
         JOIN fi_resident_income_payment_bill_dimension_snapshot s
           ON s.partner_org_id = d.partner_org_id AND s.platform_station_id = d.station_id AND s.bill_year_month = d.share_month
        WHERE d.partner_org_id = ? ORDER BY d.station_id, d.share_month`,
      [partnerOrgId],
    );
    return rows.map((row) => {
      const index = roofs.stations.findIndex((one) => one.platformStationId === row.station);
      return `${index} ${row.month} ${row.status} ${row.payment}, shown ${row.shown}`;
    });
  }

  async function pushedAndVerified(stations: number): Promise<Roofs> {
    const roofs = await makeRoofs(system.store, { stations, months: [MONTH] });
    const { pushId } = (await push(system.url, roofs.partner.key, roofs.pushOf())).body;
    await untilDone(system.url, roofs.partner.key, pushId);
    const bills = await system.store.many(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [roofs.partner.partnerOrgId],
    );
    const verifications = bills.map((one) => ({ ...one, partnerQueryStatus: 'VERIFIED' }));
    expect((await ask('POST', '/verifications', { verifications })).status).to.equal(200);
    expect(new Set((await settled(roofs)).map((text) => text.slice(2)))).to.deep.equal(
      new Set([`${MONTH} MATCHED PAYABLE, shown 120.00 PAYABLE`]),
    );
    return roofs;
  }

  it('DIF-4 DEC-7 DEC-25 changed: MISMATCHED and not verified; deleted: PARTNER_ONLY; its neighbour stays payable; then MATCHED again', async () => {
    const roofs = await pushedAndVerified(2);
    const neighbour = `1 ${MONTH} MATCHED PAYABLE, shown 120.00 PAYABLE`;
    const changed = await send(roofs, { bills: [{ ...at(roofs, 0, MONTH), ...EQUAL, rent: '119.00' }] });
    expect(changed.body).to.include({ changed: 1, verdictsReset: 1 });
    expect(await settled(roofs)).to.deep.equal([
      `0 ${MONTH} MISMATCHED NOT_VERIFIED, shown 119.00 NOT_VERIFIED`,
      neighbour,
    ]);
    await send(roofs, { deletions: [at(roofs, 0, MONTH)] });
    expect(await settled(roofs)).to.deep.equal([
      `0 ${MONTH} PARTNER_ONLY NOT_VERIFIED, shown 0.00 NOT_VERIFIED`,
      neighbour,
    ]);
    await send(roofs, { bills: [{ ...at(roofs, 0, MONTH), ...EQUAL }] });
    expect(await settled(roofs)).to.deep.equal([
      `0 ${MONTH} MATCHED NOT_VERIFIED, shown 120.00 NOT_VERIFIED`,
      neighbour,
    ]);
    const again = await send(roofs, { bills: [{ ...at(roofs, 0, MONTH), ...EQUAL }] });
    expect(again.body).to.deep.include({ unchanged: 1, taskCodes: [] });
  });

  it('DIF-4 DIF-7 created: PLATFORM_ONLY; when the partner’s bill arrives by a push the same row is MATCHED', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: [MONTH] });
    const { partnerOrgId, key } = roofs.partner;
    const { platformStationId } = at(roofs, 0, NEW_MONTH);
    await makeSnapshot(system.store, { partnerOrgId, platformStationId, month: NEW_MONTH });
    await send(roofs, { bills: [{ ...at(roofs, 0, NEW_MONTH), ...EQUAL }] });
    expect(await settled(roofs)).to.deep.equal([
      `0 ${NEW_MONTH} PLATFORM_ONLY NOT_VERIFIED, shown 120.00 NOT_VERIFIED`,
    ]);
    const { items } = (await ask('GET', `/differences?partnerOrgId=${partnerOrgId}`)).body;
    const stations = roofs.pushOf().map((station) => ({
      ...station,
      bills: station.bills.map((one) => ({ ...one, billYearMonth: NEW_MONTH })),
    }));
    const { pushId } = (await push(system.url, key, stations)).body;
    await untilDone(system.url, key, pushId);
    expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: 1 });
    expect(await settled(roofs)).to.deep.equal([
      `0 ${NEW_MONTH} MATCHED NOT_VERIFIED, shown 120.00 NOT_VERIFIED`,
    ]);
    const after = (await ask('GET', `/differences?partnerOrgId=${partnerOrgId}`)).body.items;
    expect(after).to.have.length(1);
    expect(after[0]).to.include({
      id: items[0].id,
      status: 'MATCHED',
      financialVersion: items[0].financialVersion + 1,
    });
  });

  it('INV-1 LEDGER_SIDES, PLATFORM_BILL_GIVEN_UP: messages that an operator cancelled leave the ledger behind our bills, and that is told', async () => {
    const roofs = await pushedAndVerified(1);
    await setStagePaused(system.store, 'income-diff', true, 'test');
    const written = [
      { ...at(roofs, 0, MONTH), ...EQUAL, rent: '119.00' },
      { ...at(roofs, 0, NEW_MONTH), ...EQUAL },
    ];
    const { taskCodes } = (await send(roofs, { bills: written })).body;
    await assertVerified(system.store);
    for (const code of taskCodes) {
      const path = `/tasks/${encodeURIComponent(code)}/cancel`;
      expect((await ask('POST', path, { reason: 'not wanted' })).status).to.equal(200);
    }
    const found = (await runRules(system.store, rules)).filter(({ outcome }) => outcome !== 'OK');
    expect(found.map(({ code, findingCount }) => `${code} ${findingCount}`)).to.deep.equal([
      'LEDGER_SIDES 1',
      'PLATFORM_BILL_GIVEN_UP 1',
      // The verdict went with the change; what followed from it was to come with the message.
      'PROJECTION_NOT_FACTS 1',
    ]);
    await setStagePaused(system.store, 'income-diff', false, 'test');
    await send(roofs, { bills: written.map((one) => ({ ...one, rent: '118.00' })) });
    await until('the ledger to say what our bills say', DEADLINE_MS, async () => {
      const results = await runRules(system.store, rules);
      return results.every(({ outcome }) => outcome === 'OK') ? true : null;
    });
    const { items } = (await ask('GET', `/differences?partnerOrgId=${roofs.partner.partnerOrgId}`)).body;
    expect(items.map((item: { status: string }) => item.status)).to.deep.equal([
      'PLATFORM_ONLY',
      'MISMATCHED',
    ]);
  });

  it('DEC-4 a month that is being paid is refused, and nothing of the request is written', async () => {
    const roofs = await pushedAndVerified(2);
    const before = await settled(roofs);
    const { platformStationId } = at(roofs, 1, MONTH);
    const lock = await makeBillLock(system.store, { platformStationId, month: MONTH });
    const body = {
      bills: [at(roofs, 0, MONTH), at(roofs, 1, MONTH)].map((where) => ({ ...where, rent: '1.00' })),
    };
    const refused = await send(roofs, body);
    expect([refused.status, refused.body.code, refused.body.faults[0].pointer]).to.deep.equal([
      409,
      'PAYMENT_LOCKED',
      '/bills/1',
    ]);
    expect(await settled(roofs)).to.deep.equal(before);
    await releaseBillLock(system.store, lock);
    expect((await send(roofs, body)).status).to.equal(200);
    expect((await settled(roofs)).map((text) => text.split(' ')[2])).to.deep.equal([
      'MISMATCHED',
      'MISMATCHED',
    ]);
  });

  it('ENG-7 DIF-17 a process that dies between commit and kick loses nothing: the scan finds the message', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: [MONTH] });
    await writePlatformBills(
      system.store,
      {
        partnerOrgId: roofs.partner.partnerOrgId,
        actor: 'test',
        traceId: '',
        wishes: [{ pointer: '/bills/0', ...at(roofs, 0, MONTH), amounts: { ...EQUAL, rent: '1.00' } }],
      },
      { kick: () => {} },
    );
    expect(await settled(roofs)).to.deep.equal([
      `0 ${MONTH} PLATFORM_ONLY NOT_VERIFIED, shown 1.00 NOT_VERIFIED`,
    ]);
  });

  it('DIF-6 DIF-17 a message that failed comes again from the database, whatever Redis has forgotten', async () => {
    const roofs = await makeRoofs(system.store, {
      stations: 1,
      months: [MONTH],
      partner: { payment_flow: null },
    });
    const { partnerOrgId } = roofs.partner;
    const sent = await send(roofs, { bills: [{ ...at(roofs, 0, MONTH), ...EQUAL, rent: '2.00' }] });
    const [code] = sent.body.taskCodes;
    await until('the message to fail', DEADLINE_MS, async () => {
      const task = (await ask('GET', `/tasks/${encodeURIComponent(code)}`)).body;
      return task.status === 'FAILED' ? true : null;
    });
    await setStagePaused(system.store, 'income-diff', true, 'test');
    await emptyRedis();
    await system.store.change("UPDATE partner SET payment_flow = 'ENABLED' WHERE partner_org_id = ?", [
      partnerOrgId,
    ]);
    await setStagePaused(system.store, 'income-diff', false, 'test');
    expect(await settled(roofs)).to.deep.equal([
      `0 ${MONTH} PLATFORM_ONLY NOT_VERIFIED, shown 2.00 NOT_VERIFIED`,
    ]);
  });

  /** All that this system has there; other tests' keys stay. */
  async function emptyRedis(): Promise<void> {
    const redis = new Redis(process.env.REDIS_URL!);
    const keys = await redis.keys(`*${system.environment.ROOFTALLY_REDIS_PREFIX}*`);
    expect(keys).to.not.be.empty;
    await redis.del(...keys);
    redis.disconnect();
  }
});
