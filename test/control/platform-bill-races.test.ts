/**
 * A change of our own bills beside other work on the same stations, in a forced order: one is stopped just before its
 * commit, the other is seen to wait for it (ENG-16, ENG-17). Whatever the order, the ledger ends as both sides' bills say.
 */
import { expect } from 'chai';
import { writePlatformBills } from '../../src/control/write-platform-bills.ts';
import type { StageName } from '../../src/domain/stage.ts';
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import type { Store, Transaction, TransactionOptions } from '../../src/store/transaction.ts';
import { holdRows, signal, untilWaiting } from '../support/engine.ts';
import { listPushedBills, openPayments, type Payments, verify } from '../support/payments.ts';
import { EQUAL, listLedgerFaults, makePlatformWorld, type PlatformWorld } from '../support/platform-bills.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import { acceptPush, bill, claim, unclaim, workDirectly } from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

const JANUARY = '2026-01';

describe('control: platform bills, two at once', () => {
  let world: Payments;
  let own: PlatformWorld;
  before(async () => {
    world = await openPayments({ lockWaitTimeoutS: 30 });
  });
  after(() => world.close());
  beforeEach(async () => {
    own = await makePlatformWorld(world);
    await own.send({ bills: [own.bill(0, JANUARY)] });
    await push('120.00');
    await settle();
  });

  const push = (rent: string) =>
    acceptPush(world.store, own.partnerOrgId, [
      { mapping: own.stations[0]!, bills: [bill(JANUARY, { rent })] },
    ]);
  const change = (rent: string) => own.send({ bills: [own.bill(0, JANUARY, { ...EQUAL, rent })] });
  async function settle(): Promise<void> {
    await world.turn('bill-station', own.partnerOrgId);
    await own.settle();
  }

  interface Stopped {
    /** Lets it commit, and waits until it has. */
    readonly go: () => Promise<void>;
  }

  /** A stage's work, done and not committed. */
  async function stopWork(stage: StageName): Promise<Stopped> {
    const stages = { ...world.stages, engine: world.engine };
    const handler = world.engine.handlers.get(stage)!;
    const first = await claim(stages, stage, own.partnerOrgId);
    await handler.prepare?.(first.right);
    await unclaim(world.store, first);
    const claimed = await claim(stages, stage, own.partnerOrgId);
    const gate = signal();
    const reached = signal();
    const done = workDirectly(world.store, handler, claimed, {
      beforeCommit: async () => {
        reached.give();
        await gate.given;
      },
    });
    await Promise.race([reached.given, done]);
    return {
      go: async () => {
        gate.give();
        const { endings } = await done;
        await unclaim(world.store, claimed);
        await world.store.change('UPDATE fi_async_task SET status = 2 WHERE id IN (?)', [
          [...endings.keys()],
        ]);
      },
    };
  }

  /** The command, done and not committed. */
  async function stopChange(rent: string): Promise<Stopped> {
    const gate = signal();
    const reached = signal();
    const transaction = (options: TransactionOptions, work: (tx: Transaction) => Promise<unknown>) =>
      world.store.transaction(options, async (tx) => {
        const result = await work(tx);
        reached.give();
        await gate.given;
        return result;
      });
    const wish = {
      pointer: '/bills/0',
      platformStationId: own.stations[0]!.platformStationId!,
      billYearMonth: JANUARY,
      amounts: { ...EQUAL, rent },
    };
    const order = { partnerOrgId: own.partnerOrgId, wishes: [wish], actor: 'test', traceId: '' };
    const done = writePlatformBills({ transaction } as unknown as Store, order, world.wake);
    await Promise.race([reached.given, done]);
    return {
      go: async () => {
        gate.give();
        await done;
      },
    };
  }

  async function inOrder<T>(first: Stopped, second: () => Promise<T>): Promise<T> {
    const waiting = second();
    await untilWaiting(world.store);
    await first.go();
    return waiting;
  }

  async function assertEnds(expected: { ours: string; theirs: string; verdict: string }): Promise<void> {
    await settle();
    const row = await world.store.one(
      `SELECT d.platform_rent ours, d.partner_rent theirs, b.partner_query_status verdict
         FROM fi_monthly_income_difference d JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id
        WHERE d.partner_org_id = ?`,
      [own.partnerOrgId],
    );
    expect(row).to.deep.equal(expected);
    expect(await listLedgerFaults(world.store, own.partnerOrgId)).to.deep.equal([]);
    expect(await checkPlaces(world.store)).to.deep.equal([]);
    await assertVerified(world.store);
  }

  it('ENG-16 DIF-5 a station that commits first: the change finds its bill, and the ledger both', async () => {
    await push('100.00');
    const station = await stopWork('bill-station');
    const answer = await inOrder(station, () => change('90.00'));
    expect(answer.status).to.equal(200);
    await assertEnds({ ours: '90.00', theirs: '100.00', verdict: 'NOT_VERIFIED' });
  });

  it('ENG-16 DIF-5 a change that commits first: the station waits for it, and the ledger has both', async () => {
    await push('100.00');
    const changed = await stopChange('90.00');
    await inOrder(changed, () => world.turn('bill-station', own.partnerOrgId));
    await assertEnds({ ours: '90.00', theirs: '100.00', verdict: 'NOT_VERIFIED' });
  });

  it('ENG-16 DIF-5 a push’s message that compares first: the change comes after it, with a message of its own', async () => {
    await push('100.00');
    await world.turn('bill-station', own.partnerOrgId);
    const message = await stopWork('income-diff');
    await inOrder(message, () => change('90.00'));
    await assertEnds({ ours: '90.00', theirs: '100.00', verdict: 'NOT_VERIFIED' });
  });

  it('ENG-16 DIF-5 a change that commits first: the message of the push, already on its way, compares the changed bill', async () => {
    await push('100.00');
    await world.turn('bill-station', own.partnerOrgId);
    const changed = await stopChange('90.00');
    await inOrder(changed, () => world.turn('income-diff', own.partnerOrgId));
    await assertEnds({ ours: '90.00', theirs: '100.00', verdict: 'NOT_VERIFIED' });
  });

  it('ENG-16 DIF-5 a message of our own that compares first: the next change has the last word', async () => {
    await change('80.00');
    const message = await stopWork('income-diff');
    await inOrder(message, () => change('90.00'));
    await assertEnds({ ours: '90.00', theirs: '120.00', verdict: 'NOT_VERIFIED' });
  });

  it('ENG-16 DEC-8 DEC-25 a verdict that waited for a change is refused; one that came first is taken back', async () => {
    const bills = await listPushedBills(world.store, own.partnerOrgId);
    const changed = await stopChange('90.00');
    const verdict = { ...bills[0], partnerQueryStatus: 'VERIFIED', reason: 'seen on site' };
    const { partnerBillId, acceptNo, partnerQueryStatus, reason } = verdict;
    const answer = await inOrder(changed, () =>
      world.plane.ask('POST', '/verifications', { partnerBillId, acceptNo, partnerQueryStatus, reason }),
    );
    expect(answer.body.code).to.equal('DIFFERENCE_BEHIND');
    await own.settle();
    await change('120.00');
    await own.settle();
    await verify(world, bills);
    expect((await change('90.00')).body.verdictsReset).to.equal(1);
    await assertEnds({ ours: '90.00', theirs: '120.00', verdict: 'NOT_VERIFIED' });
  });

  it('DEC-15 two first bills of a station at the same time share one account', async () => {
    own = await makePlatformWorld(world);
    const { platformStationId } = own.stations[0]!;
    await lockGuards(world.store, [{ key: platformStationGuard(platformStationId!) }]);
    const guard = await holdRows(
      await world.stages.testStore.openAnother(),
      'SELECT * FROM station_guard WHERE kind = 2 AND platform_station_id = ? FOR UPDATE',
      [platformStationId],
    );
    const both = [own.send({ bills: [own.bill(0, JANUARY)] }), own.send({ bills: [own.bill(0, '2026-02')] })];
    await untilWaiting(world.store, 2);
    await guard.release();
    expect((await Promise.all(both)).map((answer) => answer.status)).to.deep.equal([200, 200]);
    const accounts = await world.store.many('SELECT id FROM fi_customer_account WHERE partner_org_id = ?', [
      own.partnerOrgId,
    ]);
    expect(accounts).to.have.length(1);
  });

  it('ENG-17 two requests that name their stations in opposite orders do not meet in a deadlock', async () => {
    own = await makePlatformWorld(world, 3);
    await own.send({ bills: own.stations.map((_, index) => own.bill(index, JANUARY)) });
    const send = (order: readonly number[], rent: string) =>
      own.send({ bills: order.map((index) => own.bill(index, JANUARY, { ...EQUAL, rent })) });
    const deadlocks = () =>
      world.store.one<{ count: string }>(
        "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'",
      );
    const before = await deadlocks();
    // Each has one station and waits for the middle one; whoever gets it wants what the other has, unless both began with the first.
    const middle = await holdRows(
      await world.stages.testStore.openAnother(),
      'SELECT * FROM station_guard WHERE kind = 2 AND platform_station_id = ? FOR UPDATE',
      [own.stations[1]!.platformStationId!],
    );
    const both = [send([0, 1, 2], '1.00'), send([2, 1, 0], '2.00')];
    await untilWaiting(world.store, 2);
    await middle.release();
    expect((await Promise.all(both)).map((answer) => answer.body.changed)).to.deep.equal([3, 3]);
    expect(await deadlocks()).to.deep.equal(before);
    await settle();
    await assertVerified(world.store);
  });
});
