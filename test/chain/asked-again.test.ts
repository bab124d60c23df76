/** A snapshot task that had failed or was cancelled, when a later push asks for the same station again. */
import { expect } from 'chai';
import { funnelStageNumber, Place } from '../../src/domain/place.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  coverageOf,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

const MONTHS = ['2026-01', '2026-02'];

describe('snapshots that are asked for again', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const pause = (paused: boolean) => setStagePaused(system.store, 'bill-snapshot', paused, 'test');
  const monthsOf = (roofs: Roofs, month: string) =>
    roofs.pushOf().map((station) => ({
      ...station,
      bills: station.bills.filter((bill) => (bill as { billYearMonth: string }).billYearMonth === month),
    }));

  async function pushed(roofs: Roofs, month: string): Promise<string> {
    const reply = await push(system.url, roofs.partner.key, monthsOf(roofs, month));
    const { pushId } = reply.body;
    await until('the account stage', 10_000, async () =>
      (await placesOf(system.store, pushId)).SNAPSHOT_PENDING === 2 ? true : null,
    );
    return pushId;
  }

  /** As the eighth failure leaves it. */
  async function failForGood(roofs: Roofs, pushId: string): Promise<void> {
    await system.store.changeExactly(
      2,
      'failing the snapshot tasks',
      `UPDATE fi_async_task SET status = 3, retry_count = max_retry_count, error_code = 'INFRASTRUCTURE'
        WHERE stage = 'bill-snapshot' AND partner_org_id = ?`,
      [roofs.partner.partnerOrgId],
    );
    await system.store.changeExactly(
      2,
      'halting their rows',
      "UPDATE pushed_row_place SET place = ?, left_at = ?, reason = 'INFRASTRUCTURE' WHERE push_id = ?",
      [Place.SNAPSHOT_FAILED, funnelStageNumber('snapshotCurrent'), pushId],
    );
  }

  it('COV-2 SNP-1 rows that had failed are under way again, with the task that will carry them', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    await pause(true);
    const first = await pushed(roofs, MONTHS[0]!);
    await failForGood(roofs, first);
    expect((await coverageOf(system.url, roofs.partner.key, first)).state).to.equal(
      'COMPLETE_WITH_EXCEPTIONS',
    );
    const second = await pushed(roofs, MONTHS[1]!);
    expect(await placesOf(system.store, first)).to.deep.equal({ SNAPSHOT_PENDING: 2 });
    const reopened = await coverageOf(system.url, roofs.partner.key, first);
    expect(reopened.state).to.equal('IN_PROGRESS');
    await pause(false);
    for (const pushId of [first, second]) {
      expect((await untilDone(system.url, roofs.partner.key, pushId)).state).to.equal('COMPLETE');
      expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: 2 });
    }
  });
});
