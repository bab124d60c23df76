/** A payment submit on a whole Rooftally: pushed, verified, submitted and published over HTTP, by real workers. */
import { expect } from 'chai';
import { makeRoofs } from '../support/roofs.ts';
import {
  askControlWell,
  assertConserved,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

const MONTH = '2026-01';
const DEADLINE_MS = 30_000;

describe('a payment submit on a whole system', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const ask = (method: string, path: string, body?: object) => askControlWell(system.url, method, path, body);

  const untilAllPayable = (partnerOrgId: string, bills: number) =>
    until('all snapshots to be payable', DEADLINE_MS, async () => {
      const { items } = await ask('GET', `/snapshots?partnerOrgId=${partnerOrgId}&paymentStatus=PAYABLE`);
      return items.length === bills ? true : null;
    });
  const untilStatus = (sessionId: string, status: string) =>
    until(`session ${sessionId} to be ${status}`, DEADLINE_MS, async () => {
      const session = await ask('GET', `/payment-sessions/${sessionId}`);
      return session.status === status ? session : null;
    });

  it('PAY-1 PAY-2 PAY-3 PAY-4 PAY-5 PAY-6 DEC-13 pushed, verified, submitted, published, audited, paid; a push of a paid month is welcome again', async () => {
    const roofs = await makeRoofs(system.store, { stations: 5, months: [MONTH] });
    const { partnerOrgId, key } = roofs.partner;
    await untilDone(system.url, key, (await push(system.url, key, roofs.pushOf())).body.pushId);
    const bills = await system.store.many<{ partnerBillId: string; acceptNo: string }>(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    const verifications = bills.map((bill) => ({ ...bill, partnerQueryStatus: 'VERIFIED' }));
    await ask('POST', '/verifications', { verifications });
    await untilAllPayable(partnerOrgId, 5);

    const session = await ask('POST', '/payment-sessions', { partnerOrgId, months: [MONTH] });
    await ask('POST', `/payment-sessions/${session.id}/bills`, {});
    const submit = await ask('POST', `/payment-sessions/${session.id}/submit`, {});
    await untilStatus(session.id, 'PUBLISHED');
    expect((await push(system.url, key, roofs.pushOf())).status, 'locked months').to.equal(422);

    const order = `/payment-orders/${submit.paymentOrderId}`;
    const { paymentOrderVersionId } = submit;
    await until('the audit to be planned', DEADLINE_MS, async () =>
      (await ask('GET', order)).auditStatus === 'PENDING' ? true : null,
    );
    await ask('POST', `${order}/audit-results`, {
      eventId: 'audit-1',
      paymentOrderVersionId,
      result: 'APPROVED',
    });
    const { items } = await ask('GET', `${order}/bills`);
    const results = items.map(({ orderBillId, amount }: { orderBillId: string; amount: string }) => ({
      eventId: `paid-${orderBillId}`,
      outcome: 'PAID',
      orderBillId,
      amount,
      paidTime: '2026-02-01T08:00:00Z',
    }));
    await ask('POST', `${order}/payment-results`, { paymentOrderVersionId, results });
    await until('all locks to be released', DEADLINE_MS, async () => {
      const locks = await ask('GET', `/locks?partnerOrgId=${partnerOrgId}&lockStatus=RELEASED`);
      return locks.items.length === 5 ? true : null;
    });
    expect((await push(system.url, key, roofs.pushOf())).status).to.equal(202);
  });
});
