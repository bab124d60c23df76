/** The terms of a partner change while its bills are on their way. */
import { expect } from 'chai';
import type { StageName } from '../../src/domain/stage.ts';
import { setStagePaused } from '../../src/store/stage-control.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

const MONTHS = ['2026-01', '2026-02'];
const TABLES = ['fi_monthly_income_difference', 'fi_customer_bill_partner', 'fi_customer_bill'];

describe('terms that change while bills are on their way', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const pause = (stage: StageName, paused: boolean) => setStagePaused(system.store, stage, paused, 'test');
  const setFlow = (roofs: Roofs, flow: string | null) =>
    system.store.change('UPDATE partner SET payment_flow = ? WHERE partner_org_id = ?', [
      flow,
      roofs.partner.partnerOrgId,
    ]);

  /** All rows of a push stand before the account stage, which is paused. */
  async function comparedAndHeld(roofs: Roofs): Promise<string> {
    await pause('account-shard', true);
    const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
    const { pushId } = reply.body;
    await until('the difference stage', 10_000, async () =>
      (await placesOf(system.store, pushId)).ACCOUNT_PENDING === 4 ? true : null,
    );
    return pushId;
  }

  async function statusesOf(roofs: Roofs): Promise<Record<string, readonly string[]>> {
    const found: Record<string, readonly string[]> = {};
    for (const table of TABLES) {
      const rows = await system.store.many<{ status: string }>(
        `SELECT DISTINCT payment_status status FROM ${table} WHERE partner_org_id = ?`,
        [roofs.partner.partnerOrgId],
      );
      found[table] = rows.map((row) => row.status);
    }
    return found;
  }
  const everywhere = (status: string) => Object.fromEntries(TABLES.map((table) => [table, [status]]));

  it('ACC-8 DIF-6 payment disabled after the comparison: the refresh makes nothing payable, and says NOT_APPLICABLE', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const pushId = await comparedAndHeld(roofs);
    await setFlow(roofs, 'DISABLED');
    await pause('account-shard', false);
    expect((await untilDone(system.url, roofs.partner.key, pushId)).state).to.equal('COMPLETE');
    expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: 4 });
    expect(await statusesOf(roofs)).to.deep.equal(everywhere('NOT_APPLICABLE'));
    const concluded = await system.store.many(
      `SELECT id FROM fi_monthly_income_difference WHERE partner_org_id = ?
          AND (partner_query_status IS NOT NULL OR pre_rent_check_result IS NOT NULL OR pre_rent_check_reason IS NOT NULL)`,
      [roofs.partner.partnerOrgId],
    );
    expect(concluded, 'conclusions of a payment that does not exist').to.deep.equal([]);
  });

  it('DIF-6 a refresh that is older than the last push of a disabled partner does not bring its status back', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const first = await comparedAndHeld(roofs);
    await setFlow(roofs, 'DISABLED');
    const second = await push(system.url, roofs.partner.key, roofs.pushOf());
    await untilDone(system.url, roofs.partner.key, second.body.pushId);
    await pause('account-shard', false);
    await untilDone(system.url, roofs.partner.key, first);
    expect(await placesOf(system.store, first)).to.deep.equal({ SUPERSEDED: 4 });
    expect(await placesOf(system.store, second.body.pushId)).to.deep.equal({ PAYMENT_DISABLED: 4 });
    expect(await statusesOf(roofs)).to.deep.equal(everywhere('NOT_APPLICABLE'));
  });

  it('DIF-6 a payment flow that is not decided is not read as either: the refresh waits, and goes on when it is', async () => {
    const roofs = await makeRoofs(system.store, { stations: 2, months: MONTHS });
    const pushId = await comparedAndHeld(roofs);
    await setFlow(roofs, null);
    await pause('account-shard', false);
    await until('the refresh to say why it waits', 10_000, async () => {
      const [task] = await system.store.many<{ code: string | null }>(
        "SELECT error_code code FROM fi_async_task WHERE push_id = ? AND stage = 'account-shard'",
        [pushId],
      );
      return task?.code === 'PAYMENT_FLOW_UNRESOLVED' ? true : null;
    });
    expect(await placesOf(system.store, pushId)).to.deep.equal({ ACCOUNT_PENDING: 4 });
    await setFlow(roofs, 'ENABLED');
    expect((await untilDone(system.url, roofs.partner.key, pushId)).state).to.equal('COMPLETE');
    expect(await placesOf(system.store, pushId)).to.deep.equal({ CURRENT: 4 });
  });
});
