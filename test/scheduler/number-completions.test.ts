/** COV-4: how often a push was complete, when, and with what; on the real stages, read back over the partner API. */
import { expect } from 'chai';
import { FUNNEL_STAGES, type FunnelStage, Place, type PlaceName } from '../../src/domain/place.ts';
import {
  completePush,
  numberCompletions,
  type ToldCompletion,
} from '../../src/scheduler/number-completions.ts';
import type { SchedulerJob } from '../../src/scheduler/scheduler.ts';
import { openPushes } from '../../src/store/open-pushes.ts';
import { moveRows } from '../../src/store/places.ts';
import { NEW_READ_COMMITTED, type Store } from '../../src/store/transaction.ts';
import { runTasks } from '../../src/tasks/run-tasks.ts';
import { cancelTask, resumeTask, stopTask } from '../../src/tasks/steer-task.ts';
import { holdRows, signal, untilWaiting } from '../support/engine.ts';
import {
  insertNumberedRow,
  insertRows,
  type MadePartner,
  makeBillLock,
  makeMapping,
  makePropStation,
} from '../support/factory.ts';
import { type PartnerApi, startPartnerApi, stationOf } from '../support/partner-api.ts';
import {
  type AcceptedPush,
  acceptPush,
  bill,
  makeStagedPartner,
  openStages,
  type Stages,
} from '../support/stages.ts';

