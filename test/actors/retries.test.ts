/** Which failures are tried again by themselves, and which wait for a person or a new push (DEC-18, ENG-11, ENG-13). */
import { expect } from 'chai';
import type { PlaceName } from '../../src/domain/place.ts';
import type { StageName } from '../../src/domain/stage.ts';
import type { Store } from '../../src/store/transaction.ts';
import { markManuallyDue } from '../../src/store/waiting-tasks.ts';
import { dueInMs, endLease, readTask } from '../support/engine.ts';
import {
  type Columns,
  type MadeMapping,
  makeBillLock,
  makeMapping,
  makePlatformAccount,
  makePropStation,
  releaseBillLock,
} from '../support/factory.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import {
  type AcceptedPush,
  acceptPush,
  bill,
  claim,
  makeStagedPartner,
  openStages,
  placesByRow,
  type Stages,
  unclaim,
} from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';
import { killWaiting, whileTurnWaits } from '../support/while-waiting.ts';

const CHAIN: readonly [stage: StageName, before: PlaceName][] = [
  ['bill-station', 'STATION_PENDING'],
  ['income-diff', 'DIFF_PENDING'],
  ['account-shard', 'ACCOUNT_PENDING'],
  ['bill-snapshot', 'SNAPSHOT_PENDING'],
];

