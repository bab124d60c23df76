/** DEC-10: the closed sets of states and phases, in the code, and as the database has seen them in whole lives of submits. */
import { expect } from 'chai';
import {
  BATCH_PHASES,
  SESSION_STATUSES,
  type SessionStatus,
  type SubmitPhase,
  VERSION_STATUSES,
  type VersionStatus,
} from '../../src/domain/payment-submit.ts';
import {
  ask,
  makePaidRoofs,
  type OpenSubmit,
  openPayments,
  openSession,
  type PaidRoofs,
  type Payments,
  submitAll,
} from '../support/payments.ts';

/** As the decision has them; written down once more, so that the code cannot change them by itself. */
const SESSION = [
  'SELECTING',
  'SUBMITTING',
  'SUBMIT_FAILED',
  'PUBLISHING',
  'PUBLISHED_LOCK_SYNCING',
  'PUBLISHED',
  'CANCELLED',
];
const VERSION = ['BUILDING', 'BUILD_FAILED', 'BUILT', 'PUBLISHED', 'CANCELLED'];
const PHASES = ['BUILD', 'PUBLISH', 'LOCK_ACTIVATE', 'AUDIT_PLAN', 'LOCK_RELEASE'];

const WATCHED = [
  ['selection_session', 'status'],
  ['fi_resident_income_payment_order_version', 'version_build_status'],
  ['selection_submit_batch', 'batch_phase'],
] as const;

describe('payment: states', () => {
  let world: Payments;
  let roofs: PaidRoofs;
  before(async () => {
    world = await openPayments();
    roofs = await makePaidRoofs(world, { stations: 3 });
    await watchStates();
  });
  after(() => world.close());

  /** Each value that a row takes, if only inside a transaction, is remembered. */
  async function watchStates(): Promise<void> {
    const { store } = world;
    await store.change(
      'CREATE TABLE seen_state (of_table varchar(64) NOT NULL, value varchar(64) NOT NULL, PRIMARY KEY (of_table, value))',
    );
    for (const [table, column] of WATCHED)
      for (const event of ['INSERT', 'UPDATE'])
        await store.change(
          `CREATE TRIGGER see_${event}_${table} AFTER ${event} ON ${table} FOR EACH ROW
             INSERT INTO seen_state VALUES ('${table}', NEW.${column}) ON DUPLICATE KEY UPDATE value = seen_state.value`,
        );
  }

  async function seen(table: string): Promise<string[]> {
    const rows = await world.store.many<{ value: string }>(
      'SELECT value FROM seen_state WHERE of_table = ?',
      [table],
    );
    return rows.map((row) => row.value);
  }

  const named = (index: number) => ({ partnerBillIds: [roofs.bills[index]!.partnerBillId] });
  const reviseOf = (first: OpenSubmit, index: number) =>
    submitAll(world, roofs, {
      session: { mode: 'REVISE', paymentOrderId: first.orderId },
      selection: named(index),
    });

  it('DEC-10 sessions, versions and phases have these values and no others', () => {
    expect([...SESSION_STATUSES])
      .to.have.members(SESSION)
      .and.to.have.length(SESSION.length);
    expect([...VERSION_STATUSES])
      .to.have.members(VERSION)
      .and.to.have.length(VERSION.length);
    expect([...BATCH_PHASES]).to.deep.equal(PHASES);
    // The compiler refuses any other: without an error in the next lines it would complain about the directives.
    // @ts-expect-error -- no state of a session
    const session: SessionStatus = 'FAILED';
    // @ts-expect-error -- no state of a version
    const version: VersionStatus = 'SUBMITTING';
    // @ts-expect-error -- a phase that is no task of the submit
    const phase: SubmitPhase = 'LOCK_RELEASE';
    expect([session, version, phase]).to.have.length(3);
  });

  it('DEC-10 a list of sessions is asked for by no other state', async () => {
    for (const status of SESSION)
      expect((await world.plane.ask('GET', `/payment-sessions?status=${status}`)).status).to.equal(200);
    expect((await world.plane.ask('GET', '/payment-sessions?status=FAILED')).status).to.equal(400);
  });

  it('DEC-10 whole lives of submits take each of them, and nothing else', async () => {
    const { store } = world;
    const first = await submitAll(world, roofs, { selection: named(0) });
    await world.turn('payment-submit', roofs.partnerOrgId);
    const failed = await submitAll(world, roofs, { selection: named(1) });
    await ask(world, `/tasks/RIPPS:${failed.versionId}:BUILD/cancel`, { reason: 'by mistake' });
    const cancelled = await submitAll(world, roofs, { selection: named(2) });
    await ask(world, `/payment-sessions/${cancelled.sessionId}/cancel`);
    const revised = await reviseOf(first, 0);
    await world.turn('payment-submit', roofs.partnerOrgId);
    const invalid = await reviseOf(first, 0);
    await ask(world, `/payment-orders/${first.orderId}/creator`, { creatorUserId: 'wang' });
    for (const stage of ['payment-submit', 'lock-release', 'session-cleanup'] as const)
      await world.turn(stage, roofs.partnerOrgId);
    const alone = await openSession(world, roofs);
    await ask(world, `/payment-sessions/${alone.id}/cancel`);
    const ends = await store.many<{ status: string }>(
      'SELECT status FROM selection_session WHERE id IN (?) ORDER BY id',
      [[first, failed, cancelled, revised, invalid].map((submit) => submit.sessionId)],
    );
    expect(ends.map((session) => session.status)).to.deep.equal([
      'PUBLISHED',
      'SUBMIT_FAILED',
      'CANCELLED',
      'PUBLISHED',
      'CANCELLED',
    ]);
    expect(await seen('selection_session')).to.have.members(SESSION);
    expect(await seen('fi_resident_income_payment_order_version')).to.have.members(VERSION);
    expect(await seen('selection_submit_batch')).to.have.members(PHASES);
  });
});
