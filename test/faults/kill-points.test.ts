/**
 * Promise 1 at its named points: a real process is killed between two commits, at each point that a push comes by, before
 * anything that follows the commit. Others find what it left: nothing is lost, and every effect happened once.
 */
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { listDifferenceVersions, workOf } from '../support/effects.ts';
import { KILLABLE, untilApiKilledAt, untilKilledAt } from '../support/killed-process.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  assertConserved,
  placesOf,
  push,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';
import { spawnServe, startWorkerProcess } from '../support/worker-process.ts';

const MONTHS = ['2026-01', '2026-02'];
const STATIONS = 3;
const ROWS = STATIONS * MONTHS.length;
const DEATH_DEADLINE_MS = 60_000;

/** The function that commits, and the stage whose slot it holds. */
const WORKER_POINTS = [
  'tryTake bill-station committed',
  'commitRound bill-station before commit',
  'commitRound bill-station committed',
  'giveBack bill-station committed',
  'tryTake income-diff committed',
  'closeOneSegment income-diff before commit',
  'closeOneSegment income-diff committed',
  'prepareAndClaim income-diff committed',
  'commitRound income-diff before commit',
  'commitRound income-diff committed',
  'giveBack income-diff committed',
  'tryTake account-shard committed',
  'commitRound account-shard before commit',
  'commitRound account-shard committed',
  'giveBack account-shard committed',
  'tryTake bill-snapshot committed',
  'commitRound bill-snapshot before commit',
  'commitRound bill-snapshot committed',
  'giveBack bill-snapshot committed',
] as const;

interface Pushed {
  readonly roofs: Roofs;
  readonly pushId: string;
}

async function accept(system: TestSystem): Promise<Pushed> {
  const roofs = await makeRoofs(system.store, { stations: STATIONS, months: MONTHS });
  const reply = await push(system.url, roofs.partner.key, roofs.pushOf());
  expect(reply.body.code).to.equal('ACCEPTED');
  return { roofs, pushId: reply.body.pushId };
}

async function setPaused(system: TestSystem, { roofs }: Pushed, paused: boolean): Promise<void> {
  await system.store.changeExactly(
    1,
    'pausing a partner',
    'UPDATE partner SET paused = ? WHERE partner_org_id = ?',
    [paused ? 1 : 0, roofs.partner.partnerOrgId],
  );
}

const ONCE = {
  bills: ROWS,
  accountLogs: STATIONS,
  handedOver: STATIONS,
  refreshes: STATIONS,
  attemptsSpent: 0,
  open: 0,
};

/** Each effect of the push happened, and none twice. */
async function assertDoneOnce(system: TestSystem, { roofs, pushId }: Pushed): Promise<void> {
  const { partnerOrgId } = roofs.partner;
  expect(await workOf(system.store, { partnerOrgId, pushId })).to.include(ONCE);
  expect(await listDifferenceVersions(system.store, partnerOrgId)).to.deep.equal(Array(ROWS).fill(1));
}