describe('actors: what is tried again by itself', () => {
  let stages: Stages;
  let store: Store;
  before(async () => {
    stages = await openStages({ lockWaitTimeoutS: 30 });
    store = stages.store;
  });
  after(async () => {
    expect(await checkPlaces(store)).to.deep.equal([]);
    await assertVerified(store);
    await stages.close();
  });

  interface World {
    readonly partnerOrgId: string;
    readonly mapping: MadeMapping;
  }
  async function makeWorld(mapping: Columns = {}): Promise<World> {
    const { partnerOrgId } = await makeStagedPartner(store);
    return { partnerOrgId, mapping: await makeMapping(store, partnerOrgId, mapping) };
  }
  const push = ({ partnerOrgId, mapping }: World): Promise<AcceptedPush> =>
    acceptPush(store, partnerOrgId, [{ mapping, bills: [bill('2026-01')] }]);
  /** The partner's latest task there. */
  async function taskOf({ partnerOrgId }: World, stage: StageName) {
    const { code } = await store.one<{ code: string }>(
      'SELECT task_code code FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id DESC LIMIT 1',
      [partnerOrgId, stage],
    );
    return { ...(await readTask(store, code)), taskCode: code };
  }
  /** What a turn does before its first claim: messages are made of what was handed over. */
  async function prepare({ partnerOrgId }: World, stage: StageName): Promise<void> {
    const claimed = await claim(stages, stage, partnerOrgId);
    await stages.handlerOf(stage).prepare?.(claimed.right);
    await unclaim(store, claimed);
  }
  /** As time would. */
  const makeDue = (world: World, stage: StageName) =>
    store.change(
      'UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE partner_org_id = ? AND stage = ?',
      [world.partnerOrgId, stage],
    );
  const goOn = async (world: World) => {
    for (const [stage] of CHAIN) await stages.turn(stage, world.partnerOrgId);
  };
  /** It does not go on by itself, whenever that would be; it does when a person says so. */
  async function waitsForAPerson(world: World, stage: StageName, code: string): Promise<void> {
    const task = await taskOf(world, stage);
    expect(task).to.include({ status: 3, errorCode: code, claimable: null, retryCount: task.maxRetryCount });
    await makeDue(world, stage);
    await stages.turn(stage, world.partnerOrgId);
    expect((await taskOf(world, stage)).runningAttempt, 'not tried again').to.equal(task.runningAttempt);
  }
  async function runByHand(world: World, stage: StageName): Promise<void> {
    await markManuallyDue(store, [(await taskOf(world, stage)).id]);
    await goOn(world);
  }

  for (const [stage, before] of CHAIN) {
    it(`DEC-18 infrastructure: a lost connection at ${stage} counts one try, and the work goes on when it is due again`, async () => {
      const world = await makeWorld();
      const made = await push(world);
      const earlier = CHAIN.slice(
        0,
        CHAIN.findIndex(([name]) => name === stage),
      );
      for (const [name] of earlier) await stages.turn(name, world.partnerOrgId);
      await whileTurnWaits(
        stages,
        world.mapping.platformStationId!,
        () => stages.turn(stage, world.partnerOrgId),
        killWaiting,
      );
      const failed = await taskOf(world, stage);
      expect(failed).to.include({ status: 3, errorCode: 'INFRASTRUCTURE', retryCount: 1, claimable: 1 });
      expect(await dueInMs(store, failed.taskCode)).to.be.within(0, 10_000);
      expect(await placesByRow(store, made.pushId)).to.deep.equal([before]);
      await makeDue(world, stage);
      await goOn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
    });
  }

  for (const stage of ['income-diff', 'account-shard'] as const) {
    it(`DEC-18 DIF-6 an unresolved payment flow at ${stage} is tried again, and goes on once it is decided`, async () => {
      const world = await makeWorld();
      const made = await push(world);
      const flow = (to: string | null) =>
        store.change('UPDATE partner SET payment_flow = ? WHERE partner_org_id = ?', [
          to,
          world.partnerOrgId,
        ]);
      await stages.turn('bill-station', world.partnerOrgId);
      if (stage === 'account-shard') await stages.turn('income-diff', world.partnerOrgId);
      await flow(null);
      await stages.turn(stage, world.partnerOrgId);
      const failed = await taskOf(world, stage);
      expect(failed).to.include({
        status: 3,
        errorCode: 'PAYMENT_FLOW_UNRESOLVED',
        retryCount: 1,
        claimable: 1,
      });
      await flow('ENABLED');
      await makeDue(world, stage);
      await goOn(world);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
    });
  }

  describe('PAYMENT_LOCKED', () => {
    async function lockedWorld() {
      const world = await makeWorld();
      const made = await push(world);
      const lockId = await makeBillLock(store, {
        platformStationId: world.mapping.platformStationId!,
        month: '2026-01',
      });
      await stages.turn('bill-station', world.partnerOrgId);
      return { world, made, lockId };
    }

    it('DEC-18 waits for a person', async () => {
      const { world, made, lockId } = await lockedWorld();
      await waitsForAPerson(world, 'bill-station', 'PAYMENT_LOCKED');
      await releaseBillLock(store, lockId);
      await waitsForAPerson(world, 'bill-station', 'PAYMENT_LOCKED');
      await runByHand(world, 'bill-station');
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
    });

    it('DEC-18 or for a new push, which does not make the old one go on', async () => {
      const { world, made, lockId } = await lockedWorld();
      await releaseBillLock(store, lockId);
      const again = await push(world);
      await goOn(world);
      expect(await placesByRow(store, again.pushId)).to.deep.equal(['NO_SNAPSHOT']);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['STATION_FAILED']);
    });
  });

  it('DEC-18 DEC-3 NO_PLATFORM_STATION waits for a person, who completes the mapping', async () => {
    const world = await makeWorld({ platform_station_id: null });
    const made = await push(world);
    await goOn(world);
    await waitsForAPerson(world, 'income-diff', 'NO_PLATFORM_STATION');
    expect(await placesByRow(store, made.pushId)).to.deep.equal(['DIFF_FAILED']);
    await store.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_org_id = ?', [
      await makePropStation(store),
      world.partnerOrgId,
    ]);
    await waitsForAPerson(world, 'income-diff', 'NO_PLATFORM_STATION');
    await runByHand(world, 'income-diff');
    expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
  });

  it('DEC-18 DIF-11 DUPLICATE_ACCOUNT waits for a person, who leaves one', async () => {
    const world = await makeWorld();
    const where = { partnerOrgId: world.partnerOrgId, platformStationId: world.mapping.platformStationId! };
    await makePlatformAccount(store, where);
    const second = await makePlatformAccount(store, where);
    const made = await push(world);
    await goOn(world);
    await waitsForAPerson(world, 'income-diff', 'DUPLICATE_ACCOUNT');
    await store.change('UPDATE fi_customer_account SET del_flag = 1 WHERE id = ?', [second]);
    await runByHand(world, 'income-diff');
    expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
  });

  for (const [index, [stage]] of CHAIN.entries()) {
    it(`DEC-18 ENG-11 CRASHED at ${stage} waits for a person`, async () => {
      const world = await makeWorld();
      const made = await push(world);
      for (const [name] of CHAIN.slice(0, index)) await stages.turn(name, world.partnerOrgId);
      await prepare(world, stage);
      for (let crash = 0; crash < 3; crash++) {
        const claimed = await claim(stages, stage, world.partnerOrgId);
        expect(claimed.tasks, 'taken once more').to.have.length(1);
        await endLease(store, claimed.right);
      }
      await stages.turn(stage, world.partnerOrgId);
      await waitsForAPerson(world, stage, 'CRASHED');
      expect((await placesByRow(store, made.pushId))[0]).to.match(/_FAILED$/);
      await runByHand(world, stage);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(['NO_SNAPSHOT']);
    });
  }
});
