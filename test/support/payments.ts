/**
 * Payments in the test's own process, on the real database: pushes that have gone the whole chain, verified bills, a
 * control plane over HTTP, and turns of the real engine at every stage.
 */
import { lockReleaseActor } from '../../actors/lock-release.ts';
import { paymentSubmitActor } from '../../actors/payment-submit.ts';
import { sessionCleanupActor } from '../../actors/session-cleanup.ts';
import type { StageName } from '../../src/domain/stage.ts';
import type { Store } from '../../src/store/transaction.ts';
import type { Engine } from '../../src/tasks/engine.ts';
import { type TurnOutcome, takeTurn } from '../../src/tasks/take-turn.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import type { TestStoreOptions } from './database.ts';
import type { RecordingWake } from './engine.ts';
import {
  type Columns,
  type MadeMapping,
  makeMapping,
  makePlatformAccount,
  makePlatformBill,
} from './factory.ts';
import { acceptPush, bill, makeStagedPartner, openStages, type Stages } from './stages.ts';

export interface Payments {
  readonly store: Store;
  readonly stages: Stages;
  readonly engine: Engine;
  readonly wake: RecordingWake;
  readonly plane: ControlPlane;
  turn(stage: StageName, partnerOrgId: string, slotNo?: number): Promise<TurnOutcome>;
  /** One transaction of work, committed, as the engine does it; then the slot is given back. */
  step(stage: StageName, partnerOrgId: string): Promise<TurnOutcome>;
  /** All that is due of payment and what follows from it, until nothing is. */
  settle(partnerOrgId: string): Promise<void>;
  close(): Promise<void>;
}

const AFTER_PAYMENT: readonly StageName[] = [
  'payment-submit',
  'lock-release',
  'session-cleanup',
  'account-shard',
  'bill-snapshot',
];
/** Each round may make work for the next. */
const SETTLE_ROUNDS = 3;

export async function openPayments(options: TestStoreOptions = {}): Promise<Payments> {
  const stages = await openStages(options);
  const kick = stages.wake;
  const chain = ['bill-station', 'income-diff', 'account-shard', 'bill-snapshot'] as const;
  const handlers = new Map(
    [
      ...chain.map((stage) => stages.handlerOf(stage)),
      paymentSubmitActor({ kick }),
      lockReleaseActor({ kick }),
      sessionCleanupActor(),
    ].map((handler) => [handler.stage, handler]),
  );
  const engine: Engine = { ...stages.engine, handlers };
  const plane = await startControlPlane({ engine });
  const turn = (stage: StageName, partnerOrgId: string, slotNo = 1) =>
    takeTurn(engine, handlers.get(stage)!, { stage, partnerOrgId, slotNo }, { contended: false });
  return {
    store: stages.store,
    stages,
    engine,
    wake: stages.wake,
    plane,
    turn,
    step: (stage, partnerOrgId) =>
      takeTurn(
        { ...engine, limits: { ...engine.limits, sliceMs: 0 } },
        handlers.get(stage)!,
        { stage, partnerOrgId, slotNo: 1 },
        { contended: false },
      ),
    settle: async (partnerOrgId) => {
      for (let round = 0; round < SETTLE_ROUNDS; round++)
        for (const stage of AFTER_PAYMENT) await turn(stage, partnerOrgId);
    },
    close: async () => {
      await plane.close();
      await stages.close();
    },
  };
}

export interface PaidRoofs {
  readonly partnerOrgId: string;
  readonly mappings: readonly MadeMapping[];
  readonly months: readonly string[];
  /** By station and month. */
  readonly bills: readonly PushedBill[];
}

export interface PushedBill {
  readonly partnerBillId: string;
  readonly partnerStationNo: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly acceptNo: string;
}

export interface PaidRoofsOptions {
  readonly stations?: number;
  readonly months?: readonly string[];
  /** Of every pushed bill; the rent is 120.00, of which 10.00 are deducted. */
  readonly bill?: Columns;
  readonly partner?: Columns;
  /** Left out: all verified and refreshed, PAYABLE with 110.00. */
  readonly verified?: boolean;
}

export const JANUARY = '2026-01';
export const FEBRUARY = '2026-02';

/** A partner whose bills have gone the whole chain, with snapshots, ready to be paid. */
export async function makePaidRoofs(world: Payments, options: PaidRoofsOptions = {}): Promise<PaidRoofs> {
  const { store, stages } = world;
  const months = options.months ?? [JANUARY];
  const { partnerOrgId } = await makeStagedPartner(store, options.partner);
  const mappings: MadeMapping[] = [];
  for (let index = 0; index < (options.stations ?? 2); index++) {
    const mapping = await makeMapping(store, partnerOrgId);
    mappings.push(mapping);
    const where = { partnerOrgId, platformStationId: mapping.platformStationId! };
    const accountId = await makePlatformAccount(store, where);
    for (const month of months)
      await makePlatformBill(
        store,
        { ...where, accountId, month },
        { settlement_amount: '180.00', pre_rent: '100.00', deduction_amount: '10.00', ...options.bill },
      );
  }
  await acceptPush(
    store,
    partnerOrgId,
    mappings.map((mapping) => ({ mapping, bills: months.map((month) => bill(month, options.bill)) })),
  );
  await stages.turnsUpTo('bill-snapshot', partnerOrgId);
  const bills = await listPushedBills(store, partnerOrgId);
  if (options.verified !== false) await verify(world, bills);
  return { partnerOrgId, mappings, months, bills };
}

