/** Amounts as large as a bill may carry: what they add up to, over stations, pushes and partners, still has room. */
import { expect } from 'chai';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  billOf,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  untilDone,
} from '../support/rooftally.ts';

/** The largest that DEC-17 lets a bill say. */
const LARGEST = '9999999999999999.99';
const MONTHS = ['2026-01', '2026-02'];

describe('amounts as large as a bill may carry', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());

  const done = async (roofs: Roofs, stations: Parameters<typeof push>[2]) => {
    const reply = await push(system.url, roofs.partner.key, stations);
    expect(reply.status).to.equal(202);
    await untilDone(system.url, roofs.partner.key, reply.body.pushId, 15_000);
    return placesOf(system.store, reply.body.pushId);
  };

  it('DEC-17 DIF-9 the sums of stations, accounts and companies hold them, and another partner of the company is not held up', async () => {
    const generous = await makeRoofs(system.store, { stations: 3, months: MONTHS });
    const all = {
      settlementAmount: LARGEST,
      preRent: LARGEST,
      freezeAmount: LARGEST,
      deductionAmount: LARGEST,
    };
    for (const station of [0, 1, 2]) {
      for (const month of MONTHS) {
        const [pushed] = generous.pushOf(() => ({}), [station]);
        const bills = [billOf(month, { ...all, rent: LARGEST })];
        expect(await done(generous, [{ ...pushed!, bills }])).to.deep.equal({ CURRENT: 1 });
      }
    }
    const modest = await makeRoofs(system.store, { stations: 1, months: MONTHS });
    expect(await done(modest, modest.pushOf())).to.deep.equal({ CURRENT: 2 });
    await assertConserved(system.store);

    const [company] = await system.store.many<{ rent: string }>(
      "SELECT partner_rent rent FROM fi_project_income_difference WHERE project_company_id = 1 AND share_month = '2026-01'",
    );
    expect(company!.rent).to.equal('30000000000000119.97');
  });

  it('STA-13 a batch deduction above what one bill holds goes on to the pre-rent check', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: MONTHS });
    for (const month of MONTHS) {
      const [pushed] = roofs.pushOf();
      const bills = [billOf(month, { deductionAmount: LARGEST })];
      expect(await done(roofs, [{ ...pushed!, bills }])).to.deep.equal({ CURRENT: 1 });
    }
    const [last] = await system.store.many<{ result: string }>(
      "SELECT pre_rent_check_result result FROM fi_monthly_income_difference WHERE partner_org_id = ? AND share_month = '2026-02'",
      [roofs.partner.partnerOrgId],
    );
    expect(last!.result).to.equal('FAIL');
  });
});
