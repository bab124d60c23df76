/** What can go wrong between two stages, scenario by scenario of the source's chapter 6, through HTTP and real workers. */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeBillLock, releaseBillLock } from '../support/factory.ts';
import { makeRoofs } from '../support/roofs.ts';
import {
  askControlWell,
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const MONTHS = ['2026-01', '2026-02'];

describe('scenarios between the stages', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const pause = (stage: StageName, paused: boolean) => setStagePaused(system.store, stage, paused, 'test');

  const tasksOf = (pushId: string, stage: StageName) =>
    system.store.many<{ id: string; status: number; errorCode: string | null; finalResult: string | null }>(
      `SELECT id, status, error_code errorCode, final_result finalResult FROM fi_async_task
        WHERE push_id = ? AND stage = ? ORDER BY id`,
      [pushId, stage],
    );

  it('STA-18 STA-16 all stations fail: nothing is written and nothing handed over; a new push repairs it', async () => {
    const roofs = await makeRoofs(system.store, { stations: 3, months: MONTHS });
    await pause('bill-station', true);
    const first = await push(system.url, roofs.partner.key, roofs.pushOf());
    const locks: string[] = [];
    for (const { platformStationId } of roofs.stations) {
      locks.push(
        await makeBillLock(system.store, { platformStationId: platformStationId!, month: MONTHS[1]! }),
      );
    }
    await pause('bill-station', false);
    const failed = await untilDone(system.url, roofs.partner.key, first.body.pushId);
    expect(failed).to.include({ state: 'COMPLETE_WITH_EXCEPTIONS', stationOutcome: 'FAILED' });
    expect(await placesOf(system.store, first.body.pushId)).to.deep.equal({ STATION_FAILED: 6 });
    expect(await tasksOf(first.body.pushId, 'income-diff'), 'no success, no message').to.deep.equal([]);
    const bills = 'SELECT push_id pushId FROM fi_customer_bill_partner WHERE partner_org_id = ?';
    expect(await system.store.many(bills, [roofs.partner.partnerOrgId])).to.deep.equal([]);

    for (const lock of locks) await releaseBillLock(system.store, lock);
    const second = await push(system.url, roofs.partner.key, roofs.pushOf());
    const repaired = await untilDone(system.url, roofs.partner.key, second.body.pushId);
    expect(repaired).to.include({ state: 'COMPLETE', stationOutcome: 'SUCCESS' });
    expect(await placesOf(system.store, second.body.pushId)).to.deep.equal({ CURRENT: 6 });
    expect(await placesOf(system.store, first.body.pushId), 'an ended row keeps its end').to.deep.equal({
      STATION_FAILED: 6,
    });
  });

  it('DIF-15 STA-16 where an account task cannot be created the differences roll back; the bills stay, and it goes on by itself', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const { partnerOrgId } = roofs.partner;
    await system.store.change(
      `CREATE TRIGGER refuse_account_task BEFORE INSERT ON fi_async_task FOR EACH ROW
       BEGIN IF NEW.stage = 'account-shard' AND NEW.partner_org_id = ${partnerOrgId} THEN
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no account task today'; END IF; END`,
      [],
    );
    let pushId: string;
    try {
      const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
      pushId = reply.body.pushId;
      await until('the message to have failed', 15_000, async () =>
        (await tasksOf(pushId, 'income-diff')).some((task) => task.status === 3) ? true : null,
      );
      const differences = 'SELECT id FROM fi_monthly_income_difference WHERE partner_org_id = ?';
      expect(await system.store.many(differences, [partnerOrgId])).to.deep.equal([]);
      const bills = 'SELECT id FROM fi_customer_bill_partner WHERE partner_org_id = ? AND push_id = ?';
      expect(await system.store.many(bills, [partnerOrgId, pushId])).to.have.length(4);
      expect(Object.keys(await placesOf(system.store, pushId))).to.deep.equal(['DIFF_PENDING']);
    } finally {
      await system.store.change('DROP TRIGGER refuse_account_task', []);
    }
    const done = await untilDone(system.url, roofs.partner.key, pushId);
    expect(done.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: 4 });
  });

  it('STA-14 STA-11 DIF-13 the same bill in a new push is new business: verification begins anew, with tasks of its own', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: MONTHS });
    const { partnerOrgId } = roofs.partner;
    const first = await push(system.url, roofs.partner.key, roofs.pushOf());
    await untilDone(system.url, roofs.partner.key, first.body.pushId);
    const verdicts = await verifyAll(partnerOrgId);
    expect(verdicts).to.equal(MONTHS.length);

    const second = await push(system.url, roofs.partner.key, roofs.pushOf());
    expect(second.body.code).to.equal('ACCEPTED');
    expect(second.body.pushId).not.to.equal(first.body.pushId);
    await untilDone(system.url, roofs.partner.key, second.body.pushId);
    expect(await placesOf(system.store, second.body.pushId)).to.deep.equal({ CURRENT: 2 });
    for (const table of ['fi_customer_bill_partner', 'fi_monthly_income_difference']) {
      const verdict = await system.store.many(
        `SELECT DISTINCT partner_query_status verdict FROM ${table} WHERE partner_org_id = ?`,
        [partnerOrgId],
      );
      expect(verdict, table).to.deep.equal([{ verdict: 'NOT_VERIFIED' }]);
    }
    const bills = await system.store.many(
      'SELECT id FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    expect(bills, 'replaced, not added').to.have.length(2);
    expect(await tasksOf(first.body.pushId, 'account-shard')).to.have.length(1);
    expect(await tasksOf(second.body.pushId, 'account-shard')).to.have.length(1);
  });

  /** DEC-8, over the control plane; returns how many bills took the verdict. */
  async function verifyAll(partnerOrgId: string): Promise<number> {
    const bills = await system.store.many<{ partnerBillId: string; acceptNo: string }>(
      'SELECT id partnerBillId, accept_no acceptNo FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    await askControlWell(system.url, 'POST', '/verifications', {
      verifications: bills.map((bill) => ({
        partnerBillId: bill.partnerBillId,
        acceptNo: bill.acceptNo,
        partnerQueryStatus: 'VERIFIED',
        reason: 'compared on paper',
      })),
    });
    const rows = await system.store.many(
      "SELECT id FROM fi_customer_bill_partner WHERE partner_org_id = ? AND partner_query_status = 'VERIFIED'",
      [partnerOrgId],
    );
    return rows.length;
  }

  it('DIF-13 DEC-15 the same message once more finds its account task made, and counts no version: nothing is refreshed twice', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    const differences = () =>
      system.store.many(
        'SELECT id, financial_version version FROM fi_monthly_income_difference WHERE partner_org_id = ?',
        [roofs.partner.partnerOrgId],
      );
    const before = [await tasksOf(reply.body.pushId, 'account-shard'), await differences()];
    const [message] = await tasksOf(reply.body.pushId, 'income-diff');
    // Delivered again: the message's row as it was before its work.
    await system.store.change(
      'UPDATE fi_async_task SET status = 0, final_result = NULL, next_execute_time = NOW(3) WHERE id = ?',
      [message!.id],
    );
    await until('the message to end again', 15_000, async () =>
      (await tasksOf(reply.body.pushId, 'income-diff'))[0]?.status === 2 ? true : null,
    );
    expect([await tasksOf(reply.body.pushId, 'account-shard'), await differences()]).to.deep.equal(before);
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 4 });
  });

  it('ING-4 ING-5 a locked month is refused while others go on; later only the refused rows are sent again', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const lockId = await makeBillLock(system.store, {
      platformStationId: roofs.stations[0]!.platformStationId!,
      month: MONTHS[1]!,
    });
    const sent = roofs.pushOf();
    const first = await push(system.url, roofs.partner.key, sent);
    expect(first.body.code).to.equal('PARTIALLY_ACCEPTED');
    await untilDone(system.url, roofs.partner.key, first.body.pushId);
    expect(await placesOf(system.store, first.body.pushId)).to.deep.equal({ LOCKED: 1, CURRENT: 3 });
    await verifyAll(roofs.partner.partnerOrgId);

    await releaseBillLock(system.store, lockId);
    const refused = first.body.receipts.filter((receipt) => receipt.receipt === 'REFUSED');
    expect(refused.map((receipt) => receipt.index)).to.deep.equal([1]);
    const resent = [{ ...sent[0]!, bills: [sent[0]!.bills[1]!] }];
    const second = await push(system.url, roofs.partner.key, resent);
    const done = await untilDone(system.url, roofs.partner.key, second.body.pushId);
    expect(done.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, second.body.pushId)).to.deep.equal({ CURRENT: 1 });
    const verdicts = await system.store.many<{ verdict: string; n: string }>(
      'SELECT partner_query_status verdict, COUNT(*) n FROM fi_customer_bill_partner WHERE partner_org_id = ? GROUP BY partner_query_status ORDER BY 1',
      [roofs.partner.partnerOrgId],
    );
    expect(
      verdicts.map((row) => [row.verdict, Number(row.n)]),
      'what had gone on keeps its verdict',
    ).to.deep.equal([
      ['NOT_VERIFIED', 1],
      ['VERIFIED', 3],
    ]);
  });
});