describe('kill -9 between two commits', function () {
  this.timeout(120_000);

  describe('of a worker', () => {
    let system: TestSystem;
    const pushes: Pushed[] = [];
    const pointsFile = join(tmpdir(), `rooftally-points-${process.pid}`);
    before(async () => {
      system = await startTestSystem({ roles: ['api', 'scheduler'] });
    });
    after(async () => {
      await system.stop();
      await rm(pointsFile, { force: true });
    });

    for (const point of WORKER_POINTS) {
      it(`ENG-2 ENG-11 at "${point}": the places add up at that very instant`, async () => {
        const pushed = await accept(system);
        pushes.push(pushed);
        await untilKilledAt(system, point);
        await assertConserved(system.store);
        // Left alone until the end: a task that sees three deaths would fail by ENG-11, as it must.
        await setPaused(system, pushed, true);
      });
    }

    it('ENG-2 ENG-11 STA-16 another worker finds all of it: each push is complete, each effect happened once', async () => {
      const heir = await startWorkerProcess(system, 'heir', { TEST_POINTS_FILE: pointsFile }, KILLABLE);
      try {
        for (const pushed of pushes) await setPaused(system, pushed, false);
        for (const pushed of pushes) {
          const done = await untilDone(system.url, pushed.roofs.partner.key, pushed.pushId, 60_000);
          expect(done.state).to.equal('COMPLETE');
          expect(await placesOf(system.store, pushed.pushId)).to.deep.equal({ CURRENT: ROWS });
          await assertDoneOnce(system, pushed);
        }
      } finally {
        heir.kill('SIGTERM');
        await heir.exited;
      }
      await assertConserved(system.store);
    });

    it('ENG-2 there is no commit on the way of a push that no worker died at', async () => {
      const recorded = new Set((await readFile(pointsFile, 'utf8')).trim().split('\n'));
      // What a process does at its start, or after an error that does not say whether it had committed, is beside the way.
      const ofWork = [...recorded].filter(
        (point) => point.endsWith('committed') && !/^(migrate|findCommitted)/.test(point),
      );
      const diedAt = WORKER_POINTS.filter((point) => point.endsWith('committed'));
      expect(ofWork.sort()).to.deep.equal([...diedAt].sort());
    });
  });

  describe('of the API', () => {
    for (const point of ['acceptPush bill-station before commit', 'acceptPush bill-station committed']) {
      it(`ING-2 ING-6 at "${point}": the caller got no answer, asks again, and there is one push`, async () => {
        const system = await startTestSystem({ roles: ['api', 'worker', 'scheduler'] });
        try {
          const roofs = await makeRoofs(system.store, { stations: STATIONS, months: MONTHS });
          await untilApiKilledAt(system, point, (url) =>
            push(url, roofs.partner.key, roofs.pushOf(), 'asked-twice'),
          );
          const again = await until('the identity to be free', 30_000, async () => {
            const reply = await push(system.url, roofs.partner.key, roofs.pushOf(), 'asked-twice');
            return reply.status === 409 ? null : reply;
          });
          expect(again.body.code).to.equal(point.endsWith('committed') ? 'IDEMPOTENCY' : 'ACCEPTED');
          const { pushId } = again.body;
          await untilDone(system.url, roofs.partner.key, pushId);
          await assertDoneOnce(system, { roofs, pushId });
          const { n } = await system.store.one<{ n: string }>('SELECT COUNT(*) n FROM partner_push');
          expect(Number(n)).to.equal(1);
          await assertConserved(system.store);
        } finally {
          await system.stop();
        }
      });
    }
  });

  describe('of the scheduler', () => {
    it('COV-4 ENG-7 at "lookAtPush committed": another is elected, and no completion is numbered twice', async () => {
      const system = await startTestSystem({ roles: ['api', 'worker'] });
      try {
        const pushed = await accept(system);
        await untilKilledAt(system, 'lookAtPush committed', { role: 'scheduler' });
        const heir = spawnServe(system, 'heir', { role: 'scheduler' });
        try {
          const second = await accept(system);
          await until('the second push to be numbered', DEATH_DEADLINE_MS, async () =>
            (await completionsOf(system, second.pushId)).length > 0 ? true : null,
          );
          expect(await completionsOf(system, pushed.pushId)).to.deep.equal([1]);
          expect(await completionsOf(system, second.pushId)).to.deep.equal([1]);
        } finally {
          heir.child.kill('SIGTERM');
          await heir.exited;
        }
        await assertConserved(system.store);
      } finally {
        await system.stop();
      }
    });
  });
});

async function completionsOf(system: TestSystem, pushId: string): Promise<number[]> {
  const rows = await system.store.many<{ no: number }>(
    'SELECT completion_no no FROM push_completion WHERE push_id = ? ORDER BY completion_no',
    [pushId],
  );
  return rows.map(({ no }) => Number(no));
}
