/** The side roads of the chain, through HTTP: what is refused, blocked, overtaken, disabled, set aside or skipped, and why. */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeBillLock, makeMapping, makeSnapshot, releaseBillLock } from '../support/factory.ts';
import { makeRoofs } from '../support/roofs.ts';
import {
  askControlWell,
  assertConserved,
  billOf,
  coverageOf,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

const MONTHS = ['2026-01', '2026-02', '2026-03'];

describe('side roads of the chain', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const pause = (stage: StageName, paused: boolean) => setStagePaused(system.store, stage, paused, 'test');

  const runByHand = (
    stage: StageName,
    taskCode: string,
  ): Promise<{ succeeded: number; failed: number; items: object[] }> =>
    askControlWell(system.url, 'POST', '/tasks/run', { stage, taskCode });

  const taskOf = (pushId: string, stage: StageName) =>
    system.store.many<{
      taskCode: string;
      status: number;
      errorCode: string | null;
      finalResult: string | null;
      taskData: never;
      result: never;
    }>(
      'SELECT task_code taskCode, status, error_code errorCode, final_result finalResult, task_data taskData, result FROM fi_async_task WHERE push_id = ? AND stage = ? ORDER BY id',
      [pushId, stage],
    );

  it('ING-3 ING-4 a bad row and a locked month are refused alone; the other months of the station go on', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    await makeBillLock(system.store, {
      platformStationId: roofs.stations[0]!.platformStationId!,
      month: '2026-02',
    });
    const stations = roofs.pushOf((station, month) =>
      station === 1 && month === '2026-03' ? { billYearMonth: '2026/03' } : {},
    );
    const reply = await push(system.url, roofs.partner.key, stations);
    expect(reply.status).to.equal(202);
    expect(reply.body.code).to.equal('PARTIALLY_ACCEPTED');
    const refused = reply.body.receipts.filter((receipt) => receipt.receipt === 'REFUSED');
    expect(refused.map((receipt) => [receipt.index, receipt.reason])).to.deep.equal([
      [1, 'PAYMENT_LOCKED'],
      [5, 'INVALID_FIELD'],
    ]);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state).to.equal('COMPLETE_WITH_EXCEPTIONS');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({
      INVALID: 1,
      LOCKED: 1,
      CURRENT: 4,
    });
  });

  it('ING-2 the same request again gets the first answer and makes no new work', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const first = await push(system.url, roofs.partner.key, roofs.pushOf(), 'same-request');
    await untilDone(system.url, roofs.partner.key, first.body.pushId);
    const again = await push(system.url, roofs.partner.key, roofs.pushOf(), 'same-request');
    expect(again.status).to.equal(202);
    expect(again.body.pushId).to.equal(first.body.pushId);
    expect(again.body.code).to.equal('IDEMPOTENCY');
    expect(again.body.receipts).to.deep.equal(first.body.receipts);
    const { n } = await system.store.one<{ n: string }>(
      'SELECT COUNT(*) n FROM partner_push WHERE partner_org_id = ?',
      [roofs.partner.partnerOrgId],
    );
    expect(Number(n)).to.equal(1);
  });

  it('STA-1 STA-9 a station whose month is locked after acceptance fails whole beside good ones, and is repaired by hand', async () => {
    const roofs = await makeRoofs(system.store, { stations: 4, months: MONTHS });
    await pause('bill-station', true);
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const lockId = await makeBillLock(system.store, {
      platformStationId: roofs.stations[2]!.platformStationId!,
      month: '2026-03',
    });
    await pause('bill-station', false);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ STATION_FAILED: 3, CURRENT: 9 });
    expect(done.stationOutcome).to.equal('PARTIAL_SUCCESS');
    const failed = (await taskOf(reply.body.pushId, 'bill-station')).find((task) => task.status === 3)!;
    expect(failed.errorCode).to.equal('PAYMENT_LOCKED');
    const accounts = await system.store.many(
      'SELECT id FROM fi_customer_account_partner WHERE partner_station_no = ?',
      [roofs.stations[2]!.partnerStationNo],
    );
    expect(accounts, 'the account is rolled back too').to.deep.equal([]);

    await releaseBillLock(system.store, lockId);
    expect((await runByHand('bill-station', failed.taskCode)).succeeded).to.equal(1);
    const repaired = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(repaired.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 12 });
  });

  it('DIF-6 DEC-20 a payment-disabled partner keeps its differences; nothing is payable and no account task follows', async () => {
    const roofs = await makeRoofs(system.store, {
      stations: 2,
      months: MONTHS,
      partner: { payment_flow: 'DISABLED' },
    });
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state).to.equal('COMPLETE');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ PAYMENT_DISABLED: 6 });
    expect(await taskOf(reply.body.pushId, 'account-shard')).to.deep.equal([]);
    for (const table of ['fi_monthly_income_difference', 'fi_customer_bill_partner', 'fi_customer_bill']) {
      const rows = await system.store.many<{ status: string; payable: string }>(
        `SELECT DISTINCT payment_status status, current_payable payable FROM ${table} WHERE partner_org_id = ?`,
        [roofs.partner.partnerOrgId],
      );
      expect(rows, table).to.deep.equal([{ status: 'NOT_APPLICABLE', payable: '0.00' }]);
    }
    await until('the read model to follow', 5_000, async () => {
      const rows = await system.store.many<{ status: string }>(
        'SELECT DISTINCT payment_status status FROM fi_resident_income_payment_bill_dimension_snapshot WHERE partner_org_id = ?',
        [roofs.partner.partnerOrgId],
      );
      return rows.length === 1 && rows[0]!.status === 'NOT_APPLICABLE' ? true : null;
    });
  });

  it('DIF-12 26 accounts with 12 differences each are two tasks, of 25 and of 1', async () => {
    const months = Array.from({ length: 12 }, (_, index) => `2025-${String(index + 1).padStart(2, '0')}`);
    const roofs = await makeRoofs(system.store, { stations: 26, months });
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state).to.equal('COMPLETE');
    const tasks = await taskOf(reply.body.pushId, 'account-shard');
    const sizes = tasks.map(
      (task) => (task.taskData as { platformAccountScopes: object[] }).platformAccountScopes.length,
    );
    expect(sizes.sort((a, b) => b - a)).to.deep.equal([25, 1]);
    expect(tasks.map((task) => task.finalResult)).to.deep.equal(['FULL_SUCCESS', 'FULL_SUCCESS']);
  });

  it('ACC-10 ACC-12 ACC-13 an account that fails three times is skipped; its neighbours are refreshed', async () => {
    const roofs = await makeRoofs(system.store, { stations: 3, months: MONTHS });
    await pause('account-shard', true);
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    await until('the difference stage', 10_000, async () =>
      (await placesOf(system.store, reply.body.pushId)).ACCOUNT_PENDING === 9 ? true : null,
    );
    const bad = roofs.stations[1]!.platformStationId!;
    const [gone] = await system.store.many<{ id: string }>(
      'SELECT id FROM fi_monthly_income_difference WHERE station_id = ? LIMIT 1',
      [bad],
    );
    await system.store.change('UPDATE fi_monthly_income_difference SET partner_org_id = 1 WHERE id = ?', [
      gone!.id,
    ]);
    await pause('account-shard', false);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId, 40_000);
    expect(done.state).to.equal('COMPLETE_WITH_EXCEPTIONS');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ SKIPPED: 3, CURRENT: 6 });
    const [task] = await taskOf(reply.body.pushId, 'account-shard');
    expect(task!.status).to.equal(2);
    expect(task!.finalResult).to.equal('PARTIAL_SUCCESS');
    expect(task!.result).to.include({
      failedAttemptCount: 3,
      skippedAccountCount: 1,
      processedAccountCount: 3,
      lastSkippedAccountId: bad,
    });
    const outcomes = await system.store.many<{ outcome: string; errorCode: string | null }>(
      `SELECT o.outcome, o.error_code errorCode FROM account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id
        WHERE t.push_id = ? AND o.platform_station_id = ? ORDER BY o.id`,
      [reply.body.pushId, bad],
    );
    expect(outcomes.map((row) => row.outcome)).to.deep.equal(['FAILED', 'FAILED', 'SKIPPED']);
    expect(outcomes[0]!.errorCode).to.equal('FACTS_MISSING');
    await system.store.change('UPDATE fi_monthly_income_difference SET partner_org_id = ? WHERE id = ?', [
      roofs.partner.partnerOrgId,
      gone!.id,
    ]);
  });

  it('ACC-12 a failure that later succeeds leaves no mark on the result', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    await pause('account-shard', true);
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    await until('the difference stage', 10_000, async () =>
      (await placesOf(system.store, reply.body.pushId)).ACCOUNT_PENDING === 6 ? true : null,
    );
    const { partnerOrgId } = roofs.partner;
    const [moved] = await system.store.many<{ id: string }>(
      'SELECT id FROM fi_monthly_income_difference WHERE partner_org_id = ? LIMIT 1',
      [partnerOrgId],
    );
    await system.store.change('UPDATE fi_monthly_income_difference SET partner_org_id = 1 WHERE id = ?', [
      moved!.id,
    ]);
    await pause('account-shard', false);
    await until('the first failure', 10_000, async () => {
      const [task] = await taskOf(reply.body.pushId, 'account-shard');
      return task?.errorCode === 'FACTS_MISSING' ? true : null;
    });
    await system.store.change('UPDATE fi_monthly_income_difference SET partner_org_id = ? WHERE id = ?', [
      partnerOrgId,
      moved!.id,
    ]);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state).to.equal('COMPLETE');
    const [task] = await taskOf(reply.body.pushId, 'account-shard');
    expect(task!.finalResult).to.equal('FULL_SUCCESS');
    expect(task!.result).to.include({
      failedAttemptCount: 1,
      skippedAccountCount: 0,
      currentAccountId: null,
    });
  });

  it('STA-11 the last push wins, in whatever order work arrives; the rows of the first say which push replaced them', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    await pause('bill-station', true);
    const first = await push(
      system.url,
      roofs.partner.key,
      roofs.pushOf(() => ({ rent: '100.00' })),
    );
    const second = await push(
      system.url,
      roofs.partner.key,
      roofs.pushOf(() => ({ rent: '200.00' })),
    );
    await system.store.change(
      "UPDATE fi_async_task SET next_execute_time = NOW(3) + INTERVAL 3 SECOND WHERE push_id = ? AND stage = 'bill-station'",
      [first.body.pushId],
    );
    await pause('bill-station', false);
    const done = await untilDone(system.url, roofs.partner.key, second.body.pushId);
    expect(done.state).to.equal('COMPLETE');
    const overtaken = await untilDone(system.url, roofs.partner.key, first.body.pushId);
    expect(overtaken.state, 'STALE is a named end, no exception').to.equal('COMPLETE');
    expect(await placesOf(system.store, first.body.pushId)).to.deep.equal({ STALE: 6 });
    const rents = await system.store.many<{ rent: string; pushId: string }>(
      'SELECT DISTINCT rent, push_id pushId FROM fi_customer_bill_partner WHERE partner_org_id = ?',
      [roofs.partner.partnerOrgId],
    );
    expect(rents).to.deep.equal([{ rent: '200.00', pushId: second.body.pushId }]);
    const by = await system.store.many<{ by: string }>(
      'SELECT DISTINCT superseded_by_push_id `by` FROM pushed_row_place WHERE push_id = ?',
      [first.body.pushId],
    );
    expect(by).to.deep.equal([{ by: second.body.pushId }]);
  });

  it('DIF-5 a message that comes after a newer push takes nothing back: its rows are SUPERSEDED', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    await pause('income-diff', true);
    const first = await push(
      system.url,
      roofs.partner.key,
      roofs.pushOf(() => ({ rent: '100.00' })),
    );
    await until('the first stations', 10_000, async () =>
      (await placesOf(system.store, first.body.pushId)).DIFF_PENDING === 6 ? true : null,
    );
    const second = await push(
      system.url,
      roofs.partner.key,
      roofs.pushOf(() => ({ rent: '200.00' })),
    );
    await until('the second stations', 10_000, async () =>
      (await placesOf(system.store, second.body.pushId)).DIFF_PENDING === 6 ? true : null,
    );
    await pause('income-diff', false);
    await untilDone(system.url, roofs.partner.key, first.body.pushId);
    await untilDone(system.url, roofs.partner.key, second.body.pushId);
    expect(await placesOf(system.store, first.body.pushId)).to.deep.equal({ SUPERSEDED: 6 });
    expect(await placesOf(system.store, second.body.pushId)).to.deep.equal({ CURRENT: 6 });
    const rents = await system.store.many(
      'SELECT DISTINCT partner_rent rent FROM fi_monthly_income_difference WHERE partner_org_id = ?',
      [roofs.partner.partnerOrgId],
    );
    expect(rents).to.deep.equal([{ rent: '200.00' }]);
  });

  it('DIF-16 DEC-3 a station without platform station fails its difference alone, and goes on when the mapping is mended', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const lone = await makeMapping(system.store, roofs.partner.partnerOrgId, { platform_station_id: null });
    const stations = [
      ...roofs.pushOf(),
      {
        partnerStationNo: lone.partnerStationNo,
        partnerStationId: lone.partnerStationId,
        bills: MONTHS.map((month) => billOf(month)),
      },
    ];
    const reply = await push(system.url, roofs.partner.key, stations);
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state).to.equal('COMPLETE_WITH_EXCEPTIONS');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ DIFF_FAILED: 3, CURRENT: 6 });
    const aside = (await taskOf(reply.body.pushId, 'income-diff')).find((task) => task.status === 3)!;
    expect(aside.errorCode).to.equal('NO_PLATFORM_STATION');

    const platformStationId = '77001';
    await system.store.change(
      'UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ? AND partner_station_no = ?',
      [platformStationId, roofs.partner.partnerOrgId, lone.partnerStationNo],
    );
    for (const month of MONTHS)
      await makeSnapshot(system.store, {
        partnerOrgId: roofs.partner.partnerOrgId,
        platformStationId,
        month,
      });
    expect((await runByHand('income-diff', aside.taskCode)).succeeded).to.equal(1);
    await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ CURRENT: 9 });
  });

  it('SNP-3 months without a read-model row end as NO_SNAPSHOT, and none is created', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS, snapshots: false });
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const done = await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    expect(done.state, 'a named end, no exception').to.equal('COMPLETE');
    expect(await placesOf(system.store, reply.body.pushId)).to.deep.equal({ NO_SNAPSHOT: 6 });
    const coverage = await coverageOf(system.url, roofs.partner.key, reply.body.pushId);
    expect(coverage.funnel.at(-1)).to.deep.include({ stage: 'snapshotCurrent', rows: 0 });
  });
});