describe('bills are committed and the process dies before they are dispatched', function () {
  this.timeout(90_000);

  it('STA-16 STA-17 ENG-7 the hand-overs are the work: another process finds and carries them on', async () => {
    const system = await startTestSystem({ roles: ['api', 'scheduler'] });
    try {
      await setStagePaused(system.store, 'income-diff', true, 'test');
      const doomed = await startWorkerProcess(system, 'doomed');
      const roofs = await makeRoofs(system.store, { stations: 5, months: MONTHS });
      const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
      await until('all bills to be committed', 20_000, async () =>
        (await placesOf(system.store, reply.body.pushId)).DIFF_PENDING === 10 ? true : null,
      );
      doomed.kill('SIGKILL');
      await doomed.exited;
      const undispatched = await system.store.one<{ n: string }>(
        'SELECT COUNT(*) n FROM income_diff_handover WHERE push_id = ? AND message_task_id = 0',
        [reply.body.pushId],
      );
      expect(Number(undispatched.n), 'handed over, in no message yet').to.equal(5);

      await startWorkerProcess(system, 'heir').then(async (heir) => {
        try {
          await setStagePaused(system.store, 'income-diff', false, 'test');
          const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId, 40_000);
          expect(done.state).to.equal('COMPLETE');
          expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 10 });
        } finally {
          heir.kill('SIGTERM');
          await heir.exited;
        }
      });
      await assertConserved(system.store);
    } finally {
      await system.stop();
    }
  });
});
