/**
 * Promise 1 for payments: a real worker is killed between two commits of a submit and of the release of its locks.
 * Another finds what it left: one published version with exactly its locks, or none of them live.
 */
import { expect } from 'chai';
import { untilKilledAt } from '../support/killed-process.ts';
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
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

const MONTH = '2026-01';
const STATIONS = 2;
const DEADLINE_MS = 60_000;

/** The build's batch and its end, publish, activation and its end, the audit's plan: each a commit. */
const COMMITS_OF_A_SUBMIT = 6;

describe('kill -9 between two commits of a payment submit', function () {
  this.timeout(150_000);
  let system: TestSystem;
  let healthy: WorkerProcess;

  before(async () => {
    system = await startTestSystem({ roles: ['api', 'scheduler'] });
  });
  after(() => system.stop());

  const ask = (method: string, path: string, body?: object) => askControlWell(system.url, method, path, body);

  async function withHealthyWorker(work: () => Promise<void>): Promise<void> {
    healthy = await startWorkerProcess(system, 'healthy');
    try {
      await work();
    } finally {
      healthy.kill('SIGTERM');
      await healthy.exited;
    }
  }

  interface Submit {
    readonly partnerOrgId: string;
    readonly sessionId: string;
    readonly orderId: string;
    readonly versionId: string;
  }

  /** Pushed, refreshed, verified: what a session may choose. */
  async function makePayable(): Promise<string> {
    const roofs = await makeRoofs(system.store, { stations: STATIONS, months: [MONTH] });
    const { partnerOrgId, key } = roofs.partner;
    await untilDone(system.url, key, (await push(system.url, key, roofs.pushOf())).body.pushId, DEADLINE_MS);
    const bills = await system.store.many<{ partnerBillId: string; acceptNo: string }>(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    const verifications = bills.map((bill) => ({ ...bill, partnerQueryStatus: 'VERIFIED' }));
    await ask('POST', '/verifications', { verifications });
    await until('all snapshots to be payable', DEADLINE_MS, async () => {
      const { items } = await ask('GET', `/snapshots?partnerOrgId=${partnerOrgId}&paymentStatus=PAYABLE`);
      return items.length === STATIONS ? true : null;
    });
    return partnerOrgId;
  }

  async function submit(partnerOrgId: string): Promise<Submit> {
    const session = await ask('POST', '/payment-sessions', { partnerOrgId, months: [MONTH] });
    await ask('POST', `/payment-sessions/${session.id}/bills`, {});
    const started = await ask('POST', `/payment-sessions/${session.id}/submit`, {});
    return {
      partnerOrgId,
      sessionId: session.id,
      orderId: started.paymentOrderId,
      versionId: started.paymentOrderVersionId,
    };
  }

  const setPaused = (partnerOrgId: string, paused: boolean) =>
    system.store.changeExactly(1, 'pausing', 'UPDATE partner SET paused = ? WHERE partner_org_id = ?', [
      paused ? 1 : 0,
      partnerOrgId,
    ]);

  const factsOf = async ({ orderId, versionId }: Submit) => {
    const row = await system.store.one<Record<string, string>>(
      `SELECT (SELECT version_build_status FROM fi_resident_income_payment_order_version WHERE id = ?) version,
              (SELECT COUNT(*) FROM fi_resident_income_payment_order_bill WHERE payment_order_version_id = ?) bills,
              (SELECT COUNT(*) FROM fi_resident_income_payment_audit_plan WHERE payment_order_version_id = ?) plans,
              (SELECT COUNT(*) FROM fi_resident_income_payment_bill_lock WHERE payment_order_id = ?) locks,
              (SELECT COUNT(*) FROM fi_resident_income_payment_bill_lock WHERE payment_order_id = ? AND lock_status = 'ACTIVE') active,
              (SELECT COUNT(*) FROM fi_resident_income_payment_bill_lock WHERE payment_order_id = ? AND release_reason = 'ORDER_VOID') released`,
      [versionId, versionId, versionId, orderId, orderId, orderId],
    );
    return Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, name === 'version' ? value : Number(value)]),
    );
  };

  const untilSession = (sessionId: string, status: string) =>
    until(`session ${sessionId} to be ${status}`, DEADLINE_MS, async () =>
      (await ask('GET', `/payment-sessions/${sessionId}`)).status === status ? true : null,
    );

  const submits: Submit[] = [];

  it('PAY-2 PAY-3 PAY-4 PAY-5 ENG-11 at each commit of a submit: another worker publishes it, once', async () => {
    const payable: string[] = [];
    await withHealthyWorker(async () => {
      for (let commit = 1; commit <= COMMITS_OF_A_SUBMIT + 2; commit++) payable.push(await makePayable());
    });
    const points = [
      ['tryTake payment-submit committed', 1],
      ['giveBack payment-submit committed', 1],
      ...Array.from(
        { length: COMMITS_OF_A_SUBMIT },
        (_, index) => ['commitRound payment-submit committed', index + 1] as const,
      ),
    ] as const;
    for (const [point, time] of points) {
      const started = await submit(payable.shift()!);
      submits.push(started);
      await untilKilledAt(system, point, { environment: { TEST_KILL_TIME: String(time) } });
      await assertConserved(system.store);
      await setPaused(started.partnerOrgId, true);
    }
    await withHealthyWorker(async () => {
      for (const { partnerOrgId } of submits) await setPaused(partnerOrgId, false);
      for (const { sessionId } of submits) await untilSession(sessionId, 'PUBLISHED');
    });
    for (const one of submits)
      expect(await factsOf(one)).to.deep.equal({
        version: 'PUBLISHED',
        bills: STATIONS,
        plans: 1,
        locks: STATIONS,
        active: STATIONS,
        released: 0,
      });
    await assertConserved(system.store);
  });

  it('LCK-16 LCK-18 ENG-11 at each commit of a release: another worker ends it, and each lock is released once', async () => {
    const points = [
      'tryTake lock-release committed',
      'commitRound lock-release before commit',
      'commitRound lock-release committed',
      'giveBack lock-release committed',
    ];
    const voided = submits.slice(0, points.length);
    for (const [index, point] of points.entries()) {
      const { orderId, partnerOrgId } = voided[index]!;
      await ask('POST', `/payment-orders/${orderId}/void`, { reason: 'given up' });
      await untilKilledAt(system, point);
      await assertConserved(system.store);
      await setPaused(partnerOrgId, true);
    }
    await withHealthyWorker(async () => {
      for (const { partnerOrgId } of voided) await setPaused(partnerOrgId, false);
      await until('all releases to succeed', DEADLINE_MS, async () => {
        const { open } = await system.store.one<{ open: string }>(
          "SELECT COUNT(*) open FROM fi_async_task WHERE stage = 'lock-release' AND status <> 2",
        );
        return Number(open) === 0 ? true : null;
      });
    });
    for (const [index, one] of submits.entries()) {
      const isVoid = index < points.length;
      expect(await factsOf(one)).to.include({
        locks: STATIONS,
        active: isVoid ? 0 : STATIONS,
        released: isVoid ? STATIONS : 0,
      });
    }
    await assertConserved(system.store);
  });
});
