/**
 * The chain's stages to test one by one, without HTTP and without BullMQ: pushes as acceptance leaves them, turns of the
 * real engine, and work that is called directly in a transaction whose statements a test can see and step in between.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { accountActor, fullRefreshActor } from '../../actors/account-shard.ts';
import { diffActor } from '../../actors/diff.ts';
import { snapshotActor } from '../../actors/snapshot.ts';
import { stationActor } from '../../actors/station.ts';
import { routeOf } from '../../queues/route.ts';
import { Place, placeName } from '../../src/domain/place.ts';
import type { StageName } from '../../src/domain/stage.ts';
import type { LeaseOptions } from '../../src/leases/lease.ts';
import { openPushes } from '../../src/store/open-pushes.ts';
import { takeAcceptNo } from '../../src/store/pushes.ts';
import type { SlotRight } from '../../src/store/slots.ts';
import type { Sql, SqlValue } from '../../src/store/sql.ts';
import { NEW_READ_COMMITTED, type Store, Transaction } from '../../src/store/transaction.ts';
import { acceptTasks } from '../../src/tasks/accept-tasks.ts';
import type { Engine } from '../../src/tasks/engine.ts';
import { ensureSlots } from '../../src/tasks/ensure-slots.ts';
import type { ClaimedTask, Endings, StageHandler } from '../../src/tasks/stage-handler.ts';
import { takeSlot } from '../../src/tasks/take-slot.ts';
import { type TurnOutcome, takeTurn } from '../../src/tasks/take-turn.ts';
import { openTestStore, type TestStore, type TestStoreOptions } from './database.ts';
import { RecordingObserver, RecordingWake } from './engine.ts';
import {
  type Columns,
  insertNumberedRow,
  insertRows,
  type MadeMapping,
  type MadePartner,
  makePartner,
} from './factory.ts';

const LEASE_MS = 20_000;
/** Long enough that nothing of a test's own ends by the clock. */
const LIMITS = { slotLeaseMs: 30_000, sliceMs: 60_000, sliceContendedMs: 60_000 };

export interface Stages {
  readonly store: Store;
  readonly testStore: TestStore;
  readonly leases: LeaseOptions;
  readonly wake: RecordingWake;
  readonly observed: RecordingObserver;
  readonly engine: Engine;
  handlerOf(stage: StageName): StageHandler;
  /** A turn of the partner's slot at that stage, until nothing is due. */
  turn(stage: StageName, partnerOrgId: string, slotNo?: number): Promise<TurnOutcome>;
  /** Turns at the stages of the chain in their order, up to this one. */
  turnsUpTo(stage: StageName, partnerOrgId: string): Promise<void>;
  close(): Promise<void>;
}

const CHAIN: readonly StageName[] = ['bill-station', 'income-diff', 'account-shard', 'bill-snapshot'];

export async function openStages(options: TestStoreOptions = {}): Promise<Stages> {
  const testStore = await openTestStore({}, options);
  const { store } = testStore;
  const redis = new Redis(process.env.REDIS_URL!);
  const leases = { redis, prefix: `{test-${randomBytes(6).toString('hex')}}`, leaseMs: LEASE_MS };
  const wake = new RecordingWake();
  const observed = new RecordingObserver();
  const handlers = new Map<StageName, StageHandler>(
    [
      stationActor({ store, kick: wake, leases }),
      diffActor({ store, kick: wake }),
      accountActor({ kick: wake }),
      fullRefreshActor({ kick: wake }),
      snapshotActor(),
    ].map((handler) => [handler.stage, handler]),
  );
  const engine: Engine = {
    store,
    wake,
    handlers,
    observer: observed.observer,
    limits: LIMITS,
    worker: 'worker-a',
    stopping: new AbortController().signal,
  };
  const turn = (stage: StageName, partnerOrgId: string, slotNo = 1) =>
    takeTurn(engine, handlers.get(stage)!, { stage, partnerOrgId, slotNo }, { contended: false });
  return {
    store,
    testStore,
    leases,
    wake,
    observed,
    engine,
    handlerOf: (stage) => handlers.get(stage)!,
    turn,
    turnsUpTo: async (last, partnerOrgId) => {
      for (const stage of CHAIN.slice(0, CHAIN.indexOf(last) + 1)) await turn(stage, partnerOrgId);
    },
    close: async () => {
      redis.disconnect();
      await testStore.drop();
    },
  };
}

