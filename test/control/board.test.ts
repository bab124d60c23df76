import { expect } from 'chai';
import { Waker } from '../../queues/wake.ts';
import { AdminToken } from '../../src/control/admin-token.ts';
import { sealSession } from '../../src/control/session.ts';
import { ADMIN_TOKEN, type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import type { TestStore } from '../support/database.ts';
import { makeEngine, openToyStore, randomName } from '../support/engine.ts';

describe('control: Bull Board', () => {
  let testStore: TestStore;
  let waker: Waker;
  let plane: ControlPlane;

  before(async () => {
    testStore = await openToyStore();
    waker = new Waker({
      connection: { url: process.env.REDIS_URL!, maxRetriesPerRequest: null },
      prefix: `{${randomName('board')}}`,
      kickEnabled: true,
      kickShare: 1,
      onKick: () => {},
      onError: () => {},
    });
    plane = await startControlPlane({
      engine: makeEngine(testStore.store).engine,
      boardQueues: waker.queues,
    });
    await waker.wakeSlot({ stage: 'bill-station', partnerOrgId: '7', slotNo: 1 });
  });
  after(async () => {
    await plane.close();
    await Promise.all(waker.queues.map((queue) => queue.obliterate({ force: true })));
    await waker.close();
    await testStore.drop();
  });

  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const session = () => {
    const key = new AdminToken(ADMIN_TOKEN).sessionKey;
    return { cookie: `rooftally_session=${sealSession(key, 'Li', Date.now() + 60_000)}` };
  };
  const waiting = () => waker.queues[0]!.getJobs(['waiting']);

  it('sends a browser without a session to the sign-in, and back to where it wanted', async () => {
    const answer = await plane.askBare('/admin/board/queue/bill-station', {
      headers: { accept: 'text/html,*/*' },
    });
    expect(answer.status).to.equal(303);
    expect(answer.headers.get('location')).to.equal(
      '/admin/login?next=%2Fadmin%2Fboard%2Fqueue%2Fbill-station',
    );
  });

  it('shows nothing to anybody else without a session: neither queues nor scripts', async () => {
    for (const path of ['/admin/board/api/queues', '/admin/board/static/images/logo.svg', '/admin/board']) {
      const answer = await plane.askBare(path);
      expect(answer.status, path).to.equal(401);
      expect(answer.body.code).to.equal('UNAUTHENTICATED');
    }
  });

  it('shows its page and all its parts to who is signed in', async () => {
    const page = await plane.askBare('/admin/board', { headers: { ...session(), accept: 'text/html' } });
    expect(page.status).to.equal(200);
    expect(page.text).to.contain('<base href="/admin/board/"').and.to.contain('Rooftally queues');
    expect(page.headers.get('content-security-policy')).to.contain("default-src 'self'");
    expect(page.headers.get('content-security-policy')).not.to.contain('upgrade-insecure-requests');
    const parts = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map((match) => match[1]!);
    expect(parts).not.to.deep.equal([]);
    for (const part of parts) {
      const answer = await plane.askBare(`/admin/board/${part}`, { headers: session() });
      expect(answer.status, part).to.equal(200);
    }
  });

  it('ENG-6 shows the queues of all stages, and in their jobs nothing but stage, partner and slot', async () => {
    const answer = await plane.askBare('/admin/board/api/queues?activeQueue=bill-station&status=waiting', {
      headers: bearer,
    });
    const { queues } = answer.body;
    expect(queues.map((queue: { name: string }) => queue.name)).to.have.members(
      waker.queues.map((queue) => queue.name),
    );
    const jobs = queues.flatMap((queue: { jobs: { data: unknown }[] }) => queue.jobs);
    expect(jobs.map((job: { data: unknown }) => job.data)).to.deep.equal([
      { stage: 'bill-station', partnerOrgId: '7', slotNo: 1 },
    ]);
  });

  it('is for looking: no request changes a queue or a job', async () => {
    const [job] = await waiting();
    for (const [method, path] of [
      ['PUT', '/queues/bill-station/pause'],
      ['PUT', '/queues/pause'],
      ['PUT', '/queues/bill-station/empty'],
      ['PUT', '/queues/bill-station/obliterate'],
      ['PUT', `/queues/bill-station/${job!.id}/clean`],
      ['PUT', `/queues/bill-station/${job!.id}/retry`],
      ['PATCH', `/queues/bill-station/${job!.id}/update-data`],
      ['POST', '/queues/bill-station/add'],
    ] as const) {
      const answer = await plane.askBare(`/admin/board/api${path}`, {
        method,
        headers: { ...bearer, 'content-type': 'application/json' },
        body: JSON.stringify({ jobData: { stage: 'bill-station' }, data: {} }),
      });
      expect(answer.status, path).to.equal(405);
      expect(answer.body.code).to.equal('BOARD_IS_READ_ONLY');
    }
    expect(await waker.queues[0]!.isPaused()).to.equal(false);
    expect((await waiting()).map(({ id, data }) => [id, data])).to.deep.equal([[job!.id, job!.data]]);
  });
});