describe('scheduler: numbering completions', () => {
  let stages: Stages;
  let store: Store;
  let api: PartnerApi;
  let partner: MadePartner;
  let told: ToldCompletion[];
  let job: SchedulerJob;

  before(async () => {
    stages = await openStages();
    store = stages.store;
    api = await startPartnerApi(store);
  });
  after(async () => {
    await api.close();
    await stages.close();
  });
  beforeEach(async () => {
    await store.change('DELETE FROM open_push');
    partner = await makeStagedPartner(store);
    told = [];
    job = jobOf(told);
  });

  const jobOf = (heard: ToldCompletion[]) =>
    numberCompletions({ everyMs: 1_000, onCompleted: (completion) => heard.push(completion) });
  const look = () => job.runOnce(stages.engine);
  const reading = async (pushId: string) => (await api.as(partner).get(`/api/v1/pushes/${pushId}`)).body;
  const completions = async (pushId: string) => (await reading(pushId)).completions;
  const accept = async (months: readonly string[]): Promise<AcceptedPush> =>
    acceptPush(store, partner.partnerOrgId, [
      { mapping: await makeMapping(store, partner.partnerOrgId), bills: months.map((month) => bill(month)) },
    ]);
  /** Pushes without rows, complete from the start. @returns their ids */
  const acceptEmpty = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 0; at < count; at++)
      ids.push(
        await insertNumberedRow(store, 'partner_push', {
          partner_org_id: partner.partnerOrgId,
          idempotency_key: `empty-${at}`,
          trace_id: 't',
          code: 'SKIPPED',
          expires_at: '2099-01-01',
        }),
      );
    await openPushes(store, ids);
    return ids;
  };
  const work = () => stages.turnsUpTo('bill-snapshot', partner.partnerOrgId);
  const place = (pushId: string, rowNo: number, name: PlaceName, leftAt: FunnelStage | null = null) =>
    store.changeExactly(
      1,
      'placing a row',
      'UPDATE pushed_row_place SET place = ?, left_at = ? WHERE push_id = ? AND row_no = ?',
      [Place[name], leftAt === null ? null : FUNNEL_STAGES.indexOf(leftAt), pushId, rowNo],
    );

  it('COV-0 COV-4 a push that becomes complete gets completion 1, in rows and money, once', async () => {
    const { pushId } = await accept(['2026-01', '2026-02']);
    await look();
    await stages.turnsUpTo('account-shard', partner.partnerOrgId);
    await look();
    expect(await completions(pushId), 'under way').to.deep.equal([]);
    await work();
    expect((await reading(pushId)).state, 'the state is read from the places, numbered or not').to.equal(
      'COMPLETE',
    );
    await look();
    await look();
    const [only, ...more] = await completions(pushId);
    expect(more).to.deep.equal([]);
    const { at, ...rest } = only;
    expect(rest).to.deep.equal({
      number: 1,
      state: 'COMPLETE',
      rows: 2,
      amount: '240.00',
      exceptions: { rows: 0, amount: '0.00' },
    });
    const clock = await store.one<{ ago: string }>('SELECT TIMESTAMPDIFF(SECOND, ?, NOW(3)) ago', [
      at.replace('T', ' ').replace('Z', ''),
    ]);
    expect(Number(clock.ago)).to.be.within(0, 60);
    expect(told.map((one) => [one.pushId, one.number, one.state])).to.deep.equal([[pushId, 1, 'COMPLETE']]);
  });

  it('COV-4 an empty push is complete from the start', async () => {
    const { body } = await api.as(partner).push({ stations: [] });
    await look();
    expect(await completions(body.pushId)).to.have.length(1);
    expect(told[0]).to.include({ state: 'COMPLETE', rows: 0, amount: '0.00' });
  });

  it('COV-4 DEC-21 what was refused, or cancelled by a person, is counted as exceptions', async () => {
    const mapping = await makeMapping(store, partner.partnerOrgId);
    await makeBillLock(store, { platformStationId: mapping.platformStationId!, month: '2026-01' });
    const { body } = await api.as(partner).push({
      stations: [
        stationOf(mapping.partnerStationNo, ['2026-01', '2026-02']),
        stationOf('unknown', ['2026-03']),
        stationOf((await makeMapping(store, partner.partnerOrgId)).partnerStationNo, ['2026-04']),
      ],
    });
    const tasks = await store.many<{ taskCode: string; taskData: { firstRowNo: number } }>(
      'SELECT task_code taskCode, task_data taskData FROM fi_async_task WHERE push_id = ? ORDER BY id',
      [body.pushId],
    );
    await cancelTask(stages.engine, {
      taskCode: tasks[1]!.taskCode,
      actor: 'a person',
      reason: 'not wanted',
    });
    await work();
    await look();
    const [only] = await completions(body.pushId);
    expect(only).to.deep.include({
      number: 1,
      state: 'COMPLETE_WITH_EXCEPTIONS',
      rows: 4,
      amount: '400.00',
      exceptions: { rows: 3, amount: '300.00' },
    });
  });

  it('COV-4 STALE, SUPERSEDED, PAYMENT_DISABLED and NO_SNAPSHOT are named ends, not exceptions', async () => {
    const { pushId } = await accept(['2026-01', '2026-02', '2026-03', '2026-04', '2026-05']);
    await place(pushId, 1, 'STALE', 'committed');
    await place(pushId, 2, 'SUPERSEDED', 'refreshed');
    await place(pushId, 3, 'PAYMENT_DISABLED', 'paymentEnabled');
    await place(pushId, 4, 'NO_SNAPSHOT', 'snapshotCurrent');
    await look();
    expect(told, 'one row is still at its station').to.deep.equal([]);
    await place(pushId, 5, 'CURRENT');
    await look();
    expect(told.map(({ state, exceptions }) => [state, exceptions.rows])).to.deep.equal([['COMPLETE', 0]]);
  });

  it('COV-4 DEC-21 a retry reopens it, and completing again is completion 2', async () => {
    const mapping = await makeMapping(store, partner.partnerOrgId, { platform_station_id: null });
    const { pushId } = await acceptPush(store, partner.partnerOrgId, [{ mapping, bills: [bill('2026-01')] }]);
    await work();
    await look();
    expect((await completions(pushId)).map((one: { state: string }) => one.state)).to.deep.equal([
      'COMPLETE_WITH_EXCEPTIONS',
    ]);
    await store.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_station_no = ?', [
      await makePropStation(store),
      mapping.partnerStationNo,
    ]);
    const failed = await store.one<{ taskCode: string }>(
      "SELECT task_code taskCode FROM fi_async_task WHERE push_id = ? AND stage = 'income-diff' AND status = 3",
      [pushId],
    );
    await runTasks(
      stages.engine,
      { stage: 'income-diff', taskCodes: [failed.taskCode], businessKeys: null },
      0,
    );
    await look();
    expect([(await reading(pushId)).state, told.length], 'reopened').to.deep.equal(['IN_PROGRESS', 1]);
    await work();
    await look();
    await look();
    const both = await completions(pushId);
    expect(
      both.map((one: { number: number; state: string; exceptions: { rows: number } }) => [
        one.number,
        one.state,
        one.exceptions.rows,
      ]),
    ).to.deep.equal([
      [1, 'COMPLETE_WITH_EXCEPTIONS', 1],
      [2, 'COMPLETE', 0],
    ]);
  });

  it('COV-4 a snapshot task that failed and is asked for again reopens the earlier pushes that waited for it', async () => {
    const mapping = await makeMapping(store, partner.partnerOrgId);
    const pushOf = (month: string) =>
      acceptPush(store, partner.partnerOrgId, [{ mapping, bills: [bill(month)] }]);
    const first = await pushOf('2026-01');
    await stages.turnsUpTo('account-shard', partner.partnerOrgId);
    const snapshot = await store.one<{ id: string; taskCode: string }>(
      "SELECT id, task_code taskCode FROM fi_async_task WHERE stage = 'bill-snapshot' AND partner_org_id = ?",
      [partner.partnerOrgId],
    );
    await store.change(
      "UPDATE fi_async_task SET status = 3, retry_count = max_retry_count, error_code = 'X' WHERE id = ?",
      [snapshot.id],
    );
    await place(first.pushId, 1, 'SNAPSHOT_FAILED', 'snapshotCurrent');
    await look();
    expect(told.map((one) => one.state)).to.deep.equal(['COMPLETE_WITH_EXCEPTIONS']);
    await pushOf('2026-02');
    await stages.turnsUpTo('account-shard', partner.partnerOrgId);
    expect((await reading(first.pushId)).state).to.equal('IN_PROGRESS');
    await work();
    await look();
    expect((await completions(first.pushId)).map((one: { state: string }) => one.state)).to.deep.equal([
      'COMPLETE_WITH_EXCEPTIONS',
      'COMPLETE',
    ]);
  });

  it('COV-4 stopped work is under way', async () => {
    const { pushId, taskCodes } = await accept(['2026-01']);
    const command = { taskCode: taskCodes[0]!, actor: 'a person' };
    await stopTask(stages.engine, command);
    await work();
    await look();
    expect([(await reading(pushId)).state, await completions(pushId)]).to.deep.equal(['IN_PROGRESS', []]);
    await resumeTask(stages.engine, command);
    await work();
    await look();
    expect(await completions(pushId)).to.have.length(1);
  });

  it('COV-4 two schedulers number nothing twice', async () => {
    const pushIds = await acceptEmpty(6);
    const other = await stages.testStore.openAnother();
    const heard: ToldCompletion[] = [];
    for (const pushId of pushIds.slice(0, 3)) {
      const complete = (on: Store) => on.transaction(NEW_READ_COMMITTED, (tx) => completePush(tx, pushId));
      const both = await Promise.all([complete(store), complete(other)]);
      expect(both.filter((one) => one !== null)).to.have.length(1);
    }
    await Promise.all([look(), jobOf(heard).runOnce({ ...stages.engine, store: other })]);
    expect([...told, ...heard].map((one) => one.number)).to.deep.equal([1, 1, 1]);
    const rows = await store.many<{ pushId: string; n: number }>(
      'SELECT push_id pushId, MAX(completion_no) n FROM push_completion WHERE push_id IN (?) GROUP BY push_id',
      [pushIds],
    );
    expect(rows.map((row) => row.n)).to.deep.equal(pushIds.map(() => 1));
  });

  it('COV-4 a scheduler that dies in between has numbered and told nothing; the next one does', async () => {
    const [pushId] = (await acceptEmpty(1)) as [string];
    const dying = store.transaction(NEW_READ_COMMITTED, async (tx) => {
      expect(await completePush(tx, pushId)).to.include({ number: 1 });
      throw new Error('killed');
    });
    expect(await dying.catch((error: Error) => error.message)).to.equal('killed');
    expect(await completions(pushId)).to.deep.equal([]);
    await look();
    expect(told.map((one) => one.number)).to.deep.equal([1]);
  });

  it('COV-4 a success is told after its commit: one that is lost is not told', async () => {
    const [pushId] = (await acceptEmpty(1)) as [string];
    const losing = await stages.testStore.openAnother();
    const commit = losing.transaction.bind(losing);
    losing.transaction = (options, work) =>
      commit(options, async (tx) => {
        await work(tx);
        throw new Error('the commit was lost');
      });
    const lost = await job
      .runOnce({ ...stages.engine, store: losing })
      .catch((error: Error) => error.message);
    expect([lost, told]).to.deep.equal(['the commit was lost', []]);
    await look();
    expect(told.map((one) => one.pushId)).to.deep.equal([pushId]);
  });

  it('COV-4 a station that failed and is run again reopens its push', async () => {
    const { pushId, taskCodes } = await accept(['2026-01']);
    await store.change(
      'UPDATE fi_async_task SET status = 3, retry_count = max_retry_count WHERE push_id = ?',
      [pushId],
    );
    await place(pushId, 1, 'STATION_FAILED', 'committed');
    await look();
    await runTasks(stages.engine, { stage: 'bill-station', taskCodes, businessKeys: null }, 0);
    await work();
    await look();
    expect((await completions(pushId)).map((one: { state: string }) => one.state)).to.deep.equal([
      'COMPLETE_WITH_EXCEPTIONS',
      'COMPLETE',
    ]);
  });

  it('COV-4 a retry that comes while a push is judged opens it anew behind the judgement', async () => {
    const { pushId } = await accept(['2026-01']);
    await place(pushId, 1, 'DIFF_FAILED', 'inDifference');
    const other = await stages.testStore.openAnother();
    const judged = signal();
    const go = signal();
    const judging = store.transaction(NEW_READ_COMMITTED, async (tx) => {
      const completed = await completePush(tx, pushId);
      judged.give();
      await go.given;
      return completed;
    });
    await judged.given;
    const move = { from: ['DIFF_FAILED'], to: 'DIFF_PENDING', leftAt: null, reason: null } as const;
    const retry = other.transaction(NEW_READ_COMMITTED, (tx) => moveRows(tx, pushId, [1], move));
    await untilWaiting(store);
    go.give();
    expect(await judging).to.include({ number: 1, state: 'COMPLETE_WITH_EXCEPTIONS' });
    await retry;
    await look();
    expect(await completions(pushId), 'under way again').to.have.length(1);
    await place(pushId, 1, 'CURRENT');
    await look();
    expect(told.map((one) => [one.number, one.state])).to.deep.equal([[2, 'COMPLETE']]);
  });

  it('COV-4 a push that another is just reopening is passed over', async () => {
    const [pushId] = (await acceptEmpty(1)) as [string];
    const held = await holdRows(store, 'SELECT push_id FROM open_push WHERE push_id = ? FOR UPDATE', [
      pushId,
    ]);
    const other = await stages.testStore.openAnother();
    await job.runOnce({ ...stages.engine, store: other });
    expect(told).to.deep.equal([]);
    await held.release();
    await look();
    expect(told).to.have.length(1);
  });

  it('COV-4 a push that waits costs one look by key, however large it is and however many are done', async () => {
    const { pushId } = await accept(['2026-01', '2026-02', '2026-03']);
    await acceptEmpty(5);
    await place(pushId, 1, 'CURRENT');
    await look();
    const other = await stages.testStore.openAnother();
    const statements: string[] = [];
    for (const name of ['many', 'maybeOne', 'change'] as const) {
      const run = other[name].bind(other) as (...args: unknown[]) => Promise<never>;
      other[name] = (...args: unknown[]) => {
        if (name !== 'maybeOne') statements.push(String(args[0]));
        return run(...args);
      };
    }
    await job.runOnce({ ...stages.engine, store: other });
    expect(statements).to.have.length(1);
    const remembered = await store.many('SELECT push_id pushId, waits_for_row row_no FROM open_push');
    expect(remembered).to.deep.equal([{ pushId, row_no: 2 }]);
    await place(pushId, 3, 'CURRENT');
    await place(pushId, 2, 'CURRENT');
    await place(pushId, 1, 'STATION_PENDING');
    await look();
    expect(
      told.some((one) => one.pushId === pushId),
      'a row before the remembered one waits',
    ).to.equal(false);
    await place(pushId, 1, 'CURRENT');
    await look();
    expect(told.filter((one) => one.pushId === pushId)).to.have.length(1);
  });

  it('COV-4 more open pushes than one run reads are all numbered by the next runs', async () => {
    const pushIds = await acceptEmpty(120);
    await look();
    expect(told).to.have.length(50);
    for (let runs = 0; runs < 2; runs++) await look();
    expect(told.map((one) => one.pushId)).to.deep.equal(pushIds);
  });

  it('COV-4 pushes that move at every look keep no other from its turn', async () => {
    const pushIds = await acceptEmpty(51);
    const rows = pushIds
      .slice(0, 50)
      .map((pushId) => ({ push_id: pushId, row_no: 1, place: Place.DIFF_PENDING }));
    await insertRows(store, 'pushed_row_place', rows);
    await look();
    await store.change('UPDATE open_push SET waits_for_row = 0');
    await look();
    expect(told.map((one) => one.pushId)).to.deep.equal(pushIds.slice(50));
  });
});
