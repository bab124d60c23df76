/**
 * Promise 1 for what runs once in the cluster: a real scheduler is killed after each of its commits, and before those of
 * more than one statement. Another is elected and goes on: nothing is done twice, nothing is left half, and at the very
 * instant of each death the places add up. What points there are is recorded in the end, so that none can be added here
 * without its death.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { route, routeOf } from '../../queues/route.ts';
import type { StageName } from '../../src/domain/stage.ts';
import { rules } from '../../src/invariants/all.ts';
import { completePush } from '../../src/scheduler/number-completions.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { countRows } from '../support/effects.ts';
import { insertNumberedRow, insertRows, makePartner } from '../support/factory.ts';
import { KILLABLE, untilKilledAt } from '../support/killed-process.ts';
import { CREATOR, PAYMENT_PARTNER } from '../support/payment-factory.ts';
import { makeReleaseSlots } from '../support/release-world.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  coverageOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { spawnServe } from '../support/worker-process.ts';

const MONTHS = ['2026-01', '2026-02', '2026-03'];
const STATIONS = 2;
const DEADLINE_MS = 60_000;
/** More nonces than one statement forgets, and as many inspections as are kept. */
const NONCES = 501;
const INSPECTIONS_KEPT = 1_500;
/** The rows of a push go in more than one piece. */
const PIECE_ROWS = 4;
const ENVIRONMENT = {
  ROOFTALLY_RETENTION_PIECE_ROWS: String(PIECE_ROWS),
  ROOFTALLY_RETENTION_PAUSE_MS: '0',
  ROOFTALLY_RETENTION_INTERVAL_MS: '500',
};

/** Where a scheduler is killed: all commits that it makes, and the ends of transactions of more than one statement. */
const POINTS = [
  'migrate before commit',
  'migrate committed',
  'tryLead written',
  'makeSlots bill-station before commit',
  'makeSlots bill-station committed',
  'removeStopRequests written',
  'rememberWaitingRow written',
  'lookAtPush before commit',
  'lookAtPush committed',
  'findOnce session-cleanup before commit',
  'findOnce session-cleanup committed',
  'forgetStaleNonces written',
  'beginInspection written',
  'inspect before commit',
  'inspect committed',
  'removeOldInspections written',
  'runPiece before commit',
  'runPiece committed',
  'runPiece income-diff before commit',
  'runPiece income-diff committed',
  'runPiece account-shard before commit',
  'runPiece account-shard committed',
  'stepDown written',
] as const;