/** A partner with slots at every stage. */
export async function makeStagedPartner(store: Store, columns: Columns = {}): Promise<MadePartner> {
  const partner = await makePartner(store, columns);
  await store.transaction(NEW_READ_COMMITTED, (tx) => ensureSlots(tx, partner.partnerOrgId, {}));
  return partner;
}

/** A station entry of a push; its bills are columns of `pushed_row`, and only what a test is about need be said. */
export interface AcceptedStation {
  readonly mapping: MadeMapping;
  /** Columns of all its rows, such as `household_name`. */
  readonly header?: Columns;
  readonly bills: readonly Columns[];
}

export interface AcceptedPush {
  readonly pushId: string;
  readonly acceptNo: string;
  readonly traceId: string;
  /** Of its stations, in their order. */
  readonly taskIds: readonly string[];
  readonly taskCodes: readonly string[];
}

/** A bill as acceptance stores it. A fuller one than most tests need, so that nothing is equal by being 0. */
export function bill(billYearMonth: string, columns: Columns = {}): Columns {
  return {
    bill_year_month: billYearMonth,
    settlement_amount: '180.00',
    rent: '120.00',
    pre_rent: '100.00',
    freeze_amount: '0.00',
    deduction_amount: '10.00',
    ...columns,
  };
}

/** What ING-6 leaves: push, open, rows in STATION_PENDING, a task a station, an accept number, in one commit. */
export async function acceptPush(
  store: Store,
  partnerOrgId: string,
  stations: readonly AcceptedStation[],
): Promise<AcceptedPush> {
  const traceId = randomBytes(16).toString('hex');
  return store.transaction(NEW_READ_COMMITTED, async (tx) => {
    const rowCount = stations.reduce((sum, station) => sum + station.bills.length, 0);
    const pushId = await insertNumberedRow(tx, 'partner_push', {
      partner_org_id: partnerOrgId,
      idempotency_key: traceId,
      trace_id: traceId,
      code: 'ACCEPTED',
      station_count: stations.length,
      requested_count: rowCount,
      accepted_count: rowCount,
      expires_at: '2099-01-01',
    });
    await openPushes(tx, [pushId]);
    const ranges = await insertAcceptedRows(tx, pushId, stations);
    const route = routeOf('bill-station');
    const tasks = await acceptTasks(
      tx,
      ranges.map((range) => {
        const code = `PSB:${pushId}:${range.partnerStationNo}`;
        const { stage, taskType } = route;
        return {
          stage,
          taskType,
          taskCode: code,
          businessKey: code,
          data: { pushId, ...range },
          partnerOrgId,
          pushId,
          maxRetryCount: route.attemptsMax,
        };
      }),
    );
    await takeAcceptNo(tx, partnerOrgId, pushId);
    const { acceptNo, amount } = await tx.one<{ acceptNo: string; amount: string }>(
      `SELECT p.accept_no acceptNo, SUM(w.rent) amount FROM partner_push p JOIN pushed_row_place w ON w.push_id = p.push_id
        WHERE p.push_id = ? GROUP BY p.accept_no`,
      [pushId],
    );
    await tx.change('UPDATE partner_push SET requested_amount = ?, accepted_amount = ? WHERE push_id = ?', [
      amount,
      amount,
      pushId,
    ]);
    const taskIds = tasks.map((task) => task.id);
    const taskCodes = tasks.map((task) => task.taskCode);
    return { pushId, acceptNo, traceId, taskIds, taskCodes };
  });
}

/** `row_no` and `receipt_index` follow the order given, unless a bill says otherwise. */
async function insertAcceptedRows(sql: Sql, pushId: string, stations: readonly AcceptedStation[]) {
  const rows: Columns[] = [];
  const ranges = stations.map(({ mapping, header, bills }) => {
    const firstRowNo = rows.length + 1;
    for (const columns of bills) {
      const content = {
        partner_station_no: mapping.partnerStationNo,
        partner_station_id: mapping.partnerStationId,
        ...header,
        ...columns,
      };
      const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
      rows.push({
        push_id: pushId,
        row_no: rows.length + 1,
        receipt_index: rows.length,
        accepted: 1,
        content_hash: hash,
        ...content,
      });
    }
    return { partnerStationNo: mapping.partnerStationNo, firstRowNo, lastRowNo: rows.length };
  });
  await insertRows(sql, 'pushed_row', rows);
  await insertRows(
    sql,
    'pushed_row_place',
    rows.map((row) => ({
      push_id: pushId,
      row_no: row.row_no!,
      rent: row.rent!,
      place: Place.STATION_PENDING,
    })),
  );
  return ranges;
}