export async function listPushedBills(store: Store, partnerOrgId: string): Promise<PushedBill[]> {
  return store.many<PushedBill>(
    `SELECT b.id partnerBillId, a.partner_station_no partnerStationNo, m.platform_station_id platformStationId,
            b.bill_year_month billYearMonth, b.accept_no acceptNo
       FROM fi_customer_bill_partner b
       JOIN fi_customer_account_partner a ON a.id = b.customer_account_id
       JOIN station_mapping m ON m.partner_org_id = a.partner_org_id AND m.partner_station_no = a.partner_station_no
      WHERE b.partner_org_id = ? ORDER BY m.platform_station_id, b.bill_year_month`,
    [partnerOrgId],
  );
}

/** As an operator does it, and all that follows. */
export async function verify(
  world: Payments,
  bills: readonly PushedBill[],
  partnerQueryStatus = 'VERIFIED',
): Promise<void> {
  const reason = partnerQueryStatus === 'VERIFIED' ? null : 'not as agreed';
  const verifications = bills.map(({ partnerBillId, acceptNo }) => ({
    partnerBillId,
    acceptNo,
    partnerQueryStatus,
    reason,
  }));
  const { status, text } = await world.plane.ask('POST', '/verifications', { verifications });
  if (status !== 200) throw new Error(`verification: ${status} ${text}`);
  const { partnerOrgId } = await world.store.one<{ partnerOrgId: string }>(
    'SELECT partner_org_id partnerOrgId FROM fi_customer_bill_partner WHERE id = ?',
    [bills[0]!.partnerBillId],
  );
  await world.settle(partnerOrgId);
}

/** Over HTTP; throws what is no success, so that a test's arrangement fails where it breaks. */
// biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has
export async function ask(world: Payments, path: string, body: object = {}): Promise<any> {
  const answer = await world.plane.ask('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

export interface OpenSubmit {
  readonly sessionId: string;
  readonly orderId: string;
  readonly versionId: string;
}

/** Opened, with the snapshots that were missing. */
export async function openSession(
  world: Payments,
  { partnerOrgId, months }: Pick<PaidRoofs, 'partnerOrgId' | 'months'>,
  body: object = {},
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has
): Promise<any> {
  const session = await ask(world, '/payment-sessions', { partnerOrgId, months, ...body });
  await world.turn('bill-snapshot', partnerOrgId);
  return session;
}

/** A session with all that is selectable, submitted; nothing has been built. */
export async function submitAll(
  world: Payments,
  roofs: Pick<PaidRoofs, 'partnerOrgId' | 'months'>,
  options: { batchSize?: number; selection?: object; session?: object } = {},
): Promise<OpenSubmit> {
  const session = await openSession(world, roofs, options.session);
  await ask(world, `/payment-sessions/${session.id}/bills`, options.selection ?? {});
  const { batchSize } = options;
  const submitted = await ask(
    world,
    `/payment-sessions/${session.id}/submit`,
    batchSize === undefined ? {} : { batchSize },
  );
  return {
    sessionId: session.id,
    orderId: submitted.paymentOrderId,
    versionId: submitted.paymentOrderVersionId,
  };
}

export interface LockView {
  readonly id: string;
  readonly lockStatus: string;
  readonly lockKey: string;
  readonly versionId: string;
  readonly orderBillId: string;
  readonly dataVersion: string;
  readonly releaseReason: string | null;
}

export async function locksOf(store: Store, orderId: string): Promise<LockView[]> {
  return store.many<LockView>(
    `SELECT id, lock_status lockStatus, lock_key lockKey, payment_order_version_id versionId, order_bill_id orderBillId,
            data_version dataVersion, release_reason releaseReason
       FROM fi_resident_income_payment_bill_lock WHERE payment_order_id = ? ORDER BY id`,
    [orderId],
  );
}

export interface SubmitState {
  readonly session: string;
  readonly version: string;
  readonly failureCode: string | null;
  readonly published: string | null;
  readonly phases: Readonly<Record<string, string>>;
  /** Lock statuses of the order's submits, counted. */
  readonly locks: Readonly<Record<string, number>>;
  /** Release tasks of this version: reason by status. */
  readonly releases: Readonly<Record<string, number>>;
}

/** The whole state of a submit in a few words. */
export async function stateOf(store: Store, submit: OpenSubmit): Promise<SubmitState> {
  const head = await store.one<{
    session: string;
    version: string;
    failureCode: string | null;
    published: string | null;
  }>(
    `SELECT s.status session, v.version_build_status version, v.failure_code failureCode, o.current_publish_version published
       FROM fi_resident_income_payment_order_version v
       JOIN fi_resident_income_payment_order o ON o.id = v.payment_order_id
       JOIN selection_session s ON s.id = v.session_id WHERE v.id = ?`,
    [submit.versionId],
  );
  const phases = await store.many<{ phase: string; status: string }>(
    `SELECT batch_phase phase, batch_status status FROM selection_submit_batch
      WHERE payment_order_version_id = ? ORDER BY id`,
    [submit.versionId],
  );
  const locks = await store.many<{ status: string; n: string }>(
    `SELECT lock_status status, COUNT(*) n FROM fi_resident_income_payment_bill_lock
      WHERE payment_order_id = ? GROUP BY lock_status`,
    [submit.orderId],
  );
  const releases = await store.many<{ reason: string; status: number }>(
    `SELECT task_data->>'$.lockReleaseReason' reason, status FROM fi_async_task
      WHERE stage = 'lock-release' AND task_data->>'$.paymentOrderVersionId' = ?`,
    [submit.versionId],
  );
  return {
    ...head,
    phases: Object.fromEntries(phases.map((one) => [one.phase, one.status])),
    locks: Object.fromEntries(locks.map((one) => [one.status, Number(one.n)])),
    releases: Object.fromEntries(releases.map((one) => [one.reason, one.status])),
  };
}