describe('kill -9 of a scheduler', function () {
  this.timeout(240_000);
  let system: TestSystem;
  /** Of a partner that nothing lets work, so that a push of it waits. */
  let idle: Roofs;
  const left = { partners: [] as string[], pushes: [] as Pushed[], sessions: [] as string[] };

  before(async () => {
    system = await startTestSystem({ roles: ['api', 'worker'] });
    await makeReleaseSlots(system.store);
    idle = await makeRoofs(system.store, { stations: 1, months: MONTHS });
    await system.store.changeExactly(1, 'pausing', 'UPDATE partner SET paused = 1 WHERE partner_org_id = ?', [
      idle.partner.partnerOrgId,
    ]);
  });
  after(() => system.stop());

  /** A scheduler dies there; what it led is free at once, as if its leases were over. */
  async function dieAt(point: (typeof POINTS)[number], time = 1): Promise<void> {
    await untilKilledAt(system, point, {
      role: 'scheduler',
      environment: { ...ENVIRONMENT, TEST_KILL_TIME: String(time) },
    });
    await system.store.change('UPDATE scheduler_leader SET lease_end = SYSDATE(3)');
    await assertConserved(system.store);
  }

  const count = (from: string, values?: readonly string[]) => countRows(system.store, from, values);

  async function pushAndWork(): Promise<Pushed> {
    const roofs = await makeRoofs(system.store, { stations: STATIONS, months: MONTHS });
    const pushId = await accept(roofs);
    await untilDone(system.url, roofs.partner.key, pushId, DEADLINE_MS);
    return { roofs, pushId };
  }

  async function accept(roofs: Roofs): Promise<string> {
    const { body } = await push(system.url, roofs.partner.key, roofs.pushOf());
    expect(body.code).to.equal('ACCEPTED');
    return body.pushId;
  }

  async function makePartnerWithoutSlots(): Promise<string> {
    const { partnerOrgId } = await makePartner(system.store);
    left.partners.push(partnerOrgId);
    return partnerOrgId;
  }
  const slotsOf = (partnerOrgId: string, stage: StageName) =>
    count('stage_slot WHERE partner_org_id = ? AND stage = ?', [partnerOrgId, stage]);

  async function makeStaleStopRequest(): Promise<void> {
    await system.store.changeExactly(
      1,
      'a request that came too late',
      `INSERT INTO task_stop_request (task_id, requested_by) SELECT MIN(id), 'an-operator' FROM fi_async_task WHERE status = 2`,
    );
  }

  async function makeInvalidSession(): Promise<string> {
    const sessionId = await insertNumberedRow(system.store, 'selection_session', {
      partner_org_id: PAYMENT_PARTNER,
      mode: 'REVISE',
      status: 'SUBMIT_FAILED',
      creator_user_id: CREATOR,
      months: '["2026-05"]',
      invalidated_flag: 1,
      invalidated_reason: 'INVALID_REVISE_SESSION',
    });
    left.sessions.push(sessionId);
    return sessionId;
  }
  const cleanUpsOf = (sessionId: string) =>
    count('fi_async_task WHERE task_code = ?', [`RIPSC:${sessionId}`]);

  async function makeStaleNonces(): Promise<void> {
    const rows = Array.from({ length: NONCES }, (_, n) => ({
      credential_id: 1,
      nonce: `stale-${n}`,
      expires_at: '2026-01-01 00:00:00.000',
    }));
    await insertRows(system.store, 'request_nonce', rows);
  }

  async function makeOldInspections(): Promise<void> {
    const started = { run_trigger: 'SCHEDULE', started_time: '2026-01-01 00:00:00.000' };
    await insertRows(system.store, 'inspection_run', Array(INSPECTIONS_KEPT).fill(started));
  }
  /** The last run, ended or not, and how many results it has. */
  async function lastInspection(): Promise<{ ended: boolean; results: number }> {
    const run = await system.store.one<{ ended: string; results: string }>(
      `SELECT r.ended_time IS NOT NULL ended,
              (SELECT COUNT(*) FROM inspection_result s WHERE s.run_id = r.id) results
         FROM inspection_run r ORDER BY r.id DESC LIMIT 1`,
    );
    return { ended: Number(run.ended) === 1, results: Number(run.results) };
  }

  /** A push that went the whole way and is numbered, whose identity expired long ago. */
  async function makeExpired(): Promise<Pushed> {
    const pushed = await pushAndWork();
    await system.store.transaction(NEW_READ_COMMITTED, (tx) => completePush(tx, pushed.pushId));
    for (const table of ['partner_push', 'push_identity'])
      await system.store.change(
        `UPDATE ${table} SET expires_at = NOW(3) - INTERVAL 31 DAY WHERE push_id = ?`,
        [pushed.pushId],
      );
    return pushed;
  }
  const rowsLeftOf = async (pushId: string) => [
    await count('pushed_row WHERE push_id = ?', [pushId]),
    await count('pushed_row_place WHERE push_id = ?', [pushId]),
    await count('income_diff_handover WHERE push_id = ?', [pushId]),
    await count('fi_async_task WHERE push_id = ?', [pushId]),
    await count('push_identity WHERE push_id = ?', [pushId]),
  ];
  const isRemoved = async (pushId: string) =>
    (await count('partner_push WHERE push_id = ? AND rows_removed_at IS NOT NULL', [pushId])) === 1;
  const completionsOf = (pushId: string) =>
    system.store
      .many<{ no: number }>('SELECT completion_no no FROM push_completion WHERE push_id = ?', [pushId])
      .then((rows) => rows.map(({ no }) => Number(no)));

  it('ENG-7 after it was elected: nobody leads until its lease is over, then another does', async () => {
    await untilKilledAt(system, 'tryLead written', { role: 'scheduler', environment: ENVIRONMENT });
    const [leader] = await system.store.many<{ holder: string; msLeft: string }>(
      `SELECT holder, TIMESTAMPDIFF(MICROSECOND, SYSDATE(3), lease_end) DIV 1000 msLeft
         FROM scheduler_leader WHERE name = 'scheduler'`,
    );
    expect(leader?.holder).to.include('killed at tryLead written');
    const { pushId } = await pushAndWork();
    await withScheduler(system, async () => {
      await until('the next one to lead', DEADLINE_MS, async () =>
        (await completionsOf(pushId)).length === 1 ? true : null,
      );
    });
    await assertConserved(system.store);
  });

  it('ENG-7 at its start, where it asks for the schema', async () => {
    await dieAt('migrate before commit');
    await dieAt('migrate committed');
  });

  it('ENG-5 ENG-7 while it makes slots: a stage has all of them or none', async () => {
    const partnerOrgId = await makePartnerWithoutSlots();
    await dieAt('makeSlots bill-station before commit');
    expect(await slotsOf(partnerOrgId, 'bill-station')).to.equal(0);
    await dieAt('makeSlots bill-station committed');
    expect(await slotsOf(partnerOrgId, 'bill-station')).to.equal(routeOf('bill-station').capDefault);
  });

  it('ENG-7 ENG-14 after it removed stop requests that came too late', async () => {
    await makeStaleStopRequest();
    await dieAt('removeStopRequests written');
    expect(await count('task_stop_request')).to.equal(0);
  });

  it('COV-4 ENG-7 while it looks after pushes: a completion is numbered whole or not at all, and never twice', async () => {
    left.pushes.push({ roofs: idle, pushId: await accept(idle) });
    await dieAt('rememberWaitingRow written');
    const pushed = await pushAndWork();
    left.pushes.push(pushed);
    await dieAt('lookAtPush before commit');
    expect(await completionsOf(pushed.pushId)).to.deep.equal([]);
    await dieAt('lookAtPush committed');
    expect(await completionsOf(pushed.pushId)).to.deep.equal([1]);
    expect(await count('open_push WHERE push_id = ?', [pushed.pushId])).to.equal(0);
  });

  it('SES-1 ENG-2 while it takes up an invalidated session: one clean-up, or none yet', async () => {
    const sessionId = await makeInvalidSession();
    await dieAt('findOnce session-cleanup before commit');
    expect(await cleanUpsOf(sessionId)).to.equal(0);
    await dieAt('findOnce session-cleanup committed');
    expect(await cleanUpsOf(sessionId)).to.equal(1);
  });

  it('ING-10 RET-1 between two steps of forgetting nonces', async () => {
    await makeStaleNonces();
    await dieAt('forgetStaleNonces written');
    expect(await count('request_nonce')).to.equal(1);
    await dieAt('forgetStaleNonces written');
    expect(await count('request_nonce')).to.equal(0);
  });

  it('INV-1 while it inspects: a run that died has no end and no results', async () => {
    for (const point of ['beginInspection written', 'inspect before commit'] as const) {
      await dieAt(point);
      expect(await lastInspection(), point).to.deep.equal({ ended: false, results: 0 });
    }
    await dieAt('inspect committed');
    expect(await lastInspection()).to.deep.equal({ ended: true, results: rules.length });
    await makeOldInspections();
    for (const step of [1, 2, 3]) await dieAt('removeOldInspections written', step);
    expect(await count('inspection_run')).to.equal(INSPECTIONS_KEPT);
  });

  it('RET-1 COV-1 COV-2 between all pieces of a removal: whoever asks sees what the push had come to, and the next goes on', async () => {
    const { roofs, pushId } = await makeExpired();
    const cameTo = async () => {
      const coverage = await coverageOf(system.url, roofs.partner.key, pushId);
      return {
        state: coverage.state,
        outcome: coverage.stationOutcome,
        funnel: coverage.funnel,
        places: coverage.places,
      };
    };
    const before = await cameTo();
    const bills = await count('fi_customer_bill_partner WHERE push_id = ?', [pushId]);
    await dieAt('runPiece before commit');
    expect(await count('partner_push WHERE push_id = ? AND retired_at IS NULL', [pushId])).to.equal(1);
    const seen: number[][] = [];
    // The next run begins with what is empty by then: retired, rows, rows, outcomes, hand-overs, tasks, tasks, the end.
    for (const piece of [1, 1, 1, 2, 3, 4, 4, 5]) {
      expect(await isRemoved(pushId)).to.equal(false);
      await dieAt('runPiece committed', piece);
      seen.push(await rowsLeftOf(pushId));
      expect(await cameTo()).to.deep.equal(before);
    }
    expect(seen.slice(0, 3).map(([rows]) => rows)).to.deep.equal([6, 2, 0]);
    expect(seen.every(([rows, places]) => rows === places)).to.equal(true);
    expect(seen.at(-1)).to.deep.equal([0, 0, 0, 0, 0]);
    expect(await isRemoved(pushId)).to.equal(true);
    expect(await count('fi_customer_bill_partner WHERE push_id = ?', [pushId])).to.equal(bills);
    for (const stage of ['income-diff', 'account-shard'] as const)
      for (const moment of ['before commit', 'committed'] as const)
        await dieAt(`runPiece ${stage} ${moment}`);
    await dieAt('stepDown written');
  });

  it('ENG-7 another does all that was left, once; and there is no commit that no scheduler died at', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rooftally-points-'));
    const file = join(folder, 'points');
    try {
      await makePartnerWithoutSlots();
      await makeStaleStopRequest();
      await makeStaleNonces();
      const waiting = await accept(idle);
      left.pushes.push({ roofs: idle, pushId: waiting });
      const again = await makeInvalidSession();
      const expired = await makeExpired();
      left.pushes.push(await pushAndWork());
      await withScheduler(
        system,
        async () => {
          await until('all that was left to be done', DEADLINE_MS, async () => {
            const done = [
              (await count('open_push WHERE push_id = ? AND waits_for_row > 0', [waiting])) === 1,
              (await count('task_stop_request')) === 0,
              (await count('request_nonce')) === 0,
              (await count("selection_session WHERE id = ? AND status = 'CANCELLED'", [again])) === 1,
              (await lastInspection()).ended,
              await isRemoved(expired.pushId),
              (await completionsOf(left.pushes.at(-1)!.pushId)).length === 1,
            ];
            return done.every(Boolean) ? true : null;
          });
          await system.store.change('UPDATE partner SET paused = 0');
          for (const { roofs, pushId } of left.pushes) {
            await untilDone(system.url, roofs.partner.key, pushId, DEADLINE_MS);
            await until(`push ${pushId} to be numbered`, DEADLINE_MS, async () =>
              (await completionsOf(pushId)).length > 0 ? true : null,
            );
          }
        },
        { ...ENVIRONMENT, TEST_POINTS_FILE: file },
      );
      for (const partnerOrgId of left.partners)
        for (const { stage, capDefault } of route)
          expect(await slotsOf(partnerOrgId, stage)).to.equal(capDefault);
      for (const { pushId } of left.pushes) expect(await completionsOf(pushId)).to.deep.equal([1]);
      for (const sessionId of left.sessions) expect(await cleanUpsOf(sessionId)).to.equal(1);
      await assertConserved(system.store);

      const recorded = new Set((await readFile(file, 'utf8')).trim().split('\n').map(asOneStage));
      expect([...recorded].sort()).to.deep.equal([...POINTS].sort());
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

interface Pushed {
  readonly roofs: Roofs;
  readonly pushId: string;
}

/** Slots are made for each stage in the same way. */
function asOneStage(point: string): string {
  return point.replace(/^makeSlots [\w-]+/, 'makeSlots bill-station');
}

async function withScheduler(
  system: TestSystem,
  work: () => Promise<void>,
  environment: Readonly<Record<string, string>> = ENVIRONMENT,
): Promise<void> {
  const { child, exited } = spawnServe(system, 'heir', {
    role: 'scheduler',
    environment,
    nodeOptions: KILLABLE,
  });
  try {
    await work();
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}
