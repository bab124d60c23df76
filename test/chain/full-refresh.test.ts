/** A partner's payment flow is switched off and on again, over HTTP, with real workers (DIF-6, ACC-14, DEC-20). */
import { expect } from 'chai';
import { eventually } from '../support/engine.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  askControlWell,
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  untilDone,
} from '../support/rooftally.ts';

const MONTHS = ['2026-01', '2026-02', '2026-03'];
const SNAPSHOTS = 'fi_resident_income_payment_bill_dimension_snapshot';
const TABLES = ['fi_monthly_income_difference', 'fi_customer_bill_partner', 'fi_customer_bill', SNAPSHOTS];

describe('a full refresh', () => {
  let system: TestSystem;
  let roofs: Roofs;
  let pushId: string;
  before(async () => {
    system = await startTestSystem();
    roofs = await makeRoofs(system.store, { stations: 30, months: MONTHS });
    pushId = (await push(system.url, roofs.partner.key, roofs.pushOf())).body.pushId;
    await untilDone(system.url, roofs.partner.key, pushId);
  });
  after(() => system.stop());
  afterEach(async () => {
    await settled();
    await assertConserved(system.store);
  });

  const admin = (method: string, path: string, body: object) =>
    askControlWell(system.url, method, path, body);
  const setFlow = (paymentFlow: string) =>
    admin('PUT', `/partners/${roofs.partner.partnerOrgId}`, { paymentFlow });
  /** Full refreshes and what follows from them are done. */
  const settled = () =>
    eventually('no work is left', async () => {
      const row = await system.store.one<{ open: string }>(
        'SELECT COUNT(*) open FROM fi_async_task WHERE status IN (0, 1, 3)',
      );
      return row.open === '0';
    });
  async function statusesOf(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const table of TABLES) {
      const rows = await system.store.many<{ text: string }>(
        `SELECT CONCAT(COUNT(*), ' ', payment_status, ' ', SUM(current_payable)) text FROM ${table}
          WHERE partner_org_id = ? GROUP BY payment_status ORDER BY payment_status`,
        [roofs.partner.partnerOrgId],
      );
      found[table] = rows.map((row) => row.text).join(', ');
    }
    return found;
  }
  const everywhere = (text: string) => Object.fromEntries(TABLES.map((table) => [table, text]));

  it('ACC-14 an operator’s brings all months up to its cut-off up to date, read model included, and no later one', async () => {
    await system.store.change(
      "UPDATE fi_customer_bill_partner SET partner_query_status = 'VERIFIED' WHERE partner_org_id = ?",
      [roofs.partner.partnerOrgId],
    );
    const wish = { partnerOrgId: roofs.partner.partnerOrgId, cutOffMonth: '2026-02' };
    await admin('POST', '/full-refreshes', wish);
    await settled();
    expect(await statusesOf()).to.deep.equal(everywhere('30 NOT_VERIFIED 0.00, 60 PAYABLE 6600.00'));
    await admin('POST', '/full-refreshes', { ...wish, cutOffMonth: '2026-03' });
    await settled();
    expect(await statusesOf()).to.deep.equal(everywhere('90 PAYABLE 9900.00'));
  });

  it('DIF-6 DEC-20 switched off, all is NOT_APPLICABLE on all three tables and in the read model; switched on, it is payable again', async () => {
    await setFlow('DISABLED');
    await settled();
    expect(await statusesOf()).to.deep.equal(everywhere('90 NOT_APPLICABLE 0.00'));
    await setFlow('ENABLED');
    await settled();
    expect(await statusesOf()).to.deep.equal(everywhere('90 PAYABLE 9900.00'));
    expect(await placesOf(system.store, pushId), 'pushed rows have their end').to.deep.equal({ CURRENT: 90 });
  });

  it('DIF-14 switched back and forth while refreshes run and wait, it ends as the last word says', async () => {
    for (const flow of ['DISABLED', 'ENABLED', 'DISABLED', 'ENABLED', 'DISABLED']) await setFlow(flow);
    await settled();
    expect(await statusesOf()).to.deep.equal(everywhere('90 NOT_APPLICABLE 0.00'));
  });
});
