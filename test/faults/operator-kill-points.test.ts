/**
 * Promise 1 for what operators and the payment side ask: a real API is killed right after the commit that a request came
 * to, before it answered or woke anybody. Whoever asks again finds it done once, and the work goes on by the scan.
 */
import { expect } from 'chai';
import { TaskStatus } from '../../src/domain/task-status.ts';
import { countRows } from '../support/effects.ts';
import { untilApiKilledAt } from '../support/killed-process.ts';
import { EQUAL } from '../support/platform-bills.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  type Answer,
  askControl,
  assertConserved,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

const MONTH = '2026-01';
const OTHER_MONTH = '2026-02';
const STATIONS = 3;
const DEADLINE_MS = 60_000;

describe('kill -9 of the API after it did what was asked', function () {
  this.timeout(180_000);
  let system: TestSystem;
  let roofs: Roofs;
  let partnerOrgId: string;
  let sessionId: string;
  let orderId: string;
  let versionId: string;

  before(async () => {
    system = await startTestSystem();
    roofs = await makeRoofs(system.store, { stations: STATIONS, months: [MONTH] });
    ({ partnerOrgId } = roofs.partner);
    const { key } = roofs.partner;
    await untilDone(system.url, key, (await push(system.url, key, roofs.pushOf())).body.pushId, DEADLINE_MS);
  });
  afterEach(() => assertConserved(system.store));
  after(() => system.stop());

  const ask = (method: string, path: string, body?: object, url = system.url) =>
    askControl(url, method, path, body);

  /** Asked of an API that dies after the commit, then of another. */
  async function askTwice(point: string, path: string, body: object, operations = 1): Promise<Answer> {
    await untilApiKilledAt(system, `${point} before commit`, (url) => ask('POST', path, body, url));
    const nothing = await audited();
    await untilApiKilledAt(system, `${point} committed`, (url) => ask('POST', path, body, url));
    expect(await audited(), 'operations audited').to.equal(nothing + operations);
    return ask('POST', path, body);
  }

  const count = (from: string, values?: readonly string[]) => countRows(system.store, from, values);
  const audited = () => count('operation_audit');

  const untilWorkEnds = () =>
    until('all tasks of the partner to end', DEADLINE_MS, async () =>
      (await count(
        `fi_async_task WHERE partner_org_id = ? AND status NOT IN (${TaskStatus.SUCCESS}, ${TaskStatus.CANCELLED})`,
        [partnerOrgId],
      )) === 0
        ? true
        : null,
    );

  it('DIF-4 DEC-15 our own bills are written once; asked again they are unchanged, and the message goes its way', async () => {
    const bills = roofs.stations.map(({ platformStationId }) => ({
      platformStationId,
      billYearMonth: OTHER_MONTH,
      ...EQUAL,
    }));
    const again = await askTwice(
      'writePlatformBills income-diff',
      '/platform-bills',
      {
        partnerOrgId,
        bills,
      },
      STATIONS,
    );
    expect(again.body).to.deep.include({ unchanged: STATIONS, taskCodes: [] });
    await untilWorkEnds();
    expect(
      await count(
        `fi_monthly_income_difference
          WHERE partner_org_id = ? AND status = 'PLATFORM_ONLY' AND financial_version = 1`,
        [partnerOrgId],
      ),
    ).to.equal(STATIONS);
  });

  it('ACC-14 a full refresh is asked for once, and asked for again it is one more', async () => {
    const again = await askTwice('ask account-full', '/full-refreshes', { partnerOrgId });
    expect(again.status).to.equal(202);
    await untilWorkEnds();
  });

  it('PAY-7 DEC-15 bills are verified once; asked again nothing is written', async () => {
    const bills = await system.store.many<{ partnerBillId: string; acceptNo: string }>(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    const verifications = bills.map((bill) => ({ ...bill, partnerQueryStatus: 'VERIFIED' }));
    const again = await askTwice('verifyBills account-shard', '/verifications', { verifications }, STATIONS);
    expect(again.body).to.deep.include({ verified: 0, unchanged: STATIONS });
    await untilWorkEnds();
  });

  it('PAY-1 a session that nobody was told of is on the list, and is cancelled', async () => {
    const again = await askTwice('openSession', '/payment-sessions', { partnerOrgId, months: [MONTH] });
    sessionId = again.body.id;
    const { items } = (await ask('GET', `/payment-sessions?partnerOrgId=${partnerOrgId}`)).body;
    const unknown = items.filter(({ id }: { id: string }) => id !== sessionId);
    expect(unknown.map(({ status }: { status: string }) => status)).to.deep.equal(['SELECTING']);
    const cancelled = await askTwice('cancelPaymentSession', `/payment-sessions/${unknown[0].id}/cancel`, {});
    expect([200, 409]).to.include(cancelled.status);
    expect((await ask('GET', `/payment-sessions/${unknown[0].id}`)).body.status).to.equal('CANCELLED');
  });

  it('PAY-1 PAY-2 bills are chosen once, and submitted once: asked again the submit is refused, and goes its way', async () => {
    const chosen = await askTwice('selectBills', `/payment-sessions/${sessionId}/bills`, {});
    expect(chosen.status).to.equal(200);
    const again = await askTwice('submitSession payment-submit', `/payment-sessions/${sessionId}/submit`, {});
    expect([again.status, again.body.code]).to.deep.equal([409, 'SESSION_NOT_OPEN']);
    const session = await until('the session to be published', DEADLINE_MS, async () => {
      const { body } = await ask('GET', `/payment-sessions/${sessionId}`);
      return body.status === 'PUBLISHED' ? body : null;
    });
    const versions = await system.store.many<{ id: string; orderId: string }>(
      'SELECT id, payment_order_id orderId FROM fi_resident_income_payment_order_version WHERE session_id = ?',
      [session.id],
    );
    expect(versions).to.have.length(1);
    ({ id: versionId, orderId } = versions[0]!);
    await untilWorkEnds();
    expect(await count('fi_resident_income_payment_bill_lock')).to.equal(STATIONS);
  });

  it('DEC-12 DEC-13 the results of audit and bank are taken once; said again they get the first answer', async () => {
    const order = `/payment-orders/${orderId}`;
    const audit = { eventId: 'audit-1', paymentOrderVersionId: versionId, result: 'APPROVED' };
    const audited = await askTwice('takeAuditResult', `${order}/audit-results`, audit);
    expect(audited.status).to.equal(200);
    const { items } = (await ask('GET', `${order}/bills`)).body;
    const results = items.map(({ orderBillId, amount }: { orderBillId: string; amount: string }) => ({
      eventId: `paid-${orderBillId}`,
      outcome: 'PAID',
      orderBillId,
      amount,
      paidTime: '2026-02-01T08:00:00Z',
    }));
    const paid = await askTwice('takePaymentResults lock-release', `${order}/payment-results`, {
      paymentOrderVersionId: versionId,
      results,
    });
    expect(paid.status).to.equal(200);
    await untilWorkEnds();
    expect(await count('fi_resident_income_payment_fact')).to.equal(STATIONS);
    expect(
      await count("fi_resident_income_payment_bill_lock WHERE release_reason = 'PAYMENT_SUCCESS'"),
    ).to.equal(STATIONS);
  });
});
