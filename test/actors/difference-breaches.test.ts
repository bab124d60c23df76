/** What a message of the difference stage may not do, one by one: late ones, stations set aside together, what never splits. */
import { expect } from 'chai';
import type { AccountRefresh } from '../../src/domain/account-refresh.ts';
import type { DifferenceMessage } from '../../src/domain/difference-message.ts';
import { Failure } from '../../src/errors.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { type MadeMapping, makeMapping, makePlatformAccount } from '../support/factory.ts';
import { listLedgerFaults } from '../support/platform-bills.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import {
  acceptPush,
  bill,
  type Claimed,
  claim,
  makeStagedPartner,
  openStages,
  placesByRow,
  type Stages,
  unclaim,
} from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

const STAGE = 'income-diff';
const JANUARY = '2026-01';

describe('actors: difference, breaches', () => {
  let stages: Stages;
  let store: Store;
  let partnerOrgId: string;
  let stations: MadeMapping[];
  before(async () => {
    stages = await openStages();
    store = stages.store;
  });
  after(() => stages.close());
  beforeEach(() => makeStations(1));

  async function makeStations(count: number): Promise<void> {
    ({ partnerOrgId } = await makeStagedPartner(store));
    stations = [];
    for (let index = 0; index < count; index++) stations.push(await makeMapping(store, partnerOrgId));
  }

  const commit = async (bills: readonly object[]) => {
    const made = await acceptPush(
      store,
      partnerOrgId,
      stations.map((mapping) => ({ mapping, bills: bills as never })),
    );
    await stages.turn('bill-station', partnerOrgId);
    return made;
  };
  const turn = () => stages.turn(STAGE, partnerOrgId);
  const messages = () =>
    store.many<{ id: string; status: number; outcome: string | null; data: DifferenceMessage }>(
      `SELECT id, status, COALESCE(error_code, final_result) outcome, task_data data
         FROM fi_async_task WHERE partner_org_id = ? AND stage = ? ORDER BY id`,
      [partnerOrgId, STAGE],
    );
  const setData = (id: string, data: object) =>
    store.change('UPDATE fi_async_task SET task_data = ? WHERE id = ?', [JSON.stringify(data), id]);
  const ledger = () =>
    store.many<{ station: string; rent: string; version: number }>(
      `SELECT station_id station, partner_rent rent, financial_version version
         FROM fi_monthly_income_difference WHERE partner_org_id = ? ORDER BY station_id, share_month`,
      [partnerOrgId],
    );
  const monthsOfRefreshes = async () =>
    (
      await store.many<{ data: AccountRefresh }>(
        "SELECT task_data data FROM fi_async_task WHERE partner_org_id = ? AND stage = 'account-shard' ORDER BY id",
        [partnerOrgId],
      )
    ).map(({ data }) => data.currentMonth);
  /** Closes what is open into messages, and claims them. */
  async function claimMessages(): Promise<Claimed> {
    const closer = await claim(stages, STAGE, partnerOrgId);
    await stages.handlerOf(STAGE).prepare!(closer.right);
    await unclaim(store, closer);
    return claim(stages, STAGE, partnerOrgId);
  }

  describe('late messages', () => {
    it('DIF-5 an old message that comes after the newer push’s own puts nothing back and counts nothing', async () => {
      const old = await commit([bill(JANUARY, { rent: '1.00' })]);
      await unclaim(store, await claimMessages());
      const [first] = await messages();
      await store.change("UPDATE fi_async_task SET next_execute_time = '2099-01-01' WHERE id = ?", [
        first!.id,
      ]);
      const late = await commit([bill(JANUARY, { rent: '2.00' })]);
      await turn();
      const after = await ledger();
      expect(after).to.have.length(1);
      expect(after[0]).to.include({ rent: '2.00', version: 1 });
      expect(await placesByRow(store, late.pushId)).to.deep.equal(['ACCOUNT_PENDING']);
      await store.change('UPDATE fi_async_task SET next_execute_time = NOW(3) WHERE id = ?', [first!.id]);
      await turn();
      expect(await ledger()).to.deep.equal(after);
      expect(await placesByRow(store, old.pushId)).to.deep.equal(['SUPERSEDED']);
      expect(await placesByRow(store, late.pushId)).to.deep.equal(['ACCOUNT_PENDING']);
      expect(await monthsOfRefreshes(), 'no refresh of its own').to.have.length(1);
      await stages.turnsUpTo('bill-snapshot', partnerOrgId);
      expect(await listLedgerFaults(store, partnerOrgId)).to.deep.equal([]);
      await assertVerified(store);
    });
  });

  describe('the month of the event', () => {
    const JANUARY_MS = String(Date.UTC(2026, 0, 10));
    const MAY_MS = String(Date.UTC(2025, 4, 10));
    const table: [what: string, fields: object, month: string][] = [
      ['startTime before all else', { startTime: MAY_MS, recordTimestamp: JANUARY_MS }, '2025-05'],
      [
        'startTime that is none: taskMainId',
        { startTime: '', taskMainId: MAY_MS, recordTimestamp: JANUARY_MS },
        '2025-05',
      ],
      ['neither: the record timestamp', { startTime: '7', recordTimestamp: MAY_MS }, '2025-05'],
      ['in Shanghai', { startTime: String(Date.UTC(2025, 4, 31, 16)) }, '2025-06'],
    ];
    for (const [what, fields, month] of table)
      it(`DIF-3 ${what}`, async () => {
        await commit([bill(JANUARY)]);
        await unclaim(store, await claimMessages());
        const [message] = await messages();
        await setData(message!.id, { ...message!.data, ...fields });
        await turn();
        expect(await monthsOfRefreshes()).to.deep.equal([month]);
      });
  });

  describe('what is set aside', () => {
    const dropPlatformStation = (index: number) =>
      store.change(
        'UPDATE station_mapping SET platform_station_id = NULL WHERE partner_org_id = ? AND partner_station_no = ?',
        [partnerOrgId, stations[index]!.partnerStationNo],
      );
    async function doubleAccount(index: number): Promise<void> {
      const where = { partnerOrgId, platformStationId: stations[index]!.platformStationId! };
      await makePlatformAccount(store, where);
      await makePlatformAccount(store, where);
    }
    const reasons = async (pushId: string) =>
      (
        await store.many<{ reason: string | null }>(
          'SELECT reason FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
          [pushId],
        )
      ).map((row) => row.reason);

    it('DIF-16 a message for each reason, with its stations and hand-overs; the others go on', async () => {
      await makeStations(6);
      const made = await commit([bill(JANUARY)]);
      await dropPlatformStation(1);
      await dropPlatformStation(4);
      await doubleAccount(2);
      await turn();
      const none = 'NO_PLATFORM_STATION';
      expect(await reasons(made.pushId)).to.deep.equal([null, none, 'DUPLICATE_ACCOUNT', null, none, null]);
      expect(await placesByRow(store, made.pushId)).to.deep.equal(
        [0, 1, 1, 0, 1, 0].map((aside) => (aside === 1 ? 'DIFF_FAILED' : 'ACCOUNT_PENDING')),
      );
      const [parent, ...asides] = await messages();
      expect(parent!.outcome).to.equal('FULL_SUCCESS');
      const named = asides.map(({ outcome, data }) => [
        outcome,
        data.requestparams.stations.map((station) => station.partnerStationNo),
      ]);
      const no = (index: number) => stations[index]!.partnerStationNo;
      expect(named).to.deep.equal([
        [none, [no(1), no(4)]],
        ['DUPLICATE_ACCOUNT', [no(2)]],
      ]);
      const handed = await store.many<{ task: string; message: string }>(
        'SELECT station_task_id task, message_task_id message FROM income_diff_handover WHERE push_id = ? ORDER BY station_task_id',
        [made.pushId],
      );
      const messageOf = [parent, asides[0], asides[1], parent, asides[0], parent];
      expect(handed.map((row) => row.message)).to.deep.equal(messageOf.map((message) => message!.id));
      const runs = await store.many<{ runs: number }>(
        'SELECT running_attempt runs FROM fi_async_task WHERE id IN (?)',
        [asides.map((aside) => aside.id)],
      );
      expect(runs, 'they fail as they are made, without a run').to.deep.equal([{ runs: 0 }, { runs: 0 }]);
      expect(await ledger()).to.have.length(3);
      expect(await checkPlaces(store)).to.deep.equal([]);
    });

    it('DIF-16 nothing but stations that are set aside, for different reasons: each waits by its own', async () => {
      await makeStations(2);
      const made = await commit([bill(JANUARY)]);
      await dropPlatformStation(0);
      await doubleAccount(1);
      await turn();
      expect(await reasons(made.pushId)).to.deep.equal(['NO_PLATFORM_STATION', 'DUPLICATE_ACCOUNT']);
      expect((await messages()).map((message) => message.status)).to.deep.equal([2, 3, 3]);
      expect(await ledger()).to.deep.equal([]);
      expect(await checkPlaces(store)).to.deep.equal([]);
    });
  });

  describe('what splits', () => {
    const table: [
      what: string,
      options: ConstructorParameters<typeof Failure>[2],
      stations: number,
      ending: string,
    ][] = [
      ['what broke unexpectedly', {}, 3, 'SPLIT'],
      ['what broke in a station that stands alone', {}, 1, 'failed'],
      ['what would break again in each half', { retryable: false }, 3, 'failed'],
      ['a database that is away', { reach: 'platform' }, 3, 'failed'],
      ['terms of the partner that are not decided', { reach: 'partner' }, 3, 'failed'],
    ];
    for (const [what, options, count, expected] of table)
      it(`DIF-16 ${what}: ${expected}`, async () => {
        await makeStations(count);
        const made = await commit([bill(JANUARY)]);
        const claimed = await claimMessages();
        const [task] = claimed.tasks;
        const handler = stages.handlerOf(STAGE);
        const ending = await store.transaction(NEW_READ_COMMITTED, (tx) =>
          handler.onFailure!(tx, task!, new Failure('BROKEN', 'for the test', options)),
        );
        expect(ending.kind === 'succeeded' ? ending.finalResult : ending.kind).to.equal(expected);
        const [parent, ...parts] = await messages();
        const sizes = parts.map((part) => part.data.requestparams.stations.length);
        expect(sizes).to.deep.equal(expected === 'SPLIT' ? [2, 1] : []);
        const named = parts.flatMap((part) => part.data.requestparams.stations);
        if (expected === 'SPLIT') expect(named).to.deep.equal(parent!.data.requestparams.stations);
        await unclaim(store, claimed);
        await store.change('UPDATE fi_async_task SET status = ? WHERE id = ?', [
          expected === 'SPLIT' ? 2 : 0,
          task!.id,
        ]);
        await turn();
        expect(new Set(await placesByRow(store, made.pushId))).to.deep.equal(new Set(['ACCOUNT_PENDING']));
      });
  });

  it('DIF-8 a bill whose month is blank fails the message, and nothing of it is written', async () => {
    await makeStations(2);
    await commit([bill(JANUARY)]);
    const blank = (from: string, to: string) =>
      store.change(
        `UPDATE fi_customer_bill_partner b JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
            SET b.bill_year_month = ? WHERE a.partner_org_id = ? AND a.partner_station_no = ? AND b.bill_year_month = ?`,
        [to, partnerOrgId, stations[1]!.partnerStationNo, from],
      );
    await blank(JANUARY, '');
    await turn();
    expect((await messages()).map((message) => message.outcome).sort()).to.deep.equal([
      'DIFFERENCE_READ_BACK',
      'FULL_SUCCESS',
      'SPLIT',
    ]);
    expect((await ledger()).map((row) => row.station)).to.deep.equal([stations[0]!.platformStationId]);
    await blank('', JANUARY);
  });
});