/** A transaction whose statements are seen before they run, and can be stepped in between. */
export class WatchedTransaction extends Transaction {
  readonly statements: string[] = [];
  /** Awaited before the statement; what it throws is what the statement throws. */
  before: (statement: string) => void | Promise<void> = () => {};

  protected override async run(
    statement: string,
    values: readonly SqlValue[],
    answer: 'all' | 'run',
  ): Promise<unknown> {
    const text = statement.replace(/\s+/g, ' ').trim();
    await this.before(text);
    this.statements.push(text);
    return super.run(statement, values, answer);
  }
}

export interface Claimed {
  readonly right: SlotRight;
  readonly tasks: readonly ClaimedTask[];
}

/** Takes the partner's slot and claims what is due there, as the engine does; nobody works. */
export async function claim(
  stages: Stages,
  stage: StageName,
  partnerOrgId: string,
  slotNo = 1,
): Promise<Claimed> {
  const taken = await takeSlot(stages.engine, { stage, partnerOrgId, slotNo });
  if (taken === null) throw new Error(`slot ${slotNo} at ${stage} is taken`);
  return { right: taken.right, tasks: taken.claim.tasks };
}

/** Puts the tasks back and frees the slot, as if nothing had been claimed. */
export async function unclaim(store: Store, { right, tasks }: Claimed): Promise<void> {
  if (tasks.length > 0)
    await store.change('UPDATE fi_async_task SET status = 0 WHERE status = 1 AND id IN (?)', [
      tasks.map((task) => task.id),
    ]);
  await store.change(
    'UPDATE stage_slot SET holder = NULL, lease_end = NULL, task_ids = NULL WHERE stage = ? AND partner_org_id = ? AND slot_no = ?',
    [right.stage, right.partnerOrgId, right.slotNo],
  );
}

/** Ends the tasks, whose work was done directly, as the engine would have, and frees the slot. */
export async function endClaimed(store: Store, claimed: Claimed): Promise<void> {
  await store.changeExactly(
    claimed.tasks.length,
    'ending tasks',
    "UPDATE fi_async_task SET status = 2, final_result = 'FULL_SUCCESS' WHERE status = 1 AND id IN (?)",
    [claimed.tasks.map((task) => task.id)],
  );
  await unclaim(store, claimed);
}

export interface DirectWork {
  readonly endings: Endings;
  readonly statements: readonly string[];
}

export interface WorkOptions {
  readonly before?: (statement: string, tx: WatchedTransaction) => void | Promise<void>;
  /** Runs after the work and before its commit. */
  readonly beforeCommit?: (tx: WatchedTransaction) => Promise<void>;
}

/** The stage's work alone, in a transaction of its own: no lease, no endings written. */
export function workDirectly(
  store: Store,
  handler: StageHandler,
  { right, tasks }: Claimed,
  options: WorkOptions = {},
): Promise<DirectWork> {
  return store.transaction(NEW_READ_COMMITTED, async (outer) => {
    const callbacks: Parameters<Transaction['afterCommit']>[0][] = [];
    const tx = new WatchedTransaction(outer.em, callbacks);
    if (options.before !== undefined) tx.before = (statement) => options.before?.(statement, tx);
    const endings = await handler.work(tx, tasks, right);
    await options.beforeCommit?.(tx);
    for (const callback of callbacks) outer.afterCommit(callback);
    return { endings, statements: tx.statements };
  });
}

/** Places of a push's rows by row number, by their names. */
export async function placesByRow(sql: Sql, pushId: string): Promise<string[]> {
  const rows = await sql.many<{ place: number }>(
    'SELECT place FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
    [pushId],
  );
  return rows.map((row) => placeName(row.place));
}
