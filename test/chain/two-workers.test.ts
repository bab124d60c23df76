/** Several workers at once: real processes share a partner's work through its slots. */
import { expect } from 'chai';
import { makeRoofs } from '../support/roofs.ts';
import { assertConserved, push, startTestSystem, type TestSystem, untilDone } from '../support/rooftally.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

describe('two worker processes', function () {
  this.timeout(120_000);
  let system: TestSystem;
  let workers: WorkerProcess[] = [];
  before(async () => {
    system = await startTestSystem({ roles: ['api', 'scheduler'] });
    workers = await Promise.all(['worker-one', 'worker-two'].map((name) => startWorkerProcess(system, name)));
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    expect(
      await Promise.all(workers.map((worker) => worker.exited)),
      'SIGTERM ends both in good order',
    ).to.deep.equal([0, 0]);
    await system.stop();
  });

  it('ENG-5 ENG-6 each finishes at least a fifth of the tasks, and nothing is done twice', async () => {
    const roofs = await Promise.all(
      [1, 2, 3].map(() => makeRoofs(system.store, { stations: 120, months: ['2026-01', '2026-02'] })),
    );
    const pushes = await Promise.all(roofs.map((one) => push(system.url, one.partner.key, one.pushOf())));
    for (const [index, one] of roofs.entries()) {
      const done = await untilDone(system.url, one.partner.key, pushes[index]!.body.pushId, 60_000);
      expect(done.state).to.equal('COMPLETE');
    }
    await assertConserved(system.store);
    const finished = await system.store.many<{ worker: string; n: string }>(
      'SELECT worker, COUNT(*) n FROM fi_async_task WHERE status = 2 GROUP BY worker',
    );
    const total = finished.reduce((sum, row) => sum + Number(row.n), 0);
    expect(finished.map((row) => row.worker)).to.have.members(['worker-one', 'worker-two']);
    for (const row of finished) expect(Number(row.n) / total, row.worker).to.be.at.least(0.2);
  });
});
