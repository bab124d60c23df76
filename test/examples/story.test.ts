import { expect } from 'chai';
import { ApiClient } from '../../src/cli/api-client.ts';
import { chooseBills } from '../../src/cli/demo/payment-bills.ts';
import { clearLeftovers } from '../../src/cli/demo/payment-leftovers.ts';
import {
  listBills,
  locksText,
  openSession,
  showSession,
  submit,
  waitFor,
} from '../../src/cli/demo/payment-plane.ts';
import { tellPayments } from '../../src/cli/demo/payment-story.ts';
import { PAYMENT_SCENES_WANTED } from '../../src/cli/demo/payment-verdict.ts';
import { observedOf, tellStory } from '../../src/cli/demo/story.ts';
import { tellInspection } from '../../src/cli/demo/tell-inspection.ts';
import type { Telling } from '../../src/cli/demo/telling.ts';
import { verdict } from '../../src/cli/demo/verdict.ts';
import { LiveLines } from '../../src/cli/live-lines.ts';
import { loadExample } from '../../src/cli/load-example.ts';
import { ADMIN_TOKEN, assertConserved, startTestSystem, type TestSystem } from '../support/rooftally.ts';

/** An account is tried three times, 2 s and 10 s apart (ACC-10). */
const STORY_TIMEOUT_MS = 120_000;

describe("the demo's story, on a whole Rooftally", () => {
  let system: TestSystem;
  const told: string[] = [];

  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());

  async function beginTelling(): Promise<Telling> {
    told.length = 0;
    const say = (line: string) => told.push(line);
    return {
      world: {
        url: system.url,
        adminToken: ADMIN_TOKEN,
        admin: new ApiClient(system.url, ADMIN_TOKEN),
        store: system.store,
        example: await loadExample(system.store),
        stop: async () => {},
      },
      lines: new LiveLines({ write: say }),
      say,
    };
  }

  async function tellAgain(): Promise<string[]> {
    return verdict(observedOf(await tellStory(await beginTelling())));
  }

  it('COV-1 COV-2 every row comes to the place that the example says, to the row and the fen', async () => {
    expect(await tellAgain()).to.deep.equal([]);
    await assertConserved(system.store);
  }).timeout(STORY_TIMEOUT_MS);

  it('COV-0 says how much of how much, in rows and in money, as of when', () => {
    const text = told.join('\n');
    expect(text).to.contain('current: 691 of 719 rows, 121,316.49 of 125,592.60 CNY');
    expect(text).to.match(/as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(Shanghai\)/);
    expect(text).to.match(/9 bills of .*: by push 4/);
  });

  it('PAY-2 PAY-4 PAY-6 LCK-3 LCK-19 LCK-29 SES-1 INV-1 payments publish, fail, lose their right and settle, and inspection is clean', async () => {
    const telling = await beginTelling();
    expect(await tellPayments(telling)).to.deep.equal(PAYMENT_SCENES_WANTED);
    expect(told.join('\n')).to.match(/It fails for good, BILL_LOCK_CONFLICT: .*LOCKED_BY_ORDER:\d+\./);
    expect(await tellInspection(telling)).to.deep.equal([]);
    await assertConserved(system.store);
  }).timeout(STORY_TIMEOUT_MS);

  it('PAY-7 what an interrupted run left locked is given back, so that pushes meet no lock', async () => {
    const telling = await beginTelling();
    const { admin, example } = telling.world;
    const { partnerOrgId } = example.partners[0]!;
    const [bill] = (await chooseBills(admin, partnerOrgId))!.filter(
      ({ paymentStatus }) => paymentStatus === 'PAYABLE',
    );
    const sessionId = await openSession(admin, {
      partnerOrgId,
      months: [bill!.billYearMonth],
      creatorUserId: 'lin',
      partnerBillIds: [bill!.partnerBillId],
    });
    const order = await submit(admin, sessionId);
    await waitFor(
      'its publication',
      () => showSession(admin, sessionId),
      ({ status }) => status === 'PUBLISHED',
    );
    await clearLeftovers(telling);
    expect(locksText(await listBills(admin, order))).to.equal('1 RELEASED for ORDER_VOID');
    expect(told).to.deep.equal([`Order ${order.orderId} of an interrupted run gives its 1 bill(s) back.`]);
    await clearLeftovers(telling);
    expect(told).to.have.length(1);
  }).timeout(STORY_TIMEOUT_MS);

  it('comes out the same a second time, on the data of the first', async () => {
    expect(await tellAgain()).to.deep.equal([]);
    await assertConserved(system.store);
  }).timeout(STORY_TIMEOUT_MS);

  it('shows the payments a second time, with other bills', async () => {
    const telling = await beginTelling();
    expect(await tellPayments(telling)).to.deep.equal(PAYMENT_SCENES_WANTED);
    expect(await tellInspection(telling)).to.deep.equal([]);
  }).timeout(STORY_TIMEOUT_MS);
});
