/** RET-1: what goes, what stays and why; on the real stages, with the rules of inspection looking at what is left. */
import { expect } from 'chai';
import { FUNNEL_STAGES, type FunnelStage, Place, type PlaceName } from '../../src/domain/place.ts';
import { RETENTION_JOB } from '../../src/domain/retention.ts';
import { numberCompletions } from '../../src/scheduler/number-completions.ts';
import {
  type RetentionOptions,
  type RetentionRun,
  removeOldRows,
  runRetention,
} from '../../src/scheduler/remove-old-rows.ts';
import { lockJobPaused, setJobPaused } from '../../src/store/job-control.ts';
import type { Store } from '../../src/store/transaction.ts';
import type { Engine } from '../../src/tasks/engine.ts';
import { runTasks } from '../../src/tasks/run-tasks.ts';
import { cancelTask } from '../../src/tasks/steer-task.ts';
import { type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/engine.ts';
import {
  insertNumberedRow,
  insertRow,
  type MadeMapping,
  type MadePartner,
  makeMapping,
  makePropStation,
} from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';
import { checkPlaces } from '../support/recompute-places.ts';
import { makeStagedPartner, openStages, type Stages } from '../support/stages.ts';
import { assertVerified } from '../support/verify.ts';

const OPTIONS: RetentionOptions = {
  everyMs: 1_000,
  leaseMs: 30_000,
  graceDays: 30,
  auditDays: 365,
  pieceRows: 100,
  pauseMs: 0,
};
const MONTHS = ['2026-01', '2026-02', '2026-03'];

describe('scheduler: removing old rows', () => {
  let stages: Stages;
  let store: Store;
  let api: PartnerApi;
  let plane: ControlPlane;
  let partner: MadePartner;
  let client: PartnerClient;

  before(async () => {
    stages = await openStages();
    store = stages.store;
    api = await startPartnerApi(store);
    plane = await startControlPlane({ engine: stages.engine });
  });
  after(async () => {
    await api.close();
    await plane.close();
    await stages.close();
  });
  beforeEach(async () => {
    await store.change('UPDATE partner_push SET rows_removed_at = NOW(3) WHERE rows_removed_at IS NULL');
    stages.observed.events.length = 0;
    partner = await makeStagedPartner(store);
    client = api.as(partner);
  });
  afterEach(async () => {
    await store.change('DELETE FROM job_control');
    await store.change('DELETE FROM scheduler_leader');
  });
  /** RET-1: what is left is as the rules of inspection say, and every row that is left is where it must be. */
  const verify = async () => {
    expect(await checkPlaces(store)).to.deep.equal([]);
    await assertVerified(store);
  };

  const run = (options: Partial<RetentionOptions> = {}): Promise<RetentionRun> =>
    runRetention(stages.engine, { ...OPTIONS, ...options });
  const keptFor = async () => [...(await run()).kept];
  const number = () => numberCompletions({ everyMs: 1_000, onCompleted: () => {} }).runOnce(stages.engine);
  const work = () => stages.turnsUpTo('bill-snapshot', partner.partnerOrgId);

  async function pushOf(mapping: MadeMapping, months = MONTHS, identity = 'one'): Promise<string> {
    const stations = [stationOf(mapping.partnerStationNo, months)];
    return (await client.push({ stations }, { identity })).body.pushId;
  }
  /** As long ago as this, seen from its expiry. */
  const age = async (pushId: string, days: number) => {
    for (const table of ['partner_push', 'push_identity'])
      await store.change(`UPDATE ${table} SET expires_at = NOW(3) - INTERVAL ? SECOND WHERE push_id = ?`, [
        Math.round(days * 86_400),
        pushId,
      ]);
  };
  /** A push that went the whole way, with its identity expired 31 days ago. */
  async function oldPush(mapping?: MadeMapping, months = MONTHS): Promise<string> {
    const pushId = await pushOf(mapping ?? (await makeMapping(store, partner.partnerOrgId)), months);
    await work();
    await number();
    await age(pushId, 31);
    return pushId;
  }
  const rowsOf = async (pushId: string) => {
    const tables: Record<string, string> = {
      pushed_row: 'push_id = ?',
      pushed_row_place: 'push_id = ?',
      fi_async_task: 'push_id = ?',
      income_diff_handover: 'push_id = ?',
      push_identity: 'push_id = ?',
    };
    const counts: Record<string, number> = {};
    for (const [table, where] of Object.entries(tables))
      counts[table] = Number(
        (await store.one<{ n: string }>(`SELECT COUNT(*) n FROM ${table} WHERE ${where}`, [pushId])).n,
      );
    return counts;
  };
  const isWhole = async (pushId: string) => (await rowsOf(pushId)).pushed_row !== 0;
  const coverage = async (pushId: string) => (await client.get(`/api/v1/pushes/${pushId}`)).body;
  const place = (pushId: string, rowNo: number, name: PlaceName, leftAt: FunnelStage | null) =>
    store.changeExactly(
      1,
      'placing a row',
      'UPDATE pushed_row_place SET place = ?, left_at = ? WHERE push_id = ? AND row_no = ?',
      [Place[name], leftAt === null ? null : FUNNEL_STAGES.indexOf(leftAt), pushId, rowNo],
    );

  describe('what goes', () => {
    after(verify);

    it('RET-1 rows, places, tasks, outcomes, hand-overs and identity of a push whose identity expired long ago; bills and ledger stay', async () => {
      const pushId = await oldPush();
      const bills = await store.many('SELECT * FROM fi_customer_bill_partner WHERE push_id = ?', [pushId]);
      const tasks = await store.many<{ id: string }>('SELECT id FROM fi_async_task WHERE push_id = ?', [
        pushId,
      ]);
      const outcomes = () =>
        store.many('SELECT id FROM account_refresh_outcome WHERE task_id IN (?)', [
          tasks.map((task) => task.id),
        ]);
      expect([bills.length, (await outcomes()).length]).to.deep.equal([3, 1]);
      expect(await run()).to.deep.include({ end: 'DONE', kept: new Map() });
      expect(await rowsOf(pushId)).to.deep.equal({
        pushed_row: 0,
        pushed_row_place: 0,
        fi_async_task: 0,
        income_diff_handover: 0,
        push_identity: 0,
      });
      expect(await outcomes()).to.deep.equal([]);
      expect(
        await store.many('SELECT * FROM fi_customer_bill_partner WHERE push_id = ?', [pushId]),
      ).to.deep.equal(bills);
      expect(await store.many('SELECT id FROM fi_monthly_income_difference')).to.have.length.greaterThan(0);
    });

    it('RET-1 the snapshot task of the station stays: rows and snapshots quote its generations', async () => {
      await oldPush();
      await run();
      const stays = await store.many('SELECT stage FROM fi_async_task WHERE partner_org_id = ?', [
        partner.partnerOrgId,
      ]);
      expect(stays).to.deep.equal([{ stage: 'bill-snapshot' }]);
    });

    it('RET-1 COV-0 what the push had come to is told as before, and that its rows are gone', async () => {
      const pushId = await oldPush();
      await place(pushId, 1, 'SUPERSEDED', 'refreshed');
      await place(pushId, 2, 'NO_SNAPSHOT', 'snapshotCurrent');
      const { asOf: _before, retiredAt, ...before } = await coverage(pushId);
      expect(retiredAt).to.equal(null);
      await store.change(
        'UPDATE pushed_row_place SET superseded_by_push_id = 1 WHERE push_id = ? AND row_no = 1',
        [pushId],
      );
      await run();
      const { asOf, retiredAt: at, ...after } = await coverage(pushId);
      expect(after).to.deep.equal(before);
      expect(at >= asOf).to.equal(true);
      const rows = await client.get(`/api/v1/pushes/${pushId}/bills`);
      expect([rows.status, rows.body.code]).to.deep.equal([410, 'PUSH_RETIRED']);
      expect(
        (await client.get('/api/v1/pushes')).body.items.map((one: { pushId: string }) => one.pushId),
      ).to.include(pushId);
    });

    it('RET-1 STA-11 a repeated push after its removal is a new one, and a later push still wins', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId);
      const pushId = await oldPush(mapping);
      await run();
      const again = await pushOf(mapping);
      expect(again).to.not.equal(pushId);
      await work();
      expect(
        (await coverage(again)).places.find((one: { place: string }) => one.place === 'NO_SNAPSHOT').rows,
      ).to.equal(3);
    });

    it('RET-1 COV-3 who was replaced by a removed push still names it, and it can be asked for', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId);
      const first = await pushOf(mapping, MONTHS, 'first');
      await work();
      const second = await oldPush(mapping);
      await run();
      const { body } = await client.get(`/api/v1/pushes/${first}/bills`);
      expect(body.items.map((row: { replacedByPushId: string }) => row.replacedByPushId)).to.deep.equal([
        second,
        second,
        second,
      ]);
      expect((await coverage(second)).retiredAt).to.not.equal(null);
    });
  });

  describe('what stays', () => {
    after(verify);

    it('RET-1 ING-2 a push to the last second of its identity and its days of grace; then it goes', async () => {
      const pushId = await oldPush();
      for (const days of [-1 / 86_400, 0, 29.99]) {
        await age(pushId, days);
        await run();
        expect(await isWhole(pushId), `${days} days after its identity expired`).to.equal(true);
      }
      await age(pushId, 30.01);
      await run();
      expect(await isWhole(pushId)).to.equal(false);
    });

    it('RET-1 ING-2 a repeat a second before the identity expires gives the first answer; after it, a new push in its place', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId);
      const pushId = await oldPush(mapping);
      await age(pushId, -2 / 86_400);
      await run({ graceDays: 0 });
      const body = { stations: [stationOf(mapping.partnerStationNo, MONTHS)] };
      const repeat = await client.push(body, { identity: 'one' });
      expect([repeat.body.code, repeat.body.pushId, repeat.body.receipts.length]).to.deep.equal([
        'IDEMPOTENCY',
        pushId,
        3,
      ]);
      await age(pushId, 31);
      const fresh = await client.push(body, { identity: 'one' });
      expect(fresh.body.code).to.equal('ACCEPTED');
      await run();
      expect([await isWhole(pushId), await isWhole(fresh.body.pushId)]).to.deep.equal([false, true]);
      expect((await client.push(body, { identity: 'one' })).body).to.include({
        code: 'IDEMPOTENCY',
        pushId: fresh.body.pushId,
      });
      await work();
    });

    it('RET-1 a push whose identity is still live, whatever its own row says', async () => {
      const pushId = await oldPush();
      await store.change(
        'UPDATE push_identity SET expires_at = NOW(3) + INTERVAL 1 SECOND WHERE push_id = ?',
        [pushId],
      );
      expect(await keptFor()).to.deep.equal([['IDENTITY_LIVE', 1]]);
      expect(await isWhole(pushId)).to.equal(true);
    });

    it('RET-1 COV-4 a push whose completion is not numbered', async () => {
      const pushId = await pushOf(await makeMapping(store, partner.partnerOrgId));
      await work();
      await age(pushId, 31);
      expect(await keptFor()).to.deep.equal([['OPEN', 1]]);
      await number();
      expect(await keptFor()).to.deep.equal([]);
    });

    it('RET-1 a push with work that waits, was stopped, or failed and may be run again by a person', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId, { platform_station_id: null });
      const pushId = await oldPush(mapping, ['2026-01']);
      expect(await keptFor(), 'NO_PLATFORM_STATION waits for a person').to.deep.equal([
        ['TASK_UNFINISHED', 1],
      ]);
      expect(await isWhole(pushId)).to.equal(true);
      await store.change('UPDATE station_mapping SET platform_station_id = ? WHERE partner_station_no = ?', [
        await makePropStation(store),
        mapping.partnerStationNo,
      ]);
      const aside = await store.one<{ taskCode: string }>(
        'SELECT task_code taskCode FROM fi_async_task WHERE push_id = ? AND status = 3',
        [pushId],
      );
      const wish = { stage: 'income-diff', taskCodes: [aside.taskCode], businessKeys: null } as const;
      await runTasks(stages.engine, wish, 0);
      expect(await keptFor(), 'under way again').to.deep.equal([['OPEN', 1]]);
      await work();
      await number();
      expect([await keptFor(), await isWhole(pushId)]).to.deep.equal([[], false]);
    });

    it('RET-1 ENG-14 a push with a task that waits, was stopped, runs or failed, though its rows have ended', async () => {
      const pushId = await oldPush();
      const one = `id = (SELECT id FROM (SELECT MIN(id) id FROM fi_async_task WHERE push_id = ${pushId}) one)`;
      for (const change of [
        'status = 0, activation = 0',
        'status = 1',
        'status = 3, retry_count = max_retry_count',
      ]) {
        await store.change(`UPDATE fi_async_task SET ${change} WHERE ${one}`);
        expect(await keptFor(), change).to.deep.equal([['TASK_UNFINISHED', 1]]);
      }
      await store.change(`UPDATE fi_async_task SET status = 2, activation = 1 WHERE ${one}`);
    });

    it('RET-1 STA-16 a push with a committed station that is in no message yet', async () => {
      const pushId = await oldPush();
      await insertRow(store, 'income_diff_handover', {
        station_task_id: '999999',
        partner_org_id: partner.partnerOrgId,
        push_id: pushId,
        partner_station_no: 'S',
        first_row_no: 9,
        last_row_no: 9,
        bill_count: 1,
      });
      expect(await keptFor()).to.deep.equal([['HANDOVER_OPEN', 1]]);
      await store.change('DELETE FROM income_diff_handover WHERE station_task_id = 999999');
      expect(await keptFor()).to.deep.equal([]);
    });

    it('RET-1 SNP-2 a push with rows that wait for a snapshot, or failed with it: that task belongs to no push', async () => {
      const pushId = await oldPush();
      const [task] = await store.many<{ id: string }>(
        "SELECT id FROM fi_async_task WHERE stage = 'bill-snapshot' AND partner_org_id = ?",
        [partner.partnerOrgId],
      );
      await store.change('UPDATE fi_async_task SET status = 3, retry_count = max_retry_count WHERE id = ?', [
        task!.id,
      ]);
      await store.change(
        'UPDATE pushed_row_place SET place = ?, left_at = 7, snapshot_task_id = ? WHERE push_id = ? AND row_no = 2',
        [Place.SNAPSHOT_FAILED, task!.id, pushId],
      );
      expect(await keptFor()).to.deep.equal([['ROW_MAY_GO_ON', 1]]);
      await store.change('UPDATE fi_async_task SET status = 0, retry_count = 0 WHERE id = ?', [task!.id]);
      await store.change(
        'UPDATE pushed_row_place SET place = ?, left_at = NULL WHERE push_id = ? AND row_no = 2',
        [Place.SNAPSHOT_PENDING, pushId],
      );
      expect(await keptFor()).to.deep.equal([['ROW_MAY_GO_ON', 1]]);
      await work();
      expect(await keptFor()).to.deep.equal([]);
    });

    it('RET-1 COV-5 a cancelled row is the only word on what its station sent, until a later push has written the month', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId);
      const pushId = await pushOf(mapping, ['2026-01']);
      const [task] = await store.many<{ taskCode: string }>(
        'SELECT task_code taskCode FROM fi_async_task WHERE push_id = ?',
        [pushId],
      );
      await cancelTask(stages.engine, { taskCode: task!.taskCode, actor: 'a person', reason: 'not wanted' });
      await number();
      await age(pushId, 31);
      const missing = async () =>
        (await client.get('/api/v1/completeness?month=2026-01')).body.missing.stations;
      expect([await keptFor(), await missing()]).to.deep.equal([[['ROW_EXPLAINS', 1]], 0]);
      await pushOf(mapping, ['2026-01'], 'later');
      await work();
      expect([await keptFor(), await missing(), await isWhole(pushId)]).to.deep.equal([[], 0, false]);
    });

    it('RET-1 INV-1 a committed row that was cancelled says why its bill is not in the ledger', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId, { platform_station_id: null });
      const pushId = await oldPush(mapping, ['2026-01']);
      const aside = await store.one<{ taskCode: string }>(
        'SELECT task_code taskCode FROM fi_async_task WHERE push_id = ? AND status = 3',
        [pushId],
      );
      await cancelTask(stages.engine, { taskCode: aside.taskCode, actor: 'a person', reason: 'sold' });
      expect(await keptFor()).to.deep.equal([['ROW_EXPLAINS', 1]]);
      await assertVerified(store);
      const later = await pushOf(mapping, ['2026-01'], 'later');
      await work();
      expect([await keptFor(), await isWhole(pushId), await isWhole(later)]).to.deep.equal([[], false, true]);
    });

    it('RET-1 INV-1 a skipped row says why its account was not refreshed, until the bill is pushed again', async () => {
      const mapping = await makeMapping(store, partner.partnerOrgId);
      const pushId = await oldPush(mapping, ['2026-01']);
      await place(pushId, 1, 'SKIPPED', 'refreshed');
      await store.change(
        "UPDATE account_refresh_outcome o JOIN fi_async_task t ON t.id = o.task_id SET o.outcome = 'SKIPPED' WHERE t.push_id = ?",
        [pushId],
      );
      expect(await keptFor()).to.deep.equal([['ROW_EXPLAINS', 1]]);
      await pushOf(mapping, ['2026-01'], 'later');
      await work();
      expect(await keptFor()).to.deep.equal([]);
    });
  });

  describe('in small pieces', () => {
    after(verify);

    const removals = () => stages.observed.of('removed').map(([rows]) => rows as Record<string, number>);

    it('RET-1 no piece removes more rows of a table than it may', async () => {
      const pushId = await oldPush(undefined, ['2025-10', '2025-11', '2025-12', '2026-01', '2026-02']);
      await run({ pieceRows: 2 });
      expect(Math.max(...removals().flatMap((rows) => Object.values(rows)))).to.equal(2);
      expect(
        removals()
          .filter((rows) => rows.pushed_row !== undefined)
          .map((rows) => [rows.pushed_row, rows.pushed_row_place]),
      ).to.deep.equal([
        [2, 2],
        [2, 2],
        [1, 1],
      ]);
      expect(await isWhole(pushId)).to.equal(false);
    });

    /** The engine of another process: `before` is told the number of each piece, `after` too, within its transaction. */
    async function processThat(steps: {
      before?: (piece: number) => Promise<unknown>;
      after?: (piece: number) => void;
    }): Promise<Engine> {
      const own = await stages.testStore.openAnother();
      const begin = own.transaction.bind(own);
      let piece = 0;
      own.transaction = async (options, work) => {
        piece += 1;
        await steps.before?.(piece);
        return begin(options, async (tx) => {
          const result = await work(tx);
          steps.after?.(piece);
          return result;
        });
      };
      return { ...stages.engine, store: own, worker: 'worker-b' };
    }

    it('RET-1 a pause takes effect between two pieces, and inspection finds nothing wrong meanwhile', async () => {
      const pushId = await oldPush(undefined, ['2025-10', '2025-11', '2025-12', '2026-01']);
      const before = await coverage(pushId);
      // Retired, one row removed, held.
      const engine = await processThat({
        before: async (piece) => piece === 3 && (await plane.ask('POST', '/retention/pause')),
      });
      expect((await runRetention(engine, { ...OPTIONS, pieceRows: 1 })).end).to.equal('PAUSED');
      expect(await rowsOf(pushId)).to.include({ pushed_row: 3, pushed_row_place: 3 });
      await assertVerified(store);
      expect(await coverage(pushId)).to.deep.include({ state: before.state, places: before.places });
      expect((await client.get(`/api/v1/pushes/${pushId}/bills`)).status).to.equal(410);
      expect((await run()).end, 'held').to.equal('PAUSED');
      expect((await plane.ask('GET', '/retention')).body).to.deep.include({
        paused: true,
        updatedBy: 'admin-token',
        runningAt: null,
      });
      await plane.ask('POST', '/retention/resume');
      expect((await run()).end).to.equal('DONE');
      expect(await isWhole(pushId)).to.equal(false);
      const audit = (await listAudit(store)).filter(({ target }) => target === RETENTION_JOB);
      expect(
        audit.map(({ action, before: was, after: is }) => [action, was.paused, is.paused]),
      ).to.deep.equal([
        ['RETENTION_PAUSE', false, true],
        ['RETENTION_RESUME', true, false],
      ]);
    });

    it('RET-1 a process that is told to stop begins no further piece', async () => {
      const pushId = await oldPush();
      const stopping = new AbortController();
      const { engine } = stages;
      const removed = (rows: Readonly<Record<string, number>>) => {
        if (rows.pushed_row !== undefined) stopping.abort();
      };
      const observer = { ...engine.observer, removed };
      const { end } = await runRetention(
        { ...engine, observer, stopping: stopping.signal },
        { ...OPTIONS, pieceRows: 1 },
      );
      expect([end, (await rowsOf(pushId)).pushed_row]).to.deep.equal(['STOPPING', 2]);
      await run();
      expect(await isWhole(pushId)).to.equal(false);
    });

    it('RET-1 a process that dies in any of the pieces leaves nothing half done, and the next one goes on', async () => {
      const pushId = await oldPush(undefined, ['2026-01', '2026-02']);
      const { state, places, stationOutcome } = await coverage(pushId);
      let deaths = 0;
      for (let end = 'killed'; end === 'killed'; ) {
        const doomed = ++deaths;
        const after = (piece: number) => {
          if (piece === doomed) throw new Error('killed');
        };
        const dying = runRetention(await processThat({ after }), { ...OPTIONS, pieceRows: 1 });
        end = await dying.then(
          (ran) => ran.end,
          (error: Error) => error.message,
        );
        expect(await coverage(pushId)).to.deep.include({ state, places, stationOutcome });
        await assertVerified(store);
      }
      expect(deaths).to.be.greaterThan(5);
      expect(await rowsOf(pushId)).to.include({ pushed_row: 0, fi_async_task: 0, income_diff_handover: 0 });
    });

    it('RET-1 ENG-7 one that leads keeps others out; one that was overtaken writes nothing more', async () => {
      const pushId = await oldPush();
      const lead = { name: RETENTION_JOB, holder: 'other', fence: '3', lease_end: '2099-01-01' };
      await insertRow(store, 'scheduler_leader', lead);
      expect((await run()).end).to.equal('LED_BY_ANOTHER');
      expect(await isWhole(pushId)).to.equal(true);
      for (const lost of ["holder = 'other'", 'lease_end = SYSDATE(3)']) {
        await store.change('DELETE FROM scheduler_leader');
        const left = (await rowsOf(pushId)).pushed_row!;
        const engine = await processThat({
          before: async (piece) => piece === 3 && store.change(`UPDATE scheduler_leader SET ${lost}`),
        });
        const { end } = await runRetention(engine, { ...OPTIONS, pieceRows: 1 });
        expect(end, lost).to.equal('LED_BY_ANOTHER');
        expect((await rowsOf(pushId)).pushed_row).to.be.within(left - 2, left - 1);
      }
    });

    it('RET-1 two that begin at once remove everything once', async () => {
      const pushIds = [];
      for (const month of MONTHS) pushIds.push(await oldPush(undefined, [month]));
      const other = await stages.testStore.openAnother();
      const ends = await Promise.all([
        run({ pieceRows: 1 }),
        runRetention({ ...stages.engine, store: other, worker: 'b' }, { ...OPTIONS, pieceRows: 1 }),
      ]);
      expect(ends.map(({ end }) => end)).to.include('DONE');
      expect(removals().reduce((sum, rows) => sum + (rows.pushed_row ?? 0), 0)).to.equal(3);
      for (const pushId of pushIds) expect(await isWhole(pushId)).to.equal(false);
    });

    it('RET-1 as a job of the scheduler it runs beside the scan, one run at a time, and can be waited for', async () => {
      const pushId = await oldPush();
      const job = removeOldRows(OPTIONS);
      await job.runOnce(stages.engine);
      await job.runOnce(stages.engine);
      await job.settled();
      expect(await isWhole(pushId)).to.equal(false);
      expect(stages.observed.of('retentionRan')).to.have.length(1);
      await job.runOnce(stages.engine);
      await job.settled();
      await eventually('it ran again', () => stages.observed.of('retentionRan').length === 2);
    });
  });

  describe('by age alone', () => {
    const ago = (days: number) =>
      store.one<{ at: string }>('SELECT NOW(3) - INTERVAL ? DAY at', [days]).then((row) => row.at);

    it('RET-1 the operation audit goes after its days, the oldest first, and no younger one with it', async () => {
      await store.change('DELETE FROM operation_audit');
      for (const days of [400, 366, 364, 0])
        await insertRow(store, 'operation_audit', {
          actor: 'a',
          action: 'A',
          target: `${days}`,
          create_time: await ago(days),
        });
      await run({ pieceRows: 1 });
      const left = await store.many<{ target: string }>('SELECT target FROM operation_audit ORDER BY id');
      expect(left.map((row) => row.target)).to.deep.equal(['364', '0']);
    });

    it('RET-1 the accounts’ log likewise; the account keeps its number', async () => {
      const pushId = await oldPush();
      await store.change('UPDATE fi_customer_account_partner_log SET create_time = ? WHERE push_id = ?', [
        await ago(366),
        pushId,
      ]);
      await run();
      expect(
        await store.many('SELECT id FROM fi_customer_account_partner_log WHERE push_id = ?', [pushId]),
      ).to.deep.equal([]);
      expect(
        await store.many('SELECT id FROM fi_customer_account_partner WHERE push_id = ?', [pushId]),
      ).to.have.length(1);
    });

    it('RET-1 refreshes of verification and payment go with their outcomes; what has not ended, and other stages’ tasks, stay', async () => {
      const make = async (code: string, columns: Record<string, string | number>) => {
        const id = await insertNumberedRow(store, 'fi_async_task', {
          task_type: 'T',
          task_code: code,
          business_key: code,
          task_data: '{"differenceFactIds":[]}',
          max_retry_count: 8,
          partner_org_id: partner.partnerOrgId,
          stage: 'account-shard',
          next_execute_time: await ago(400),
          status: 2,
          finished_time: await ago(400),
          ...columns,
        });
        for (const station of ['1', '2'])
          await insertRow(store, 'account_refresh_outcome', {
            task_id: id,
            platform_station_id: station,
            running_attempt: 1,
            outcome: 'REFRESHED',
          });
      };
      await make('old', {});
      await make('older', {});
      await make('message', { stage: 'income-diff' });
      await make('young message', { stage: 'income-diff', finished_time: await ago(300) });
      await make('young', { finished_time: await ago(300) });
      await make('failed', { status: 3, retry_count: 8, update_time: await ago(400) });
      await make('release', { stage: 'lock-release' });
      await make('submit', { stage: 'payment-submit' });
      await make('full', { stage: 'account-full' });
      await run({ pieceRows: 3 });
      const left = await store.many<{ code: string; n: string }>(
        "SELECT t.task_code code, COUNT(o.id) n FROM fi_async_task t LEFT JOIN account_refresh_outcome o ON o.task_id = t.id WHERE t.task_type = 'T' GROUP BY t.task_code ORDER BY t.task_code",
      );
      expect(left.map((row) => row.code)).to.deep.equal([
        'failed',
        'full',
        'release',
        'submit',
        'young',
        'young message',
      ]);
      expect(new Set(left.map((row) => Number(row.n)))).to.deep.equal(new Set([2]));
      await store.change(
        "DELETE o, t FROM fi_async_task t JOIN account_refresh_outcome o ON o.task_id = t.id WHERE t.task_type = 'T'",
      );
    });
  });

  it('RET-1 a pause outlives the process, and the run after it is let go does the work', async () => {
    await store.transaction({ isolation: 'READ COMMITTED', propagation: 'REQUIRES_NEW' }, async (tx) => {
      await lockJobPaused(tx, RETENTION_JOB);
      await setJobPaused(tx, RETENTION_JOB, true, 'a person');
    });
    const pushId = await oldPush();
    expect((await run()).end).to.equal('PAUSED');
    expect(await isWhole(pushId)).to.equal(true);
  });
});
