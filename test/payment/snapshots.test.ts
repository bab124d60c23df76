/** Snapshots that are missing: made when a session is opened or an operator asks; never by a mere refresh (PAY-1, SNP-3). */
import { expect } from 'chai';
import { Place } from '../../src/domain/place.ts';
import {
  ask,
  JANUARY,
  makePaidRoofs,
  openPayments,
  type PaidRoofs,
  type Payments,
} from '../support/payments.ts';

describe('payment: missing snapshots', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
  });
  after(() => world.close());
  beforeEach(async () => {
    roofs = await makePaidRoofs(world, { stations: 3 });
  });

  const snapshots = () =>
    world.store.many<{ status: string; payable: string; billId: string; mode: string }>(
      `SELECT s.payment_status status, s.current_payable payable, s.partner_bill_id billId, t.task_data->>'$.mode' mode
         FROM fi_resident_income_payment_bill_dimension_snapshot s LEFT JOIN fi_async_task t ON t.id = s.task_id
        WHERE s.partner_org_id = ? ORDER BY s.platform_station_id`,
      [roofs.partnerOrgId],
    );

  it('SNP-3 a refresh creates none', async () => {
    expect(await snapshots()).to.deep.equal([]);
  });

  it('PAY-1 SNP-3 opening a session creates those of its months', async () => {
    const session = await ask(world, '/payment-sessions', {
      partnerOrgId: roofs.partnerOrgId,
      months: [JANUARY],
    });
    expect([session.missingSnapshots, session.snapshotStations]).to.deep.equal([3, 3]);
    await world.turn('bill-snapshot', roofs.partnerOrgId);
    expect(await snapshots()).to.deep.equal(
      roofs.bills.map(({ partnerBillId }) => ({
        status: 'PAYABLE',
        payable: '110.00',
        billId: partnerBillId,
        mode: 'CREATE',
      })),
    );
    const { body } = await world.plane.ask('GET', `/payment-sessions/${session.id}`);
    expect(body.missingSnapshots).to.equal(0);
  });

  it('SNP-3 an operator asks for them; what is there is not asked for again', async () => {
    const body = { partnerOrgId: roofs.partnerOrgId, months: [JANUARY], mode: 'CREATE' };
    expect((await ask(world, '/snapshots', body)).stations).to.equal(3);
    await world.turn('bill-snapshot', roofs.partnerOrgId);
    expect(await snapshots()).to.have.length(3);
    expect((await ask(world, '/snapshots', body)).stations).to.equal(0);
  });

  it('SNP-1 a refresh and a creation in one task create only what was asked to be created', async () => {
    const { platformStationId } = roofs.bills[0]!;
    await ask(world, '/snapshots', { partnerOrgId: roofs.partnerOrgId, months: [JANUARY], mode: 'CREATE' });
    const { taskData } = await world.store.one<{ taskData: { createMonths: string[]; mode: string } }>(
      'SELECT task_data taskData FROM fi_async_task WHERE task_code = ?',
      [`BDS:${roofs.partnerOrgId}:${platformStationId}`],
    );
    expect([taskData.mode, taskData.createMonths]).to.deep.equal(['CREATE', [JANUARY]]);
  });

  it('SNP-3 a task that created refreshes from then on', async () => {
    await ask(world, '/snapshots', { partnerOrgId: roofs.partnerOrgId, months: [JANUARY], mode: 'CREATE' });
    await world.turn('bill-snapshot', roofs.partnerOrgId);
    await world.store.change(
      'DELETE FROM fi_resident_income_payment_bill_dimension_snapshot WHERE partner_org_id = ?',
      [roofs.partnerOrgId],
    );
    const { partnerBillId, acceptNo } = roofs.bills[0]!;
    await ask(world, '/verifications', {
      partnerBillId,
      acceptNo,
      partnerQueryStatus: 'UNQUALIFIED',
      reason: 'wrong roof',
    });
    await world.settle(roofs.partnerOrgId);
    expect(await snapshots()).to.deep.equal([]);
  });

  it('DEC-21 a row that had no snapshot stays at NO_SNAPSHOT when one is made later', async () => {
    const places = () =>
      world.store.many<{ place: number }>(
        `SELECT w.place FROM pushed_row_place w JOIN partner_push p ON p.push_id = w.push_id
          WHERE p.partner_org_id = ? ORDER BY w.row_no`,
        [roofs.partnerOrgId],
      );
    const stays = Array(3).fill({ place: Place.NO_SNAPSHOT });
    expect(await places()).to.deep.equal(stays);
    await ask(world, '/snapshots', { partnerOrgId: roofs.partnerOrgId, months: [JANUARY], mode: 'CREATE' });
    await world.turn('bill-snapshot', roofs.partnerOrgId);
    expect(await places()).to.deep.equal(stays);
  });

  it('SNP-3 an unknown partner, or another mode, is refused', async () => {
    const asked = (body: object) => world.plane.ask('POST', '/snapshots', body);
    expect((await asked({ partnerOrgId: '999999', months: [JANUARY], mode: 'CREATE' })).status).to.equal(404);
    expect((await asked({ partnerOrgId: '1', months: [JANUARY], mode: 'REFRESH' })).status).to.equal(400);
  });
});
